// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Brings what managers wrote of a port's lanes (SLtoVL, arbitration, OperationalVLs), of how long
// packets wait there, of congestion and of adaptive routing from its node to the arena, for the
// packet path.

#include <cstdint>

#include "core/agent/node.h"
#include "runtime/shm/arena.h"

namespace softib::live {

/// `place` is the node's.
void write_lanes(const Arena& arena, const NodeRef& place, const agent::Node& node,
                 std::uint8_t port);

/// How an HCA slows its queue pairs down.
void write_injection(const Arena& arena, std::uint32_t hca, const agent::Node& node);

/// Among which ports a switch may choose.
void write_adaptive(const Arena& arena, std::uint32_t sw, const agent::Node& node);

}  // namespace softib::live
