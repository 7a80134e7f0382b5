// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How packets go, as the switches hold it now, whoever wrote it: for those who look at a fabric
// from outside. Forwarding tables, LIDs and port states stand in the arena; virtual lanes,
// multicast tables and the manager's service levels are known to the daemon alone, which writes
// them into a file for whoever asks. That takes it milliseconds; what is made of it is the asker's
// own work.

#include <array>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "core/agent/mesh.h"
#include "core/routing/tables.h"
#include "core/sm/manager.h"
#include "runtime/shm/arena.h"

namespace softib::live {

/// What is not in the arena. Switches are numbered as there.
struct RouteFile {
    struct Multicast {
        std::uint32_t sw;
        std::uint16_t mlid;
        std::array<std::uint16_t, 16> ports;  ///< Bit masks.
    };

    std::string engine;  ///< That of our manager if it is the master; empty: somebody else's work.
    routing::SlMap sls;  ///< Known with the engine only.
    std::vector<routing::SlToVl::Row> rows;
    std::vector<routing::SlToVl::PortTables> tables;
    std::vector<std::uint32_t> tables_of;  ///< By switch.
    std::vector<Multicast> multicast;
};

RouteFile collect_routes(const agent::Mesh& mesh, std::span<const agent::NodeId> switches,
                         const sm::Manager* manager);

/// Into a file in memory; -1 and errno on failure.
int write_routes(const RouteFile& routes);
std::expected<RouteFile, std::string> read_routes(int fd);

/// The whole, in the terms of routing. Graph and arena number switches alike.
struct Routes {
    routing::Graph graph;    ///< Cables that are not down.
    routing::Tables tables;  ///< Without lanes where the paths' VL is their SL everywhere.
    routing::SlToVl lanes;   ///< Those of all service levels.
    bool sls_known = false;  ///< False: all paths are taken to have service level 0.
    std::vector<RouteFile::Multicast> multicast;
    std::uint32_t not_active = 0;   ///< Ports with a cable that is not down.
    std::uint32_t without_lid = 0;  ///< End ports with such a cable.
};
std::expected<Routes, std::string> join_routes(const Arena& arena, RouteFile file);

}  // namespace softib::live
