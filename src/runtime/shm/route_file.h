// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How packets go, as the switches hold it now, as far as it is not in the arena: virtual lanes,
// multicast tables and the manager's service levels are known to the daemon alone, which writes
// them into a file for whoever asks (request::Routes).

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "core/routing/tables.h"

namespace softib::live {

/// Switches are numbered as in the arena.
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

/// Writes a file in memory. Returns its descriptor, or -1 with errno.
int write_routes(const RouteFile& routes);
std::expected<RouteFile, std::string> read_routes(int fd);

}  // namespace softib::live
