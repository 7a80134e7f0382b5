// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Balances finished tables: moves single entries of forwarding tables to other ports that are
// equally good, as long as fewer flows meet. An engine that spreads destinations in closed form is
// the best that there is on a whole tree; on an irregular one it leaves some cables busier than
// they need to be, and that is what this mends.
//
// What is counted is permutation traffic: the shifts of all hosts in their order, which collective
// operations consist of, and random permutations for traffic that knows no order. A flow that is
// alone on its links costs nothing; the more flows meet on a link, the more each of them costs.

#include <cstdint>

#include "core/routing/graph.h"
#include "core/routing/tables.h"

namespace softib::routing {

/// Returns whether balance() has time for a graph of this size: it looks at every pair of hosts
/// several times.
bool may_balance(const Graph& graph);

/// Moves entries for hosts among the ports of `groups`, sets of equally good ports such that any
/// choice among them is free of credit loops and arrives. Entries that routes outside of the sets
/// rely on (detours round damage) stay. Returns the number of entries moved. The result depends on
/// nothing but the arguments.
std::uint64_t balance(const Graph& graph, const PortGroups& groups, Lfts& lfts);

}  // namespace softib::routing
