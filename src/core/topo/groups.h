// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The cables between the groups of dragonflies. Internal to this folder.

#include <cstdint>
#include <vector>

#include "core/topo/builder.h"
#include "core/topo/graph.h"

namespace softib::topo {

/// Joins every two groups by `cables_per_pair` cables. `owners` are the switches that have such
/// cables, group after group, `per_group` in each. With one cable per pair, each switch has the
/// cables to neighbouring groups, so that a packet that takes a detour by a third group mostly
/// needs no hop within it. With several cables per pair, they go to different switches in turn, so
/// that the loss of one switch costs only one of them.
inline void cable_groups(FabricBuilder& builder, const std::vector<NodeIndex>& owners,
                         std::uint64_t per_group, std::uint64_t cables_per_pair) {
    const std::uint64_t groups = owners.size() / per_group;
    // A group numbers its global cables by the distance to the other group. The cable to the group
    // that is `ahead` groups further is, seen from there, the one that is groups - ahead further.
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
