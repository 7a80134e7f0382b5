// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What the network's ports have counted, brought to the totals in the arena, where agents read.

#include "runtime/live/arena.h"
#include "runtime/packet/adapters.h"
#include "runtime/packet/tables.h"
#include "runtime/sim/engine.h"

namespace softib::packet {

void publish_counts(const live::Arena& arena, const sim::Engine& net, const Tables& tables,
                    Adapters& adapters);
/// Those by lane and service level, which are many: only when somebody asks.
void publish_lane_counts(const live::Arena& arena, const sim::Engine& net, const Tables& tables);

}  // namespace softib::packet
