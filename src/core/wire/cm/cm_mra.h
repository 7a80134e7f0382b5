// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// MRA: the answer will take longer (IBA vol. 1, 12.6.6).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wire/cm/cm.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

enum class MraedMessage : std::uint8_t { kReq = 0, kRep = 1, kLap = 2 };

struct CmMra {
    static constexpr std::size_t kBytes = 232;

    CommunicationId local_communication_id = 0;
    CommunicationId remote_communication_id = 0;
    MraedMessage message_mraed{};
    std::uint8_t service_timeout = 0;
    std::array<std::uint8_t, 222> private_data{};

    static constexpr auto fields() {
        using T = CmMra;
        return Fields{
            Field{&T::local_communication_id, "LocalCommunicationID", 0, 32}.hex(),
            Field{&T::remote_communication_id, "RemoteCommunicationID", 32, 32}.hex(),
            Field{&T::message_mraed, "MessageMRAed", 64, 2},
            Field{&T::service_timeout, "ServiceTimeout", 72, 5},
            Field{&T::private_data, "PrivateData", 80, 8}.hex(),
        };
    }
    friend bool operator==(const CmMra&, const CmMra&) = default;
};
static_assert(layout_is_sound<CmMra>());

}  // namespace softib::wire
