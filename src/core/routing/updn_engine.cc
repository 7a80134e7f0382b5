// SPDX-License-Identifier: BSD-2-Clause
// Up-down routing: a packet goes up towards the roots, turns once, and goes down. Trees have many
// roots, the whole top level; other graphs have one, their centre, from which all others are ranked
// by distance. Among equally good next hops the number of the destination chooses.
#include <algorithm>
#include <optional>

#include "core/base/check.h"
#include "core/routing/engine.h"
#include "core/routing/numbering.h"
#include "core/routing/tree.h"
#include "core/routing/tree_fill.h"
#include "core/routing/up_down.h"

namespace softib::routing {

namespace {

/// By switch: how many ways destinations have been spread below it.
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

struct Plan {
    Places places;
    std::vector<std::uint32_t> dividers;
    const TreeLevels* levels;  ///< nullptr: one root.
};

std::optional<Tables> route(const Graph& graph, const Neighbours& neighbours, const Plan& plan,
                            const Options& options) {
    const HopSets sets = up_down_hops(graph, neighbours, plan.places);
    const std::vector<Hole> holes = find_holes(graph, sets);
    // Hosts must reach each other with one turn. Only packets from or to a switch, which are few
    // and for management, may take detours.
    if (std::ranges::any_of(holes, [&](const Hole& h) { return between_hosts(graph, h); })) {
        return std::nullopt;
    }
    Tables tables{.engine = "updn", .lfts = Lfts(graph.switch_count(), graph.lid_max())};
    fill_in_turn(graph, neighbours, sets, Numbering(graph, order_by_hosts(graph)), plan.dividers,
                 tables.lfts);
    if (plan.levels != nullptr) {
        fill_tree_holes(graph, neighbours, *plan.levels, holes, options.sls(), tables);
    } else {
        fill_holes(graph, holes, options.sls(), tables);
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
    const Plan plan =
        levels ? Plan{places_by_level(*levels), find_dividers(neighbours, *levels), &*levels}
               : Plan{places_by_distance(graph, *roots), ones, nullptr};
    auto tables = route(graph, neighbours, plan, options);
    if (!tables) {
        // Several roots can leave hosts without a common one; a single root cannot.
        tables = route(graph, neighbours, {places_by_distance(graph, {}), ones, nullptr}, options);
    }
    SOFTIB_CHECK(tables);
    return *std::move(tables);
}

}  // namespace softib::routing
