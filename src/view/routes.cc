// SPDX-License-Identifier: BSD-2-Clause
#include "view/routes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/shm/arena_routes.h"
#include "runtime/shm/rpc.h"

namespace softib::view {

namespace {

using routing::SlToVl;

constexpr std::uint32_t kRouteTriesMax = 5;

/// Sets the SL2VL tables of the routes, and the number of VLs that the paths' service levels use.
void set_lanes(shm::RouteFile& file, std::uint32_t switches, Routes& routes) {
    routing::Tables& tables = routes.tables;
    std::uint16_t used = 1;  // Bit mask of service levels.
    for (std::uint32_t a = 0; a < switches && !file.sls.uniform(); ++a) {
        for (std::uint32_t b = 0; b < switches; ++b) {
            used = static_cast<std::uint16_t>(used | 1U << file.sls.at(a, b));
        }
    }
    bool identity = true;
    tables.vls = 1;
    for (const SlToVl::Row& row : file.rows) {
        for (std::uint8_t sl = 0; sl < row.size(); ++sl) {
            if ((std::uint32_t{used} >> sl & 1U) == 0) {
                continue;
            }
            identity = identity && row[sl] == sl;
            if (row[sl] < routing::kVlDiscard) {
                tables.vls = std::max(tables.vls, static_cast<std::uint8_t>(row[sl] + 1));
            }
        }
    }
    routes.lanes = SlToVl(std::move(file.rows), std::move(file.tables), std::move(file.tables_of));
    tables.sls = std::move(file.sls);
    if (!identity) {
        tables.sl_to_vl = routes.lanes;
    }
}

}  // namespace

std::expected<Routes, std::string> join_routes(const shm::Arena& arena, shm::RouteFile file) {
    const std::uint32_t switches = arena.header->switches;
    if (file.tables_of.size() != switches) {
        return std::unexpected(
            fmt::format("softibd sent the routes of {} switches, and this fabric has {}: use one "
                        "version of softib and softibd",
                        file.tables_of.size(), switches));
    }
    auto read = shm::read_arena_routes(arena);
    if (!read) {
        return std::unexpected(read.error());
    }
    Routes routes;
    routes.graph = std::move(read->graph);
    routes.down = read->down;
    routes.not_active = read->not_active;
    routes.without_lid = read->without_lid;
    routes.tables.engine = file.engine;
    routes.sls_known = !file.engine.empty();
    routes.multicast = std::move(file.multicast);
    set_lanes(file, switches, routes);
    routes.tables.lfts = std::move(read->lfts);
    return routes;
}

std::expected<Routes, std::string> read_routes(const shm::Arena& arena, int daemon) {
    if (arena.header->switches == 0) {
        return std::unexpected("this fabric has no switches: nothing is routed");
    }
    std::expected<Routes, std::string> routes;
    for (std::uint32_t tries = 0; tries < kRouteTriesMax; ++tries) {
        const std::uint64_t before = arena.header->route_generation.load();
        shm::Message message;
        shm::request::OneFile told;
        const int error = shm::rpc_ask(daemon, shm::request::Routes{}, message, told);
        if (error != 0 || told.file < 0) {
            return std::unexpected(
                fmt::format("softibd does not tell its routes: {}", std::strerror(error)));
        }
        auto file = shm::read_routes(told.file);
        close(told.file);
        if (!file) {
            return std::unexpected(fmt::format("cannot read the routes: {}", file.error()));
        }
        routes = join_routes(arena, std::move(*file));
        if (arena.header->route_generation.load() == before) {
            break;  // Otherwise routes changed meanwhile, and file and arena may not match.
        }
    }
    return routes;
}

}  // namespace softib::view
