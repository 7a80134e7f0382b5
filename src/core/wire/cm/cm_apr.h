// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// APR: the answer to a LAP (IBA vol. 1, 12.8.2).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wire/cm/cm.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

enum class ApStatus : std::uint8_t {
    kLoaded = 0,
    kInvalidCommunicationInstance = 1,
    kNotSupported = 2,
    kRejected = 3,
    kRedirected = 4,
    kMatchesCurrentPath = 5,
    kQpnEecnMismatch = 6,
    kInvalidLid = 7,
    kInvalidGid = 8,
    kInvalidFlowLabel = 9,
    kInvalidTrafficClass = 10,
    kInvalidHopLimit = 11,
    kInvalidPacketRate = 12,
    kInvalidSl = 13,
};

struct CmApr {
    static constexpr std::size_t kBytes = 232;

    CommunicationId local_communication_id = 0;
    CommunicationId remote_communication_id = 0;
    std::uint8_t additional_information_length = 0;
    ApStatus ap_status{};
    std::array<std::uint8_t, 72> additional_information{};
    std::array<std::uint8_t, 148> private_data{};

    static constexpr auto fields() {
        using T = CmApr;
        return Fields{
            Field{&T::local_communication_id, "LocalCommunicationID", 0, 32}.hex(),
            Field{&T::remote_communication_id, "RemoteCommunicationID", 32, 32}.hex(),
            Field{&T::additional_information_length, "AdditionalInformationLength", 64, 8},
            Field{&T::ap_status, "APStatus", 72, 8},
            Field{&T::additional_information, "AdditionalInformation", 96, 8}.hex(),
            Field{&T::private_data, "PrivateData", 672, 8}.hex(),
        };
    }
    friend bool operator==(const CmApr&, const CmApr&) = default;
};
static_assert(layout_is_sound<CmApr>());

}  // namespace softib::wire
