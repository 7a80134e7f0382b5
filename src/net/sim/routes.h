// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Writes the routes that a routing engine computed into a plant without a subnet manager, for
// simulations and tests that are about packets.

#include <vector>

#include "core/routing/graph.h"
#include "core/routing/tables.h"
#include "core/topo/graph.h"
#include "net/plant/plant.h"

namespace softib::net {

/// Writes the tables of one switch: number `sw` of the graph, `node` of the plant.
void write_switch(Plant& plant, std::uint32_t node, const routing::Graph& graph,
                  const routing::Tables& tables, std::uint32_t sw);

struct Routed;

/// Writes the tables of all switches, and the SL2VL tables of HCAs.
void write_routes(Plant& plant, const Routed& routed);

/// Lets one switch choose among the ports that the routing engine found equally good. If the engine
/// found longer ways too, the switch learns of them by the manager's MADs (adaptive_manager.h).
void write_adaptive_switch(Plant& plant, std::uint32_t node, const routing::Graph& graph,
                           const routing::Tables& tables, std::uint32_t sw);

/// Lets every switch choose as write_adaptive_switch() does.
void write_adaptive_routes(Plant& plant, const Routed& routed);

/// Removes the ways to all LIDs from all switches.
void clear_routes(Plant& plant);

}  // namespace softib::net
