// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How busy a fabric is, small enough to draw: its tiers in a few groups of nodes each, and the
// cables between two groups as one bundle.

#include <cstdint>
#include <string>
#include <vector>

#include "core/topo/graph.h"

namespace softib::plan {

/// What one direction of a cable carries.
struct PortUse {
    std::uint32_t node = 0;  ///< The sending node, as the fabric numbers nodes.
    std::uint8_t port = 0;
    double bytes = 0;        ///< Bytes on the wire.
    double bytes_per_s = 0;  ///< Rate of the cable.
};

/// Nodes of one tier that are drawn together.
struct LoadGroup {
    std::string name = {};  ///< "leaf0 to leaf7"
    std::uint32_t nodes = 0;
};
struct LoadTier {
    std::string name = {};  ///< "leaf switches"
    std::uint32_t nodes = 0;
    std::vector<LoadGroup> groups = {};
    std::uint32_t cables = 0;  ///< Cables to the tier above, and those within the tier.
    double mean = 0;           ///< Mean load of their directions, as a part of their rate.
    double most = 0;           ///< Load of the busiest.
};
/// All cables between two groups. Loads are of directions: the mean, and the busiest.
struct LoadBundle {
    std::uint32_t tier = 0;  ///< The lower tier.
    std::uint32_t group = 0;
    std::uint32_t upper_tier = 0;  ///< `tier` itself, or the one above.
    std::uint32_t upper_group = 0;
    std::uint32_t cables = 0;
    double mean = 0;
    double most = 0;
};
struct FabricLoad {
    std::vector<LoadTier> tiers = {};  ///< From the hosts upwards.
    std::vector<LoadBundle> bundles = {};
};

/// Returns the loads of cables that carry these bytes in this time. A tier has at most `groups`
/// groups.
FabricLoad fabric_load(const topo::Fabric& fabric, const std::vector<PortUse>& ports,
                       double seconds, std::uint32_t groups = 8);

}  // namespace softib::plan
