// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The SLtoVL and multicast forwarding tables of the switches, and the service levels that our
// manager has chosen, as they are now. The daemon writes them into a file for a program that asks
// (request::Routes); the program reads unicast routes from the arena (arena_routes.h).

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "core/routing/tables.h"

namespace softib::shm {

/// The contents of such a file. Switches have the numbers that they have in the arena.
struct RouteFile {
    struct Multicast {
        std::uint32_t sw;
        std::uint16_t mlid;
        std::array<std::uint16_t, 16> ports;  ///< A bit for each output port, 16 ports in a word.
    };

    std::string engine;  ///< Routing engine of our manager; empty: another manager is the master.
    routing::SlMap sls;  ///< Known only if `engine` is.
    std::vector<routing::SlToVl::Row> rows;
    std::vector<routing::SlToVl::PortTables> tables;
    std::vector<std::uint32_t> tables_of;  ///< Index into `tables` for each switch.
    std::vector<Multicast> multicast;
};

/// Writes a memory file. Returns its descriptor, or -1 with errno.
int write_routes(const RouteFile& routes);
/// Reads such a file. The error says what is wrong with it.
std::expected<RouteFile, std::string> read_routes(int fd);

}  // namespace softib::shm
