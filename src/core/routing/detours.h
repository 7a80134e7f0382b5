// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Routes for what an engine's own rule cannot reach on a damaged subnet. Each is the shortest one
// that closes no cycle of channel dependencies with all other routes, on the first service level
// that allows it.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/routing/graph.h"
#include "core/routing/tables.h"

namespace softib::routing {

/// A switch has no route to (the LIDs of) another one, though cables join them. Engines here route
/// all LIDs of a switch or none.
struct Hole {
    std::uint32_t from;
    std::uint32_t to;
    friend auto operator<=>(const Hole&, const Hole&) = default;
};

/// Erases entries that lead nowhere, whole pairs of switches at a time, and returns every hole.
std::vector<Hole> erase_dead_ends(const Graph& graph, Tables& tables);

/// Fills the holes, and of those not named the ones on the way. `sls` are the service levels to
/// try, in this order; what the tables route so far has no cycle. Returns the holes left open.
std::vector<Hole> fill_holes(const Graph& graph, std::span<const Hole> holes,
                             std::span<const std::uint8_t> sls, Tables& tables);

/// Whether a detour may go from one link straight on to another.
using MayFollow = std::function<bool(std::uint32_t link, std::uint32_t next)>;

/// The same on one service level, where the caller knows that no routes on it that keep to
/// `may_follow` close a cycle. That saves to look at all other routes.
std::vector<Hole> fill_holes_by_rule(const Graph& graph, std::span<const Hole> holes,
                                     std::uint8_t sl, const MayFollow& may_follow, Tables& tables);

}  // namespace softib::routing
