// SPDX-License-Identifier: BSD-2-Clause
// LASH: one shortest path for each pair of switches, and each pair on the first lane where it
// closes no cycle with the others (layers.h). Works on any topology with enough lanes. Paths that
// are spread by weights let fewer flows meet; paths that all prefer the lowest port need fewer
// lanes, and are taken if there are not enough for the others.
#include "core/routing/engine.h"
#include "core/routing/layers.h"
#include "core/routing/sssp.h"

namespace softib::routing {

std::expected<Tables, Error> route_with_lash(const Graph& graph, const Options& options) {
    for (const bool spread : {true, false}) {
        Tables tables{.engine = "lash", .lfts = route_by_switch(graph, spread)};
        if (add_pair_by_pair(graph, options.usable_vls(), tables)) {
            return tables;
        }
    }
    return std::unexpected(too_few_lanes("lash", options.usable_vls()));
}

}  // namespace softib::routing
