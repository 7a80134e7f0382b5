// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Routes between switches that an engine's own rule cannot join on a damaged subnet. Each is the
// shortest one that closes no cycle of channel dependencies with all other routes, on the first
// service level that allows it.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/routing/graph.h"
#include "core/routing/tables.h"

namespace softib::routing {

/// A missing route from one switch to the LIDs of another, though cables join them. Engines here
/// route all LIDs of a switch or none.
struct Hole {
    std::uint32_t from;
    std::uint32_t to;
    friend auto operator<=>(const Hole&, const Hole&) = default;
};

/// Erases entries that lead nowhere, for whole pairs of switches at a time, and returns every hole.
std::vector<Hole> erase_dead_ends(const Graph& graph, Tables& tables);

/// Fills the holes, and other holes that are on their way. `sls` are the service levels to try, in
/// this order. The routes that the tables have must have no cycle. Returns the holes left open.
std::vector<Hole> fill_holes(const Graph& graph, std::span<const Hole> holes,
                             std::span<const std::uint8_t> sls, Tables& tables);

/// Returns whether a detour may go from one link straight on to another.
using MayFollow = std::function<bool(std::uint32_t link, std::uint32_t next)>;

/// Fills the holes on one service level, by routes that keep to `may_follow`. The caller must know
/// that such routes on this service level close no cycle, so that the other routes need not be
/// looked at. Returns the holes left open.
std::vector<Hole> fill_holes_by_rule(const Graph& graph, std::span<const Hole> holes,
                                     std::uint8_t sl, const MayFollow& may_follow, Tables& tables);

}  // namespace softib::routing
