// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Routes that go up, turn once, and go down; and what to do where a damaged tree has none.

#include <cstdint>
#include <span>
#include <vector>

#include "core/routing/detours.h"
#include "core/routing/graph.h"
#include "core/routing/hop_sets.h"
#include "core/routing/tree.h"

namespace softib::routing {

/// Next hops of up-down routes: down where that is possible, else up to where the path is shortest.
/// A packet that has gone down never goes up again, whatever hop of a set it takes.
HopSets up_down_hops(const Graph& graph, const Neighbours& neighbours, const Places& places);

/// Pairs of switches without a next hop though cables join them and one of them has hosts. Two
/// switches without hosts, such as two roots, may well have none.
std::vector<Hole> find_holes(const Graph& graph, const HopSets& sets);

/// Fills such holes with routes that turn from down to up, all of them in the least damaged branch
/// of the tree as far as possible: what has left a branch upwards does not come back to it, so
/// these turns close no cycle. Returns the holes left open; hosts miss only those between two
/// switches that have hosts, the rest is for management.
std::vector<Hole> fill_tree_holes(const Graph& graph, const Neighbours& neighbours,
                                  const TreeLevels& levels, std::span<const Hole> holes,
                                  std::span<const std::uint8_t> sls, Tables& tables);

/// For trees that are joined at their tops, with `places` by tree: forgets routes to switches
/// without hosts that cross from tree to tree more than once, which detours could not follow.
void forget_long_crossings(const Graph& graph, const Neighbours& neighbours,
                           const TreeLevels& levels, const Places& places, HopSets& sets);

/// Fills holes between trees that are joined at their tops. Such a route first goes
/// down and up again to a top that has a cable on. One service level is for routes to later trees,
/// one for those to earlier ones, and on neither a route turns from up to down within a tree: so
/// dependencies lead from tree to tree in one direction, and close no cycle. The first service
/// level is that of the other routes.
std::vector<Hole> fill_joined_holes(const Graph& graph, const TreeLevels& levels,
                                    const Places& places, std::span<const Hole> holes,
                                    std::span<const std::uint8_t> sls, Tables& tables);

bool between_hosts(const Graph& graph, const Hole& hole);

}  // namespace softib::routing
