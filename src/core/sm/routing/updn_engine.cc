// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "core/sm/routing/engine.h"
#include "core/sm/routing/numbering.h"
#include "core/sm/routing/tree.h"
#include "core/sm/routing/tree_fill.h"

namespace softib::sm::routing {

std::expected<Tables, Error> route_with_updn(const Graph& graph, const Options& options) {
    const auto roots = find_switches(graph, options.roots);
    if (!roots) {
        return std::unexpected(roots.error());
    }
    const Neighbours neighbours(graph);
    const auto levels = find_levels(graph, neighbours, *roots);
    const Places places =
        levels ? places_by_level(*levels) : places_by_distance(graph, neighbours, *roots);
    const HopSets sets = up_down_hops(graph, neighbours, places);
    std::vector<std::uint32_t> divider(graph.switch_count(), 1);
    if (levels) {
        std::vector<std::uint32_t> width(levels->top + 1, 1);
        for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
            std::uint32_t ups = 0;
            for (const auto& next : neighbours.of(sw)) {
                ups += levels->level[next.peer] > levels->level[sw] ? 1U : 0U;
            }
            width[levels->level[sw]] = std::max(width[levels->level[sw]], ups);
        }
        for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
            for (std::uint32_t l = 0; l < levels->level[sw]; ++l) {
                divider[sw] *= width[l];
            }
        }
    }
    Tables tables{.engine = "updn", .lfts = Lfts(graph.switch_count(), graph.lid_max())};
    const Numbering numbering(graph, order_by_hosts(graph));
    fill_in_turn(graph, neighbours, sets, numbering, divider, tables.lfts);
    tables.groups = sets.port_groups(graph, neighbours);
    return tables;
}

}  // namespace softib::sm::routing
