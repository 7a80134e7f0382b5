// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Forwarding as a routing engine computed it, written into a plant without a manager: for
// measurements and tests that are about packets.

#include <vector>

#include "core/routing/graph.h"
#include "core/routing/tables.h"
#include "core/topo/fabric.h"
#include "net/plant.h"

namespace softib::net {

/// Writes the tables of one switch: number `sw` of the graph, `node` of the plant.
void write_switch(Plant& plant, std::uint32_t node, const routing::Graph& graph,
                  const routing::Tables& tables, std::uint32_t sw);

struct Routed;

void write_routes(Plant& plant, const Routed& routed);

/// Lets one switch choose among the ports that the engine found equally good. Where it found longer
/// ways too, by the manager's MADs (adaptive_manager.h).
void write_adaptive_switch(Plant& plant, std::uint32_t node, const routing::Graph& graph,
                           const routing::Tables& tables, std::uint32_t sw);

/// Every switch may choose among the ports that the engine found equally good.
void write_adaptive_routes(Plant& plant, const Routed& routed);

/// No switch knows a way to any LID any more.
void clear_routes(Plant& plant);

}  // namespace softib::net
