// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The routes of a running fabric, as its switches hold them now, no matter which manager or user
// wrote them. Forwarding tables, LIDs and port states come from the arena, the rest comes from the
// daemon. The types are those of core/routing.

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "core/routing/tables.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/route_file.h"

namespace softib::view {

/// Routes of a running fabric. Switches have the same numbers in the graph and in the arena.
struct Routes {
    routing::Graph graph;  ///< Switches and end ports, with the cables that are not down.
    /// Tables of the switches; sl_to_vl is empty if the VL of every path is its SL everywhere.
    routing::Tables tables;
    routing::SlToVl lanes;   ///< SL2VL tables for all service levels.
    bool sls_known = false;  ///< If false, every path is taken to have service level 0.
    std::vector<shm::RouteFile::Multicast> multicast;
    std::uint32_t down = 0;         ///< Ports that have a cable and are down.
    std::uint32_t not_active = 0;   ///< Ports whose cable is not down but that are not active.
    std::uint32_t without_lid = 0;  ///< End ports whose cable is not down and that have no LID.
};

/// Returns the routes in the arena together with those of the daemon's file. The error is for the
/// user.
std::expected<Routes, std::string> join_routes(const shm::Arena& arena, shm::RouteFile file);

/// Asks the daemon for its route file over a connection, and joins it with the arena. The error is
/// for the user.
std::expected<Routes, std::string> read_routes(const shm::Arena& arena, int daemon);

}  // namespace softib::view
