// SPDX-License-Identifier: BSD-2-Clause
// Up-down routing: a packet goes up towards the roots, turns once, and goes down. Trees have many
// roots, the whole top level. Trees that are joined at their tops (dragonfly+) have an order of the
// trees. Other graphs have one root, their centre, from which all others are ranked by distance.
// Among equally good next hops the number of the destination chooses.
#include <algorithm>
#include <optional>

#include "core/base/check.h"
#include "core/routing/columns.h"
#include "core/routing/engine.h"
#include "core/routing/numbering.h"
#include "core/routing/tree.h"
#include "core/routing/tree_fill.h"
#include "core/routing/up_down.h"

namespace softib::routing {

namespace {

/// Returns, by switch, over how many ways the levels below it have spread destinations.
std::vector<std::uint32_t> find_dividers(const Neighbours& neighbours, const TreeLevels& levels) {
    std::vector<std::uint32_t> width(levels.top + 1, 1);
    for (std::uint32_t sw = 0; sw < levels.level.size(); ++sw) {
        const std::uint32_t level = levels.level[sw];
        const auto ups = std::ranges::count_if(
            neighbours.of(sw), [&](const auto& next) { return levels.level[next.peer] > level; });
        width[level] = std::max(width[level], static_cast<std::uint32_t>(ups));
    }
    std::vector<std::uint32_t> dividers;
    for (const std::uint32_t level : levels.level) {
        std::uint32_t divider = 1;
        for (std::uint32_t below = 0; below < level; ++below) {
            divider *= width[below];
        }
        dividers.push_back(divider);
    }
    return dividers;
}

/// Returns the climbs of all hosts: they take the neighbours above in turn, by their numbers.
Climbs find_climbs(const Graph& graph, const Neighbours& neighbours, const TreeLevels& levels,
                   std::span<const std::uint32_t> dividers, const Numbering& numbering) {
    Climbs climbs(levels.top + 1, std::vector<std::uint32_t>(graph.host_count(), kNone));
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        for (std::uint32_t i = 0; i < graph.host_count(sw); ++i) {
            climbs[levels.level[sw]][numbering.first(sw) + i] = sw;
        }
    }
    std::vector<std::vector<std::uint32_t>> uppers(graph.switch_count());
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        for (const Neighbours::Neighbour& next : neighbours.of(sw)) {
            if (levels.level[next.peer] == levels.level[sw] + 1) {
                uppers[sw].push_back(next.peer);
            }
        }
    }
    for (std::uint32_t level = 0; level < levels.top; ++level) {
        for (std::uint32_t number = 0; number < graph.host_count(); ++number) {
            const std::uint32_t at = climbs[level][number];
            if (at != kNone && !uppers[at].empty()) {
                climbs[level + 1][number] = uppers[at][number / dividers[at] % uppers[at].size()];
            }
        }
    }
    return climbs;
}

struct Plan {
    Places places;
    std::vector<std::uint32_t> dividers;
    const TreeLevels* levels;  ///< Levels of a tree; nullptr if the graph is no tree.
    const TreeLevels* joined;  ///< Levels of trees that are joined at their tops, or nullptr.
};

/// Fills the holes that up-down routes leave. Returns false if holes between joined trees, or
/// between hosts of a tree, stay open.
bool fill_rest(const Graph& graph, const Neighbours& neighbours, const Plan& plan,
               std::span<const Hole> holes, const Options& options, Tables& tables) {
    if (plan.joined != nullptr) {
        return fill_joined_holes(graph, *plan.joined, plan.places, holes, options.sls(), tables)
            .empty();
    }
    const std::vector<Hole> open =
        plan.levels != nullptr
            ? fill_tree_holes(graph, neighbours, *plan.levels, holes, options.sls(), tables)
            : fill_holes(graph, holes, options.sls(), tables);
    return std::ranges::none_of(open, [&](const Hole& h) { return between_hosts(graph, h); });
}

std::optional<Tables> route(const Graph& graph, const Neighbours& neighbours, const Plan& plan,
                            const Options& options) {
    HopSets sets = up_down_hops(graph, neighbours, plan.places);
    if (plan.joined != nullptr) {
        forget_long_crossings(graph, neighbours, *plan.joined, plan.places, sets);
    }
    const std::vector<Hole> holes = find_holes(graph, sets);
    // Packets from or to switches, which are few and for management, take detours. So do those
    // between hosts on tops, as the aggregation nodes in switches are, but not between leaves.
    const auto between_leaves = [&](const Hole& hole) {
        return between_hosts(graph, hole) &&
               (plan.levels == nullptr ||
                (plan.levels->level[hole.from] == 0 && plan.levels->level[hole.to] == 0));
    };
    if (std::ranges::any_of(holes, between_leaves)) {
        return std::nullopt;
    }
    Tables tables{.engine = "updn", .lfts = Lfts(graph.switch_count(), graph.lid_max())};
    const Numbering numbering(
        graph, plan.levels == nullptr
                   ? order_by_hosts(graph)
                   : order_by_subtrees(graph, find_subtrees(neighbours, *plan.levels)));
    TreeNumbers numbers{.places = plan.places, .divider = plan.dividers, .levels = plan.levels};
    if (plan.levels != nullptr) {
        numbers.climbs = find_climbs(graph, neighbours, *plan.levels, plan.dividers, numbering);
    }
    fill_in_turn(graph, neighbours, sets, numbering, numbers, tables.lfts);
    if (!fill_rest(graph, neighbours, plan, holes, options, tables)) {
        return std::nullopt;
    }
    tables.groups = sets.port_groups(graph, neighbours);
    return tables;
}

}  // namespace

std::expected<Tables, Error> route_with_updn(const Graph& graph, const Options& options) {
    const auto roots = find_switches(graph, options.roots);
    if (!roots) {
        return std::unexpected(roots.error());
    }
    const Neighbours neighbours(graph);
    const std::vector<std::uint32_t> ones(graph.switch_count(), 1);
    const auto levels = find_levels(graph, neighbours, *roots);
    const auto joined = levels || !roots->empty() ? std::nullopt : find_joined_trees(graph);
    const Plan plan = levels   ? Plan{places_by_level(*levels), find_dividers(neighbours, *levels),
                                    &*levels, nullptr}
                      : joined ? Plan{places_by_tree(neighbours, *joined),
                                      find_dividers(neighbours, *joined), nullptr, &*joined}
                               : Plan{places_by_distance(graph, *roots), ones, nullptr, nullptr};
    auto tables = route(graph, neighbours, plan, options);
    if (!tables) {
        // Hosts may have no root in common if there are several, and joined trees need three lanes;
        // a single root always works.
        tables = route(graph, neighbours, {places_by_distance(graph, {}), ones, nullptr, nullptr},
                       options);
    }
    SOFTIB_CHECK(tables);
    return *std::move(tables);
}

}  // namespace softib::routing
