// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The subnet manager's MADs by which a switch learns of longer ways (core/sm/adaptive_tables.h),
// and how the plant follows what the switch accepts.

#include <cstdint>

#include "core/routing/graph.h"
#include "core/routing/tables.h"
#include "net/plant/plant.h"

namespace softib::net {

/// Sends these MADs to the agent of one switch, number `sw` of the graph and `node` of the plant,
/// in no virtual time, and makes the plant do what the agent accepted.
void manage_adaptive_switch(Plant& plant, std::uint32_t node, const routing::Graph& graph,
                            const routing::Tables& tables, std::uint32_t sw);

}  // namespace softib::net
