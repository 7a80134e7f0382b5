// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How packets go, as the switches hold it now, whoever wrote it: forwarding tables, LIDs and port
// states from the arena, the rest from the daemon, in the terms of routing.

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "core/routing/tables.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/route_file.h"

namespace softib::view {

/// Graph and arena number switches alike.
struct Routes {
    routing::Graph graph;    ///< Cables that are not down.
    routing::Tables tables;  ///< Without lanes where the paths' VL is their SL everywhere.
    routing::SlToVl lanes;   ///< Those of all service levels.
    bool sls_known = false;  ///< False: all paths are taken to have service level 0.
    std::vector<live::RouteFile::Multicast> multicast;
    std::uint32_t not_active = 0;   ///< Ports with a cable that is not down.
    std::uint32_t without_lid = 0;  ///< End ports with such a cable.
};

std::expected<Routes, std::string> join_routes(const live::Arena& arena, live::RouteFile file);

/// Asks the daemon over a connection, and joins what it says with the arena. The error is for the
/// user.
std::expected<Routes, std::string> read_routes(const live::Arena& arena, int daemon);

}  // namespace softib::view
