// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a manager writes into a switch that may choose among ports (core/wire/adaptive_routing.h):
// the sets that a routing engine found, and for each LID its set. Where the engine found longer
// ways too, packets from hosts and packets from near by have tables of their own, and each group
// has two sets: the ports to prefer, and those on longer ways.

#include <cstdint>
#include <vector>

#include "core/routing/graph.h"
#include "core/routing/tables.h"
#include "core/sm/smp_client.h"
#include "core/wire/adaptive_routing.h"

namespace softib::sm {

/// Returns the tables of one switch, which holds `groups_max` groups at most. Without longer ways a
/// LID whose group has no room is forwarded by its default port.
AdaptiveTables adaptive_tables(const routing::Graph& graph, const routing::Tables& tables,
                               std::uint32_t sw, std::uint16_t groups_max, std::uint8_t ports);

/// The groups that a switch needs for the longer ways; 0: there are none.
std::uint32_t long_way_groups(const routing::Graph& graph, const routing::Tables& tables,
                              std::uint32_t sw);

/// Appends a Set() for each block of `wanted` that differs from what was written, in an order in
/// which the switch begins to choose when all is there. Purposes and paths are left empty.
/// `on`: the switch chooses already.
void list_adaptive_requests(const AdaptiveTables& wanted, const AdaptiveTables& written, bool on,
                            std::vector<SmpRequest>& requests);

}  // namespace softib::sm
