// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The structure of a fat tree, whole or with parts missing. Between two levels the switches fall
// into blocks that are joined by cables (pods; groups of cores). A switch of the upper level has a
// column in its block; columns of different blocks correspond if they lead to the same switches
// further up. So a lost switch leaves a gap and does not shift the others.

#include <cstdint>
#include <vector>

#include "core/routing/graph.h"
#include "core/routing/tree.h"

namespace softib::routing {

struct Columns {
    std::vector<std::uint32_t> of;       ///< By switch: its column in the block below; leaves: 0.
    std::vector<std::uint32_t> count;    ///< By level: columns above its switches.
    std::vector<std::uint32_t> divider;  ///< By level: product of the counts below.
};

Columns find_columns(const Neighbours& neighbours, const TreeLevels& levels);

/// Switches in the order of their hosts, but so that those of one subtree follow each other.
std::vector<std::uint32_t> order_by_subtrees(
    const Graph& graph, const std::vector<std::vector<std::uint32_t>>& subtrees);

}  // namespace softib::routing
