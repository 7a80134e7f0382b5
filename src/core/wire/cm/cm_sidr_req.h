// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SIDR_REQ: asks for the queue pair of a service (IBA vol. 1, 12.11.1).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/cm/cm.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct CmSidrReq {
    static constexpr std::size_t kBytes = 232;

    std::uint32_t request_id = 0;
    PKey partition_key{};
    std::uint64_t service_id = 0;
    std::array<std::uint8_t, 216> private_data{};

    static constexpr auto fields() {
        using T = CmSidrReq;
        return Fields{
            Field{&T::request_id, "RequestID", 0, 32}.hex(),
            Field{&T::partition_key, "PartitionKey", 32, 16},
            Field{&T::service_id, "ServiceID", 64, 64}.hex(),
            Field{&T::private_data, "PrivateData", 128, 8}.hex(),
        };
    }
    friend bool operator==(const CmSidrReq&, const CmSidrReq&) = default;
};
static_assert(layout_is_sound<CmSidrReq>());

}  // namespace softib::wire
