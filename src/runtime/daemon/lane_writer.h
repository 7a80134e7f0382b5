// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Copies from nodes to the arena what managers wrote about lanes (SLtoVL, VL arbitration,
// OperationalVLs), limits of waiting, congestion control and adaptive routing. Packet path only.

#include <cstdint>

#include "core/agent/node.h"
#include "runtime/shm/arena.h"

namespace softib::daemon {

/// Copies the lanes, limits and marking of a port. `place` is the node's place in the arena.
void write_lanes(const shm::Arena& arena, const shm::NodeRef& place, const agent::Node& node,
                 std::uint8_t port);

/// Copies the congestion control table and settings of an HCA.
void write_injection(const shm::Arena& arena, std::uint32_t hca, const agent::Node& node);

/// Copies the adaptive routing table of a switch.
void write_adaptive(const shm::Arena& arena, std::uint32_t sw, const agent::Node& node);

}  // namespace softib::daemon
