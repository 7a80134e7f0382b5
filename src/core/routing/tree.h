// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Which way is up. Trees get levels (0 next to the hosts); every connected graph gets an order of
// its switches such that "up" means towards the front, and routes that go up and then down have no
// cyclic buffer dependencies.

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <vector>

#include "core/routing/graph.h"

namespace softib::routing {

struct TreeLevels {
    std::vector<std::uint32_t> level;  ///< By switch.
    std::uint32_t top = 0;
};

/// The switches with these GUIDs; an error names one that is no switch.
std::expected<std::vector<std::uint32_t>, Error> find_switches(const Graph& graph,
                                                               std::span<const Guid> guids);

/// Levels of a tree, also of one with missing links and switches, hosts on upper switches or
/// leaves without hosts. Nothing if too many cables do not join adjacent levels.
std::optional<TreeLevels> find_levels(const Graph& graph, const Neighbours& neighbours,
                                      std::span<const std::uint32_t> roots);

/// Levels of trees that are joined at their tops and nowhere else, as the groups of a dragonfly+.
/// Nothing if some cable joins neither adjacent levels nor two switches of the top.
std::optional<TreeLevels> find_joined_trees(const Graph& graph);

/// By level and switch: the lowest switch of what is joined by cables up to that level.
std::vector<std::vector<std::uint32_t>> find_subtrees(const Neighbours& neighbours,
                                                      const TreeLevels& levels);

/// By switch: its place in the order, 0 for the first. A link leads up if its peer's place is
/// lower.
using Places = std::vector<std::uint32_t>;

Places places_by_level(const TreeLevels& levels);
/// The tops of one tree after those of another. Between two trees all cables then lead up one way
/// and down the other way, so that the direct one is always the way up or the shortest way down.
Places places_by_tree(const Neighbours& neighbours, const TreeLevels& levels);
/// By distance from the roots; an island without one gets its most central switch.
Places places_by_distance(const Graph& graph, std::span<const std::uint32_t> roots);

}  // namespace softib::routing
