// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The routed fabric as the arena has it, in the terms of routing: cables, LIDs, forwarding tables.

#include <cstdint>
#include <expected>
#include <string>

#include "core/routing/graph.h"
#include "core/routing/tables.h"
#include "runtime/shm/arena.h"

namespace softib::live {

/// Graph and arena number switches alike.
struct ArenaRoutes {
    routing::Graph graph;  ///< Cables that are not down.
    routing::Lfts lfts;
    std::uint32_t not_active = 0;   ///< Ports with a cable that is not down.
    std::uint32_t without_lid = 0;  ///< End ports with such a cable.
};

std::expected<ArenaRoutes, std::string> read_arena_routes(const Arena& arena);

}  // namespace softib::live
