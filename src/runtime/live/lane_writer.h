// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Brings what managers wrote of a port's lanes (SLtoVL, arbitration, OperationalVLs) from its node
// to the arena, for the packet path.

#include <cstdint>

#include "core/agent/node.h"
#include "runtime/live/arena.h"

namespace softib::live {

/// `place` is the node's.
void write_lanes(const Arena& arena, const NodeRef& place, const agent::Node& node,
                 std::uint8_t port);

}  // namespace softib::live
