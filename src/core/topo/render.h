// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Pictures of a fabric as text: a tree for a terminal, Graphviz DOT, and a self-contained SVG.

#include <string>

#include "core/topo/graph.h"

namespace softib::topo {

struct TreeStyle {
    bool colour = false;
    bool unicode = true;
    std::uint32_t hosts_max_per_switch = 16;    ///< Longer lists are folded ("… and 24 more").
    std::uint32_t switches_max_per_level = 32;  ///< Longer levels are folded in the same way.
};

/// Returns the fabric as a tree for a terminal: switches level by level from the top, beside each
/// the switches that it is cabled to, and under it its HCAs.
std::string render_tree(const Fabric& fabric, const TreeStyle& style);

/// Returns the fabric as a Graphviz graph. Parallel cables are one edge with a count.
std::string render_dot(const Fabric& fabric);

/// Returns the fabric as an SVG picture: layers for trees, a ring or grid for tori, a circle of
/// groups for dragonflies. Large fabrics have several neighbouring switches in one box, since
/// thousands of cables drawn one by one show nothing.
std::string render_svg(const Fabric& fabric);

}  // namespace softib::topo
