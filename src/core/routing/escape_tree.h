// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/routing/graph.h"

namespace softib::routing {

/// Spanning trees of all islands.
struct EscapeTree {
    std::vector<std::uint32_t> up;        ///< By switch: link to its parent; kNone at a root.
    std::vector<std::uint32_t> top_down;  ///< Switches, parents first.
};

/// Returns spanning trees whose roots are near the hosts of `destinations`.
EscapeTree make_escape_tree(const Graph& graph, std::span<const std::uint32_t> destinations);

}  // namespace softib::routing
