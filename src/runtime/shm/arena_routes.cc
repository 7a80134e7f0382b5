// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/arena_routes.h"

#include <utility>

namespace softib::shm {

namespace {

bool is_up(PortState state) {
    return state == PortState::kInit || state == PortState::kArmed || state == PortState::kActive;
}

PortState state_of(const std::atomic<PortState>& state) {
    return state.load(std::memory_order_relaxed);
}

/// Builds the graph of an arena.
class Joiner {
  public:
    Joiner(const Arena& arena, ArenaRoutes& routes) : arena_(arena), routes_(routes) {}

    std::expected<void, std::string> run() {
        const ArenaHeader& header = *arena_.header;
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
    const SwitchPortRecord& port(std::uint32_t sw, std::uint32_t number) const {
        return arena_.switch_ports[arena_.switches[sw].port_first + number];
    }

    void add_switch(std::uint32_t sw) {
        const SwitchRecord& record = arena_.switches[sw];
        bool cabled = false;
        for (std::uint32_t p = 1; p < record.port_count; ++p) {
            const SwitchPortRecord& here = port(sw, p);
            if (!is_up(state_of(here.state))) {
                routes_.down += here.peer_port != 0 ? 1U : 0U;
                continue;
            }
            cabled = true;
            routes_.not_active += state_of(here.state) == PortState::kActive ? 0U : 1U;
            // A cable between switches is added once, from its lower end.
            if (here.peer.kind == NodeRef::kSwitch &&
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

    void add_hca(const HcaRecord& record, std::uint32_t index) {
        const PortState state = state_of(record.state);
        if (record.peer_switch == UINT32_MAX || !is_up(state)) {
            routes_.down += record.peer_port != 0 ? 1U : 0U;
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

    const Arena& arena_;
    ArenaRoutes& routes_;
    routing::GraphBuilder builder_;
};

}  // namespace

std::expected<ArenaRoutes, std::string> read_arena_routes(const Arena& arena) {
    ArenaRoutes routes;
    if (auto joined = Joiner(arena, routes).run(); !joined) {
        return std::unexpected(joined.error());
    }
    const std::uint32_t switches = arena.header->switches;
    routes.lfts = routing::Lfts(switches, routes.graph.lid_max());
    for (std::uint32_t sw = 0; sw < switches; ++sw) {
        const auto row = routes.lfts.row(sw);
        for (std::size_t lid = 0; lid < row.size() && lid < kLftEntries; ++lid) {
            row[lid] =
                arena.lft(sw, Lid{static_cast<std::uint16_t>(lid)}).load(std::memory_order_relaxed);
        }
    }
    return routes;
}

}  // namespace softib::shm
