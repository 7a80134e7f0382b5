// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The cables between the groups of dragonflies. Internal to this folder.

#include <cstdint>
#include <vector>

#include "core/topo/builder.h"
#include "core/topo/fabric.h"

namespace softib::topo {

/// Joins every two groups by `cables_per_pair` cables. A single one belongs to the switch in whose
/// part of the group's cables it is, so that the cables to the groups next to each other mostly are
/// at one switch, and a packet that goes round by a third group needs no hop inside it. Several are
/// dealt round robin, so that a lost switch takes one of them. `owners` are the switches that take
/// such cables, group after group, `per_group` each.
inline void cable_groups(FabricBuilder& builder, const std::vector<NodeIndex>& owners,
                         std::uint64_t per_group, std::uint64_t cables_per_pair) {
    const std::uint64_t groups = owners.size() / per_group;
    // A group numbers its global cables by the distance to the other group, so that the cable to
    // the group `o` ahead is, seen from there, the cable to the group groups - o ahead.
    const auto owner = [&](std::uint64_t group, std::uint64_t ahead, std::uint64_t copy) {
        const std::uint64_t slot = (ahead - 1) * cables_per_pair + copy;
        const std::uint64_t place =
            cables_per_pair == 1 ? slot * per_group / (groups - 1) : slot % per_group;
        return owners[group * per_group + place];
    };
    for (std::uint64_t i = 0; i < groups; ++i) {
        for (std::uint64_t j = i + 1; j < groups; ++j) {
            for (std::uint64_t copy = 0; copy < cables_per_pair; ++copy) {
                builder.cable(owner(i, j - i, copy), owner(j, groups - (j - i), copy));
            }
        }
    }
}

}  // namespace softib::topo
