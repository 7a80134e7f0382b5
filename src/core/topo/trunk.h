// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Fabrics that are parts of a larger one, each with a daemon of its own. A trunk ends at a node
// that stands for whatever is at its far end: it looks like a router, has one port and a cable to
// the switch where the trunk begins, and no manager ever sees it, because whatever comes to it
// leaves for the other fabric.

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "core/topo/fabric.h"

namespace softib::topo {

inline constexpr std::uint32_t kSitesMax = 128;
inline constexpr unsigned kSiteShift = 32;  ///< Above what tells the nodes of one fabric apart.

/// Gives a generated fabric GUIDs that no other site has. Site 0 keeps those it has.
void set_site(Fabric& fabric, std::uint32_t site);

/// Adds a trunk at a free port of the switch, or at one more.
std::expected<void, Error> add_trunk(Fabric& fabric, const std::string& at_switch);

/// The nodes that trunks end at, in the order in which they were added.
std::vector<NodeIndex> trunk_nodes(const Fabric& fabric);

}  // namespace softib::topo
