// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Finds which way is up. Trees get levels (0 next to the hosts). Every graph gets an order of its
// switches, in which "up" means towards the front, so that routes that go up and then down have no
// cyclic buffer dependencies.

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <vector>

#include "core/routing/graph.h"

namespace softib::routing {

struct TreeLevels {
    std::vector<std::uint32_t> level;  ///< Level of each switch.
    std::uint32_t top = 0;
};

/// Returns the switches with these GUIDs; the error names a GUID that no switch has.
std::expected<std::vector<std::uint32_t>, Error> find_switches(const Graph& graph,
                                                               std::span<const Guid> guids);

/// Returns the levels of a tree, which may have missing links and switches, hosts on upper switches
/// or leaves without hosts; std::nullopt if too many cables do not join adjacent levels.
std::optional<TreeLevels> find_levels(const Graph& graph, const Neighbours& neighbours,
                                      std::span<const std::uint32_t> roots);

/// Returns whether hosts are at leaves only, and all switches of a level have the same number of
/// cables up in bundles of the same sizes. That is so if a generator made the tree and nothing is
/// missing, and seldom in a tree that has grown.
bool is_regular(const Graph& graph, const Neighbours& neighbours, const TreeLevels& levels);

/// Returns the levels of trees that are joined at their tops and nowhere else, as the groups of a
/// dragonfly+ are; std::nullopt if some cable joins neither adjacent levels nor two switches of the
/// top.
std::optional<TreeLevels> find_joined_trees(const Graph& graph);

/// Returns, by level and switch, the lowest switch of its subtree: the switches that are joined by
/// cables up to that level.
std::vector<std::vector<std::uint32_t>> find_subtrees(const Neighbours& neighbours,
                                                      const TreeLevels& levels);

/// The place of each switch in an order, 0 for the first. A link leads up if the place of its peer
/// is lower.
using Places = std::vector<std::uint32_t>;

/// Returns the order by level, the top first.
Places places_by_level(const TreeLevels& levels);
/// Returns the order by level, with the tops of one tree after those of another. All cables between
/// two trees then lead up in one direction and down in the other, so that the direct cable is
/// always the way up or the shortest way down.
Places places_by_tree(const Neighbours& neighbours, const TreeLevels& levels);
/// Returns the order by distance from the roots. In an island without a root, its most central
/// switch is the root.
Places places_by_distance(const Graph& graph, std::span<const std::uint32_t> roots);

}  // namespace softib::routing
