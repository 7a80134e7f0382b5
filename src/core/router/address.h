// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Alias GIDs, by which routers forward without a table of hosts. The prefix is site-local
// (fec0::/10) and ends in the number of the subnet; the interface id ends in the LID that the port
// has in that subnet. The routers in NVIDIA's switches read addresses in this way. UCX recognises
// such a GID by the upper bits of its interface id (kAliasInterface).

#include <cstdint>
#include <optional>

#include "core/base/ids.h"

namespace softib::router {

inline constexpr std::uint64_t kSiteLocalPrefix = 0xFEC0000000000000;
inline constexpr std::uint64_t kAliasInterface = 0x0014050000000000;

constexpr std::uint64_t subnet_prefix(SubnetId subnet) {
    return kSiteLocalPrefix | subnet.value;
}

inline Gid alias_gid(SubnetId subnet, Lid lid) {
    return Gid::from(subnet_prefix(subnet), Guid{kAliasInterface | lid.value});
}

/// Returns the LID in an alias GID; std::nullopt if it is no alias GID, or if its LID is no unicast
/// LID.
inline std::optional<Lid> alias_lid(const Gid& gid) {
    const std::uint64_t interface = gid.interface_id().value;
    const Lid lid{static_cast<std::uint16_t>(interface)};
    if ((interface & ~std::uint64_t{0xFFFF}) != kAliasInterface || lid == kLidUnassigned ||
        lid > kLidUnicastMax) {
        return std::nullopt;
    }
    return lid;
}

}  // namespace softib::router
