// SPDX-License-Identifier: BSD-2-Clause
#include "view/routes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/shm/rpc.h"

namespace softib::view {

namespace {

using routing::SlToVl;

constexpr std::uint32_t kRouteTriesMax = 5;

bool is_up(PortState state) {
    return state == PortState::kInit || state == PortState::kArmed || state == PortState::kActive;
}

PortState state_of(const std::atomic<PortState>& state) {
    return state.load(std::memory_order_relaxed);
}

/// Builds the graph of an arena.
class Joiner {
  public:
    Joiner(const live::Arena& arena, Routes& routes) : arena_(arena), routes_(routes) {}

    std::expected<void, std::string> run() {
        const live::ArenaHeader& header = *arena_.header;
        for (std::uint32_t i = 0; i < header.switches; ++i) {
            builder_.add_switch(Guid{arena_.switches[i].node_guid});
        }
        for (std::uint32_t i = 0; i < header.switches; ++i) {
            add_switch(i);
        }
        for (std::uint32_t i = 0; i < header.hcas; ++i) {
            add_hca(arena_.hcas[i], i);
        }
        auto graph = builder_.build();
        if (!graph) {
            return std::unexpected(graph.error().message);
        }
        routes_.graph = std::move(*graph);
        return {};
    }

  private:
    const live::SwitchPortRecord& port(std::uint32_t sw, std::uint32_t number) const {
        return arena_.switch_ports[arena_.switches[sw].port_first + number];
    }

    void add_switch(std::uint32_t sw) {
        const live::SwitchRecord& record = arena_.switches[sw];
        bool cabled = false;
        for (std::uint32_t p = 1; p < record.port_count; ++p) {
            const live::SwitchPortRecord& here = port(sw, p);
            if (!is_up(state_of(here.state))) {
                continue;
            }
            cabled = true;
            routes_.not_active += state_of(here.state) == PortState::kActive ? 0U : 1U;
            // Each cable once, from its lower end.
            if (here.peer.kind == live::NodeRef::kSwitch &&
                std::pair(here.peer.index, std::uint32_t{here.peer_port}) > std::pair(sw, p) &&
                is_up(state_of(port(here.peer.index, here.peer_port).state))) {
                builder_.add_cable(sw, static_cast<std::uint8_t>(p), here.peer.index,
                                   here.peer_port);
            }
        }
        const Lid lid{record.lid.load(std::memory_order_relaxed)};
        if (lid != kLidUnassigned) {
            builder_.add_target({.guid = Guid{record.node_guid}, .lid = lid, .at = sw});
        } else {
            routes_.without_lid += cabled ? 1U : 0U;
        }
    }

    void add_hca(const live::HcaRecord& record, std::uint32_t index) {
        const PortState state = state_of(record.state);
        if (record.peer_switch == UINT32_MAX || !is_up(state)) {
            return;
        }
        routes_.not_active += state == PortState::kActive ? 0U : 1U;
        const Lid lid{record.lid.load(std::memory_order_relaxed)};
        if (lid == kLidUnassigned) {
            ++routes_.without_lid;
            return;
        }
        builder_.add_target({.guid = Guid{record.port_guid},
                             .lid = lid,
                             .lmc = record.lmc,
                             .port = record.peer_port,
                             .at = record.peer_switch,
                             .order = index});
    }

    const live::Arena& arena_;
    Routes& routes_;
    routing::GraphBuilder builder_;
};

/// The lanes, and how many of them the service levels of paths use.
void set_lanes(live::RouteFile& file, std::uint32_t switches, Routes& routes) {
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

std::expected<Routes, std::string> join_routes(const live::Arena& arena, live::RouteFile file) {
    const std::uint32_t switches = arena.header->switches;
    if (file.tables_of.size() != switches) {
        return std::unexpected("softibd tells of another fabric");
    }
    Routes routes;
    if (auto joined = Joiner(arena, routes).run(); !joined) {
        return std::unexpected(joined.error());
    }
    routes.tables.engine = file.engine;
    routes.sls_known = !file.engine.empty();
    routes.multicast = std::move(file.multicast);
    set_lanes(file, switches, routes);
    routes.tables.lfts = routing::Lfts(switches, routes.graph.lid_max());
    for (std::uint32_t sw = 0; sw < switches; ++sw) {
        const auto row = routes.tables.lfts.row(sw);
        for (std::size_t lid = 0; lid < row.size() && lid < live::kLftEntries; ++lid) {
            row[lid] =
                arena.lft(sw, Lid{static_cast<std::uint16_t>(lid)}).load(std::memory_order_relaxed);
        }
    }
    return routes;
}

std::expected<Routes, std::string> read_routes(const live::Arena& arena, int daemon) {
    if (arena.header->switches == 0) {
        return std::unexpected("this fabric has no switches: nothing is routed");
    }
    std::expected<Routes, std::string> routes;
    for (std::uint32_t tries = 0; tries < kRouteTriesMax; ++tries) {
        const std::uint64_t before = arena.header->route_generation.load();
        live::Message message;
        live::request::OneFile told;
        const int error = live::rpc_ask(daemon, live::request::Routes{}, message, told);
        if (error != 0 || told.file < 0) {
            return std::unexpected(
                fmt::format("softibd does not tell its routes: {}", std::strerror(error)));
        }
        auto file = live::read_routes(told.file);
        close(told.file);
        if (!file) {
            return std::unexpected(fmt::format("cannot read the routes: {}", file.error()));
        }
        routes = join_routes(arena, std::move(*file));
        if (arena.header->route_generation.load() == before) {
            break;  // Else half of what we have is of before a change.
        }
    }
    return routes;
}

}  // namespace softib::view
