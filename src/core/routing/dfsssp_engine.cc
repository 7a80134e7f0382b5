// SPDX-License-Identifier: BSD-2-Clause
// DFSSSP: shortest paths balanced by weights (sssp.h), freed from credit loops by layers
// (layers.h). Works on any topology, and needs as many lanes as its cycles ask for: one or two on
// trees, several on tori. If there are not enough, paths that all prefer the lowest port, which
// need fewer, are taken.
#include "core/routing/engine.h"
#include "core/routing/layers.h"
#include "core/routing/sssp.h"

namespace softib::routing {

std::expected<Tables, Error> route_with_dfsssp(const Graph& graph, const Options& options) {
    for (const bool spread : {true, false}) {
        Tables tables{.engine = "dfsssp",
                      .lfts = spread ? route_by_weights(graph) : route_by_switch(graph, false)};
        if (break_cycles(graph, options.usable_vls(), tables)) {
            return tables;
        }
    }
    return std::unexpected(too_few_lanes("dfsssp", options.usable_vls()));
}

}  // namespace softib::routing
