// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Parts finished routes by virtual lanes, so that the routes on each lane close no cycle of channel
// dependencies. The unit is a pair of switches: both directions have the same service level, and
// the VL is the SL.

#include <cstdint>
#include <string_view>

#include "core/routing/graph.h"
#include "core/routing/tables.h"

namespace softib::routing {

/// Begins with all routes on VL 0. As long as the routes of a lane close a cycle, the dependency of
/// this cycle that the fewest routes have is taken off the lane: the pairs with such a route move
/// to the next lane (DFSSSP: Domke, Hoefler and Nagel, IPDPS 2011). Sets `sls` and `vls` of the
/// tables and returns true; returns false, with the tables unchanged, if `vls_max` lanes are too
/// few.
bool break_cycles(const Graph& graph, std::uint8_t vls_max, Tables& tables);

/// Gives each pair the first lane on which it closes no cycle with the pairs before it (LASH:
/// Skeie, Lysne and Theiss, IPDPS 2002). Sets `sls` and `vls` of the tables and returns true;
/// returns false, with the tables unchanged, if `vls_max` lanes are too few.
bool add_pair_by_pair(const Graph& graph, std::uint8_t vls_max, Tables& tables);

/// Returns the error of an engine that needs more lanes than these.
Error too_few_lanes(std::string_view engine, std::uint8_t lanes);

}  // namespace softib::routing
