// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SIDR_REP: names the queue pair of the service, or refuses (IBA vol. 1, 12.11.2).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/cm/cm.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

enum class SidrStatus : std::uint8_t {
    kValid = 0,
    kServiceIdNotSupported = 1,
    kRejected = 2,
    kNoQpAvailable = 3,
    kRedirected = 4,
    kVersionNotSupported = 5,
};

struct CmSidrRep {
    static constexpr std::size_t kBytes = 232;

    std::uint32_t request_id = 0;
    SidrStatus status{};
    std::uint8_t additional_information_length = 0;
    Qpn qpn{};
    std::uint64_t service_id = 0;
    QKey qkey{};
    std::array<std::uint8_t, 72> additional_information{};
    std::array<std::uint8_t, 136> private_data{};

    static constexpr auto fields() {
        using T = CmSidrRep;
        return Fields{
            Field{&T::request_id, "RequestID", 0, 32}.hex(),
            Field{&T::status, "Status", 32, 8},
            Field{&T::additional_information_length, "AdditionalInformationLength", 40, 8},
            Field{&T::qpn, "QPN", 64, 24},
            Field{&T::service_id, "ServiceID", 96, 64}.hex(),
            Field{&T::qkey, "Q_Key", 160, 32},
            Field{&T::additional_information, "AdditionalInformation", 192, 8}.hex(),
            Field{&T::private_data, "PrivateData", 768, 8}.hex(),
        };
    }
    friend bool operator==(const CmSidrRep&, const CmSidrRep&) = default;
};
static_assert(layout_is_sound<CmSidrRep>());

}  // namespace softib::wire
