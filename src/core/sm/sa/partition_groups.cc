// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa/partition_groups.h"

#include "core/sm/sa/multicast.h"

namespace softib::sm {

namespace {

using wire::McMemberRecord;

constexpr std::uint16_t kFullBit = 0x8000;

/// Returns whether an MGID has a signature of IP over InfiniBand (RFC 4391).
bool is_ip(const Gid& mgid) {
    return (mgid.bytes[2] == 0x40 || mgid.bytes[2] == 0x60) && mgid.bytes[3] == 0x1B;
}

void add(McMemberRecord group, const GroupTraits& traits, std::vector<McMemberRecord>& groups) {
    group.rate = traits.rate.value_or(group.rate);
    group.mtu = traits.mtu.value_or(group.mtu);
    group.sl = traits.sl.value_or(group.sl);
    group.qkey = traits.qkey.value_or(group.qkey);
    group.tclass = traits.tclass.value_or(group.tclass);
    group.flow_label = traits.flow_label.value_or(group.flow_label);
    group.scope = group.mgid.bytes[1] & 0x0F;
    if (traits.scopes.empty()) {
        groups.push_back(group);
    }
    for (const std::uint8_t scope : traits.scopes) {
        group.scope = scope;
        group.mgid.bytes[1] = static_cast<std::uint8_t>((group.mgid.bytes[1] & 0xF0) | scope);
        groups.push_back(group);
    }
}

}  // namespace

std::vector<McMemberRecord> partition_groups(
    const std::optional<std::vector<Partition>>& partitions) {
    if (!partitions) {
        return {ipoib_broadcast_group(kPKeyDefaultFull)};
    }
    std::vector<McMemberRecord> groups;
    for (const Partition& partition : *partitions) {
        const PKey full{static_cast<std::uint16_t>(partition.pkey.value | kFullBit)};
        const McMemberRecord broadcast = ipoib_broadcast_group(full);
        if (partition.ipoib) {
            add(broadcast, partition.broadcast, groups);
        }
        for (const PartitionGroup& named : partition.groups) {
            McMemberRecord group = broadcast;
            group.mgid = named.mgid;
            if (is_ip(group.mgid)) {
                // The P_Key is part of an IPoIB MGID.
                group.mgid.bytes[4] = broadcast.mgid.bytes[4];
                group.mgid.bytes[5] = broadcast.mgid.bytes[5];
            } else {
                group.qkey = QKey{0};
            }
            add(group, named.traits, groups);
        }
    }
    return groups;
}

}  // namespace softib::sm
