// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Fabrics that trunks join to a larger one, each with a daemon of its own. In each fabric a trunk
// is a node that stands for its far end: a node of kind kRouter with one port, cabled to the switch
// where the trunk begins. No manager ever sees this node, because packets that come to it leave for
// the other fabric.

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "core/topo/graph.h"

namespace softib::topo {

inline constexpr std::uint32_t kSitesMax = 128;
inline constexpr unsigned kSiteShift = 32;  ///< The place of the site in a GUID, above the node's.

/// Gives a generated fabric GUIDs that no other site has. The GUIDs of site 0 stay as they are.
void set_site(Fabric& fabric, std::uint32_t site);

/// Adds a trunk at a free port of the switch, or at a new port if none is free.
std::expected<void, Error> add_trunk(Fabric& fabric, const std::string& at_switch);

/// Returns the nodes that stand for the far ends of trunks, in the order of their addition.
std::vector<NodeIndex> trunk_nodes(const Fabric& fabric);

}  // namespace softib::topo
