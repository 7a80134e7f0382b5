// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Routes that go up, turn once, and go down; and routes for pairs that have none in a damaged tree.

#include <cstdint>
#include <span>
#include <vector>

#include "core/routing/detours.h"
#include "core/routing/graph.h"
#include "core/routing/hop_sets.h"
#include "core/routing/tree.h"

namespace softib::routing {

/// Returns the next hops of up-down routes: down if that is possible, else up to where the path is
/// shortest. A packet that has gone down never goes up again, whichever hop of a set it takes.
HopSets up_down_hops(const Graph& graph, const Neighbours& neighbours, const Places& places);

/// Returns the pairs of switches without a next hop, though cables join them and at least one of
/// them has hosts. Two switches without hosts, such as two roots, need no route.
std::vector<Hole> find_holes(const Graph& graph, const HopSets& sets);

/// Fills holes of a tree with routes that turn from down to up, as far as possible all within the
/// least damaged branch of the tree: a packet that leaves this branch upwards does not come back to
/// it, so these turns close no cycle. Returns the holes left open. Traffic of hosts needs only
/// those between two switches with hosts; the others are for management.
std::vector<Hole> fill_tree_holes(const Graph& graph, const Neighbours& neighbours,
                                  const TreeLevels& levels, std::span<const Hole> holes,
                                  std::span<const std::uint8_t> sls, Tables& tables);

/// Forgets routes to switches without hosts that cross from tree to tree more than once, which
/// detours could not follow. For trees that are joined at their tops, with places_by_tree().
void forget_long_crossings(const Graph& graph, const Neighbours& neighbours,
                           const TreeLevels& levels, const Places& places, HopSets& sets);

/// Fills holes between trees that are joined at their tops. Such a route first goes down, and up
/// again to a top that has a cable to the other tree. The first service level of `sls` is that of
/// all other routes; the second is for routes to later trees, the third for routes to earlier ones.
/// On these two no route turns from up to down within a tree, so dependencies lead from tree to
/// tree in one direction and close no cycle. Returns the holes left open.
std::vector<Hole> fill_joined_holes(const Graph& graph, const TreeLevels& levels,
                                    const Places& places, std::span<const Hole> holes,
                                    std::span<const std::uint8_t> sls, Tables& tables);

/// Returns whether both switches of a hole have hosts.
bool between_hosts(const Graph& graph, const Hole& hole);

}  // namespace softib::routing
