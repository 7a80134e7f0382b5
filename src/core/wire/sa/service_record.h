// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// ServiceRecord: a port that offers a service, and for how long (IBA vol. 1, 15.2.5.14).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

/// The ServiceLease that never expires.
inline constexpr std::uint32_t kServiceLeaseInfinite = 0xFFFFFFFF;

struct ServiceRecord {
    static constexpr std::size_t kBytes = 176;

    std::uint64_t service_id = 0;
    Gid service_gid{};
    PKey service_pkey{};
    std::uint32_t service_lease = 0;  ///< In seconds.
    std::array<std::uint8_t, 16> service_key{};
    Text<64> service_name{};
    std::array<std::uint8_t, 16> service_data8{};
    std::array<std::uint16_t, 8> service_data16{};
    std::array<std::uint32_t, 4> service_data32{};
    std::array<std::uint64_t, 2> service_data64{};

    static constexpr auto fields() {
        using T = ServiceRecord;
        return Fields{
            Field{&T::service_id, "ServiceID", 0, 64, 0}.hex(),
            Field{&T::service_gid, "ServiceGID", 64, 128, 1},
            Field{&T::service_pkey, "ServiceP_Key", 192, 16, 2},
            Field{&T::service_lease, "ServiceLease", 224, 32, 4},
            Field{&T::service_key, "ServiceKey", 256, 8, 5}.hex(),
            Field{&T::service_name, "ServiceName", 384, 512, 6},
            Field{&T::service_data8, "ServiceData8", 896, 8, 7}.each(),
            Field{&T::service_data16, "ServiceData16", 1024, 16, 23}.each(),
            Field{&T::service_data32, "ServiceData32", 1152, 32, 31}.each(),
            Field{&T::service_data64, "ServiceData64", 1280, 64, 35}.each(),
        };
    }
    friend bool operator==(const ServiceRecord&, const ServiceRecord&) = default;
};
static_assert(layout_is_sound<ServiceRecord>());

}  // namespace softib::wire
