// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/routing/union_find.h"

namespace softib::routing {

namespace {

// A fabric is a tree with some odd cables if at most this share does not join adjacent levels.
constexpr std::uint32_t kOddCablesMaxPercent = 5;

/// Returns the switches that have about as many hosts as the fullest one. So a single host on a
/// spine does not make the spine a leaf.
std::vector<std::uint32_t> find_leaves(const Graph& graph) {
    std::uint32_t most = 0;
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        most = std::max(most, graph.host_count(sw));
    }
    std::vector<std::uint32_t> leaves;
    for (std::uint32_t sw = 0; sw < graph.switch_count() && most != 0; ++sw) {
        if (graph.host_count(sw) * 4 >= most) {
            leaves.push_back(sw);
        }
    }
    return leaves;
}

/// Moves switches that are no real roots down to the level below their neighbours. Such a switch
/// joins only switches that are joined below it anyway: it is a leaf with few hosts or none.
void lower_useless_tops(const Neighbours& neighbours, TreeLevels& levels) {
    if (levels.top < 2) {
        return;
    }
    const auto count = static_cast<std::uint32_t>(levels.level.size());
    UnionFind joined(count);
    for (std::uint32_t sw = 0; sw < count; ++sw) {
        for (const Neighbours::Neighbour& next : neighbours.of(sw)) {
            if (levels.level[sw] < levels.top && levels.level[next.peer] < levels.top) {
                joined.join(sw, next.peer);
            }
        }
    }
    std::uint32_t top = 0;
    for (std::uint32_t sw = 0; sw < count; ++sw) {
        const auto near = neighbours.of(sw);
        if (levels.level[sw] == levels.top && !near.empty() &&
            std::ranges::all_of(near, [&](const Neighbours::Neighbour& next) {
                return levels.level[next.peer] + 1 == levels.top &&
                       joined.find(next.peer) == joined.find(near[0].peer);
            })) {
            levels.level[sw] = levels.top - 2;
        }
        top = std::max(top, levels.level[sw]);
    }
    levels.top = top;
}

bool mostly_adjacent(const Graph& graph, const TreeLevels& levels) {
    std::uint32_t odd = 0;
    for (std::uint32_t link = 0; link < graph.links().size(); ++link) {
        const std::uint32_t a = levels.level[graph.source(link)];
        const std::uint32_t b = levels.level[graph.links()[link].peer];
        odd += a + 1 != b && b + 1 != a ? 1U : 0U;
    }
    return odd * 100 <= graph.links().size() * kOddCablesMaxPercent;
}

Places sorted_places(std::uint32_t count, auto key) {
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [&](std::uint32_t sw) { return std::tuple(key(sw), sw); });
    Places places(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        places[order[i]] = i;
    }
    return places;
}

/// Returns the most central switch of an island, or nearly so: two searches find the ends of a
/// shortest path that is as long as possible, and the switch is in the middle between them.
std::uint32_t find_centre(const Graph& graph, std::uint32_t member) {
    const auto farthest = [&](std::span<const std::uint32_t> distance) {
        std::uint32_t best = member;
        for (std::uint32_t sw = 0; sw < distance.size(); ++sw) {
            if (distance[sw] != kNone && distance[sw] > distance[best]) {
                best = sw;
            }
        }
        return best;
    };
    const std::uint32_t a = farthest(hops_from(graph, member));
    const auto from_a = hops_from(graph, a);
    const std::uint32_t b = farthest(from_a);
    const auto from_b = hops_from(graph, b);
    std::uint32_t best = member;
    const auto key = [&](std::uint32_t sw) {
        // Among the switches in the middle, the one with the most cables is the best.
        return std::tuple(std::max(from_a[sw], from_b[sw]), from_a[sw] + from_b[sw],
                          UINT32_MAX - graph.degree(sw), sw);
    };
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        if (from_a[sw] != kNone && key(sw) < key(best)) {
            best = sw;
        }
    }
    return best;
}

}  // namespace

std::expected<std::vector<std::uint32_t>, Error> find_switches(const Graph& graph,
                                                               std::span<const Guid> guids) {
    std::vector<std::uint32_t> result;
    for (const Guid guid : guids) {
        std::uint32_t sw = 0;
        while (sw < graph.switch_count() && graph.guid(sw) != guid) {
            ++sw;
        }
        if (sw == graph.switch_count()) {
            return std::unexpected(
                Error{fmt::format("root {} is no switch of this subnet: name switches by their "
                                  "GUIDs, or none to have the roots found",
                                  to_string(guid))});
        }
        result.push_back(sw);
    }
    return result;
}

std::optional<TreeLevels> find_levels(const Graph& graph, const Neighbours& neighbours,
                                      std::span<const std::uint32_t> roots) {
    const std::vector<std::uint32_t> leaves = find_leaves(graph);
    TreeLevels levels;
    levels.level = hops_from(graph, roots.empty() ? leaves : roots);
    for (std::uint32_t& level : levels.level) {
        level = level == kNone ? 0 : level;
        levels.top = std::max(levels.top, level);
    }
    if (roots.empty()) {
        lower_useless_tops(neighbours, levels);
    } else {
        for (std::uint32_t& level : levels.level) {
            level = levels.top - level;
        }
    }
    if (!mostly_adjacent(graph, levels)) {
        return std::nullopt;
    }
    return levels;
}

bool is_regular(const Graph& graph, const Neighbours& neighbours, const TreeLevels& levels) {
    using Bundles = std::vector<std::uint32_t>;
    std::vector<std::optional<Bundles>> of_level(levels.top + 1);
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        const std::uint32_t level = levels.level[sw];
        Bundles up;
        for (const Neighbours::Neighbour& next : neighbours.of(sw)) {
            if (levels.level[next.peer] == level) {
                return false;
            }
            if (levels.level[next.peer] > level) {
                up.push_back(next.count);
            }
        }
        std::ranges::sort(up);
        if ((level != 0 && graph.host_count(sw) != 0) || up != of_level[level].value_or(up)) {
            return false;
        }
        of_level[level] = std::move(up);
    }
    return true;
}

std::optional<TreeLevels> find_joined_trees(const Graph& graph) {
    TreeLevels levels{.level = hops_from(graph, find_leaves(graph))};
    for (std::uint32_t& level : levels.level) {
        level = level == kNone ? 0 : level;
        levels.top = std::max(levels.top, level);
    }
    bool joined = false;
    for (std::uint32_t link = 0; link < graph.links().size(); ++link) {
        const std::uint32_t a = levels.level[graph.source(link)];
        const std::uint32_t b = levels.level[graph.links()[link].peer];
        const bool at_top = a == levels.top && b == levels.top && levels.top != 0;
        if (!at_top && a + 1 != b && b + 1 != a) {
            return std::nullopt;
        }
        joined = joined || at_top;
    }
    return joined ? std::optional(std::move(levels)) : std::nullopt;
}

std::vector<std::vector<std::uint32_t>> find_subtrees(const Neighbours& neighbours,
                                                      const TreeLevels& levels) {
    const auto count = static_cast<std::uint32_t>(levels.level.size());
    std::vector<std::vector<std::uint32_t>> subtrees;
    UnionFind joined(count);
    for (std::uint32_t level = 0; level <= levels.top; ++level) {
        for (std::uint32_t sw = 0; sw < count; ++sw) {
            for (const Neighbours::Neighbour& next : neighbours.of(sw)) {
                if (levels.level[sw] == level && levels.level[next.peer] < level) {
                    joined.join(sw, next.peer);
                }
            }
        }
        subtrees.emplace_back(count);
        for (std::uint32_t sw = 0; sw < count; ++sw) {
            subtrees.back()[sw] = joined.find(sw);
        }
    }
    return subtrees;
}

Places places_by_level(const TreeLevels& levels) {
    return sorted_places(static_cast<std::uint32_t>(levels.level.size()),
                         [&](std::uint32_t sw) { return levels.top - levels.level[sw]; });
}

Places places_by_tree(const Neighbours& neighbours, const TreeLevels& levels) {
    const std::vector<std::uint32_t> tree = find_subtrees(neighbours, levels).back();
    return sorted_places(static_cast<std::uint32_t>(levels.level.size()), [&](std::uint32_t sw) {
        return std::pair(levels.top - levels.level[sw], tree[sw]);
    });
}

Places places_by_distance(const Graph& graph, std::span<const std::uint32_t> roots) {
    std::vector<std::uint32_t> all(roots.begin(), roots.end());
    std::vector<std::uint32_t> distance = hops_from(graph, all);
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        if (distance[sw] == kNone) {
            const std::uint32_t centre = find_centre(graph, sw);
            const auto island = hops_from(graph, centre);
            for (std::uint32_t i = 0; i < island.size(); ++i) {
                distance[i] = std::min(distance[i], island[i]);
            }
        }
    }
    return sorted_places(graph.switch_count(), [&](std::uint32_t sw) { return distance[sw]; });
}

}  // namespace softib::routing
