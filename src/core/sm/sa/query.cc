// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa/query.h"

#include <algorithm>

namespace softib::sm {

std::span<const PKey> pkeys_of(const Subnet& subnet, EndPort end) {
    static constexpr PKey kAtPowerUp[] = {kPKeyDefaultFull};
    const std::vector<PKey>& keys = subnet.port(end).pkeys;
    return keys.empty() ? std::span<const PKey>(kAtPowerUp) : keys;
}

bool share_partition(std::span<const PKey> a, std::span<const PKey> b) {
    return std::ranges::any_of(a, [b](PKey key) {
        return std::ranges::any_of(b, [key](PKey other) { return matches(key, other); });
    });
}

bool in_partition(std::span<const PKey> keys, PKey pkey) {
    return (pkey.value & 0x7FFF) != 0 && std::ranges::any_of(keys, [pkey](PKey key) {
               return ((key.value ^ pkey.value) & 0x7FFF) == 0;
           });
}

bool may_see(const SaQuery& query, EndPort end) {
    const EndPort own = query.requester.port;
    return query.requester.trusted || (own.node == end.node && own.port == end.port) ||
           share_partition(pkeys_of(query.subnet, own), pkeys_of(query.subnet, end));
}

Gid gid_of(const Subnet& subnet, EndPort end) {
    const SubnetPort& port = subnet.port(end);
    return Gid::from(port.info.gid_prefix, port.guid);
}

}  // namespace softib::sm
