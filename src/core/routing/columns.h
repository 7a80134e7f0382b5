// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The structure of a fat tree, whole or with parts missing. Between two levels the switches fall
// into blocks, whose switches are joined by cables (pods; groups of cores). Each switch of the
// upper level has a column in its block; columns of different blocks have the same number if they
// lead to the same switches further up. So a lost switch leaves a gap, and the others keep their
// columns.

#include <cstdint>
#include <vector>

#include "core/routing/graph.h"
#include "core/routing/tree.h"

namespace softib::routing {

struct Columns {
    std::vector<std::uint32_t> of;       ///< By switch: its column in the block below; 0 at leaves.
    std::vector<std::uint32_t> count;    ///< By level: number of columns in the blocks above.
    std::vector<std::uint32_t> divider;  ///< By level: product of `count` of the levels below.
};

Columns find_columns(const Neighbours& neighbours, const TreeLevels& levels);

/// Returns all switches in the order of their hosts, but so that switches of one subtree follow
/// each other.
std::vector<std::uint32_t> order_by_subtrees(
    const Graph& graph, const std::vector<std::vector<std::uint32_t>>& subtrees);

}  // namespace softib::routing
