// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reads cables, LIDs and forwarding tables from the arena into the structures of core/routing.

#include <cstdint>
#include <expected>
#include <string>

#include "core/routing/graph.h"
#include "core/routing/tables.h"
#include "runtime/shm/arena.h"

namespace softib::shm {

/// The routed fabric. A switch has the same number in the graph as in the arena.
struct ArenaRoutes {
    routing::Graph graph;  ///< Cables that are not down.
    routing::Lfts lfts;
    std::uint32_t down = 0;         ///< Ports that have a cable and are down.
    std::uint32_t not_active = 0;   ///< Ports that are neither down nor active.
    std::uint32_t without_lid = 0;  ///< End ports of nodes in use that have no LID.
};

/// Reads the routed fabric. The error says why its graph could not be built.
std::expected<ArenaRoutes, std::string> read_arena_routes(const Arena& arena);

}  // namespace softib::shm
