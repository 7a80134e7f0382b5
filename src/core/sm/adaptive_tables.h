// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The tables that a manager writes into a switch with adaptive routing
// (core/wire/sm/adaptive_routing.h): the sets of ports that a routing engine found, and the set of
// each LID. If the engine found longer ways too (routing::LongWays), packets that come from hosts
// and packets that come from switches near by have forwarding tables of their own, and each group
// has two sets: the ports to prefer, and the ports of longer ways.

#include <cstdint>
#include <vector>

#include "core/routing/graph.h"
#include "core/routing/tables.h"
#include "core/sm/smp_client.h"
#include "core/wire/sm/adaptive_routing.h"

namespace softib::sm {

/// Returns the tables of one switch, which holds at most `groups_max` groups. A LID whose group
/// does not fit is forwarded by its default port. Longer ways must fit: see long_way_groups().
AdaptiveTables adaptive_tables(const routing::Graph& graph, const routing::Tables& tables,
                               std::uint32_t sw, std::uint16_t groups_max, std::uint8_t ports);

/// Returns the number of groups that a switch needs with longer ways; 0 if there are none.
std::uint32_t long_way_groups(const routing::Graph& graph, const routing::Tables& tables,
                              std::uint32_t sw);

/// Appends a Set() for each block of `wanted` that differs from `written`. The one that turns
/// adaptive routing on is the last. Purposes and paths of the requests are left empty. `on` says
/// whether adaptive routing is on already.
void list_adaptive_requests(const AdaptiveTables& wanted, const AdaptiveTables& written, bool on,
                            std::vector<SmpRequest>& requests);

}  // namespace softib::sm
