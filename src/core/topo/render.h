// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Pictures of a fabric as text: a tree for a terminal, Graphviz DOT, and a self-contained SVG.

#include <string>

#include "core/topo/fabric.h"

namespace softib::topo {

struct TreeStyle {
    bool colour = false;
    bool unicode = true;
    std::uint32_t hosts_max_per_switch = 16;    ///< Longer lists are folded ("… and 24 more").
    std::uint32_t switches_max_per_level = 32;  ///< The same for the switches of a level.
};

/// Switches level by level, the top first; under each its HCAs, beside it the switches it is
/// cabled to.
std::string render_tree(const Fabric& fabric, const TreeStyle& style);

/// Parallel cables are one edge with a count.
std::string render_dot(const Fabric& fabric);

/// Layers for trees, a ring or grid for tori, a circle of groups for dragonflies. Above some 200
/// HCAs neighbouring switches are drawn as one box, because a whole fabric drawn cable by cable
/// shows nothing.
std::string render_svg(const Fabric& fabric);

}  // namespace softib::topo
