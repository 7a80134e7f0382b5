// SPDX-License-Identifier: BSD-2-Clause
#include "view/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/routing/engine.h"
#include "core/routing/route_walk.h"
#include "runtime/shm/arena_routes.h"
#include "view/names.h"

namespace softib::view {

namespace {

using routing::Graph;

/// The switch ports that would be down, as (switch, port), and the switches that would be off.
struct Gone {
    std::set<std::pair<std::uint32_t, std::uint32_t>> ports;
    std::set<std::uint32_t> switches;
    bool has(std::uint32_t sw, std::uint32_t port) const {
        return switches.contains(sw) || ports.contains({sw, port});
    }
};

void add_port(const shm::Arena& arena, std::uint32_t sw, std::uint32_t port, Gone& gone) {
    gone.ports.insert({sw, port});
    const shm::SwitchPortRecord& record = arena.switch_ports[arena.switches[sw].port_first + port];
    if (record.peer.kind == shm::NodeRef::kSwitch) {
        gone.ports.insert({record.peer.index, record.peer_port});
    }
}

std::expected<Gone, std::string> resolve(const shm::Arena& arena, const Outage& outage) {
    Gone gone;
    std::set<std::string> wanted(outage.ports.begin(), outage.ports.end());
    std::set<std::string> wanted_switches(outage.switches.begin(), outage.switches.end());
    for (std::uint32_t sw = 0; sw < arena.header->switches; ++sw) {
        const shm::SwitchRecord& record = arena.switches[sw];
        if (wanted_switches.erase(record.name) != 0) {
            gone.switches.insert(sw);
        }
        for (std::uint32_t p = 1; p < record.port_count && !wanted.empty(); ++p) {
            const shm::SwitchPortRecord& port = arena.switch_ports[record.port_first + p];
            const bool here = wanted.erase(fmt::format("{}:{}", record.name, p)) != 0;
            const bool there = port.peer.kind == shm::NodeRef::kHca &&
                               wanted.erase(node_name(arena, port.peer) + ":1") != 0;
            if (here || there) {
                add_port(arena, sw, p, gone);
            }
        }
    }
    if (!wanted.empty() || !wanted_switches.empty()) {
        return std::unexpected(
            fmt::format("no {} '{}' in this fabric", wanted.empty() ? "switch" : "cable at",
                        wanted.empty() ? *wanted_switches.begin() : *wanted.begin()));
    }
    return gone;
}

std::expected<Graph, routing::Error> without(const Graph& graph, const Gone& gone) {
    routing::GraphBuilder builder;
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        builder.add_switch(graph.guid(sw));
    }
    for (std::uint32_t link = 0; link < graph.links().size(); ++link) {
        const routing::Link& to = graph.links()[link];
        const std::uint32_t from = graph.source(link);
        const bool once = graph.reverse(link) > link;
        if (once && !gone.has(from, to.port) && !gone.has(to.peer, to.peer_port)) {
            builder.add_cable(from, to.port, to.peer, to.peer_port);
        }
    }
    for (const routing::Target& target : graph.targets()) {
        if (!gone.has(target.at, target.port)) {
            builder.add_target(target);
        }
    }
    return builder.build();
}

/// Numbers of routes between hosts.
struct Counted {
    /// Routes through each port that leads to a switch; those of a port are at 256 * switch + port.
    std::vector<std::uint64_t> routes;
    std::uint64_t pairs = 0;  ///< Ordered pairs of hosts with a route.
};
Counted count_routes(const Graph& graph, const routing::Lfts& lfts) {
    Counted counted;
    counted.routes.resize(std::size_t{graph.switch_count()} * 256);
    const routing::PortMap ports(graph);
    routing::RouteWalk walk(graph, lfts, ports);
    std::vector<std::uint64_t> passing(graph.switch_count());
    graph.for_each_lid([&](const routing::Target& target, Lid lid) {
        if (target.is_switch() || lid != target.lid) {
            return;
        }
        walk.to(target, lid);
        std::ranges::fill(passing, 0);
        const auto reached = walk.reached();
        for (auto at = reached.rbegin(); at != reached.rend(); ++at) {  // From the farthest switch.
            passing[*at] += graph.host_count(*at);
            if (walk.hops(*at) != 0) {
                passing[walk.next(*at)] += passing[*at];
                counted.routes[std::size_t{*at} * 256 + walk.out_port(*at)] += passing[*at];
            }
        }
        if (!reached.empty()) {
            counted.pairs += passing[reached.front()] - 1;
        }
    });
    return counted;
}

void compare_entries(const Graph& graph, const routing::Lfts& before, const routing::Lfts& after,
                     WhatIf& result) {
    const std::size_t known = std::min(before.row(0).size(), after.row(0).size());
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        std::uint64_t changed = 0;
        graph.for_each_lid([&](const routing::Target&, Lid lid) {
            const std::uint8_t new_port = lid.value < known ? after.at(sw, lid) : routing::kNoPath;
            changed += before.at(sw, lid) != new_port ? 1U : 0U;
        });
        result.entries_changed += changed;
        result.switches_changed += changed != 0 ? 1U : 0U;
    }
}

}  // namespace

std::expected<WhatIf, std::string> what_if(const shm::Arena& arena, const Outage& outage,
                                           const std::string& engine) {
    if (arena.header->switches == 0) {
        return std::unexpected("this fabric has no switches: nothing is routed");
    }
    auto gone = resolve(arena, outage);
    auto now = gone ? shm::read_arena_routes(arena) : std::unexpected(gone.error());
    if (!now) {
        return std::unexpected(now.error());
    }
    auto left = without(now->graph, *gone);
    if (!left) {
        return std::unexpected(left.error().message);
    }
    const routing::Engine* const wanted = routing::find_engine(engine);
    auto tables = wanted != nullptr ? wanted->route(*left, {}) : routing::route_auto(*left, {});
    if (!tables) {
        tables = routing::route_auto(*left, {});
    }
    if (!tables) {
        return std::unexpected(tables.error().message);
    }
    WhatIf result;
    result.engine = tables->engine;
    compare_entries(now->graph, now->lfts, tables->lfts, result);
    const Counted before = count_routes(now->graph, now->lfts);
    const Counted after = count_routes(*left, tables->lfts);
    result.pairs_before = before.pairs;
    result.pairs_after = after.pairs;
    for (std::size_t i = 0; i < before.routes.size(); ++i) {
        if (before.routes[i] != after.routes[i]) {
            result.ports.push_back({fmt::format("{}:{}", arena.switches[i / 256].name, i % 256),
                                    before.routes[i], after.routes[i]});
        }
    }
    return result;
}

}  // namespace softib::view
