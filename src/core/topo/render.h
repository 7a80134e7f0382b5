// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Pictures of a fabric as text: a tree for a terminal, Graphviz DOT, and a self-contained SVG.

#include <string>

#include "core/topo/fabric.h"

namespace softib::topo {

struct TreeStyle {
    bool colour = false;
    bool unicode = true;
    std::uint32_t hosts_max_per_switch = 16;  ///< Longer lists are folded ("… and 24 more").
};

std::string render_tree(const Fabric& fabric, const TreeStyle& style);
std::string render_dot(const Fabric& fabric);
std::string render_svg(const Fabric& fabric);

}  // namespace softib::topo
