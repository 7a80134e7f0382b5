// SPDX-License-Identifier: BSD-2-Clause
#include "net/routes.h"

#include <utility>

#include "core/routing/engine.h"
#include "net/fabric.h"

namespace softib::net {

std::expected<Routed, topo::Error> Routed::make(topo::Fabric topology, const std::string& engine,
                                                std::uint8_t data_vls, bool adaptive) {
    std::vector<Lid> lids = lids_of(topology);
    const routing::Engine* chosen = routing::find_engine(engine);
    if (chosen == nullptr) {
        return std::unexpected(topo::Error{"there is no routing engine '" + engine + "'"});
    }
    auto graph = routing::graph_of(topology, lids);
    if (!graph) {
        return std::unexpected(topo::Error{graph.error().message});
    }
    auto tables = chosen->route(*graph, {.data_vls = data_vls, .adaptive = adaptive});
    if (!tables) {
        return std::unexpected(topo::Error{tables.error().message});
    }
    return Routed{std::move(topology), std::move(lids), *std::move(graph), *std::move(tables)};
}

std::vector<Lid> lids_of(const topo::Fabric& fabric) {
    std::vector<Lid> lids(fabric.nodes.size());
    std::uint16_t next = 1;
    for (const topo::NodeKind kind :
         {topo::NodeKind::kHca, topo::NodeKind::kSwitch, topo::NodeKind::kRouter}) {
        for (std::size_t i = 0; i < lids.size(); ++i) {
            if (fabric.nodes[i].kind == kind) {
                lids[i] = Lid{next++};
            }
        }
    }
    return lids;
}

void write_switch(Plant& plant, std::uint32_t node, const routing::Graph& graph,
                  const routing::Tables& tables, std::uint32_t sw) {
    graph.for_each_lid([&](const routing::Target&, Lid lid) {
        plant.set_route(node, lid, tables.lfts.at(sw, lid));
    });
    if (tables.sl_to_vl.empty()) {
        return;
    }
    const std::uint8_t ports = plant.ports_of(node);
    for (std::uint8_t in = 0; in < ports; ++in) {
        for (std::uint8_t out = 0; out < ports; ++out) {
            plant.set_lanes(node, in, out, tables.sl_to_vl.row(sw, in, out));
        }
    }
}

void write_routes(Plant& plant, const topo::Fabric& fabric, const routing::Graph& graph,
                  const routing::Tables& tables) {
    std::uint32_t sw = 0;
    for (std::uint32_t node = 0; node < fabric.nodes.size(); ++node) {
        if (plant.is_switch(node)) {
            write_switch(plant, node, graph, tables, sw++);
        } else if (!tables.sl_to_vl.empty()) {
            plant.set_lanes(node, 0, 1, tables.sl_to_vl.host_row());
        }
    }
}

namespace {

/// A table for each origin of packets but kAny, whose is the common one.
void add_long_ways(sw::AdaptiveTable& table, std::uint8_t ports, const routing::Graph& graph,
                   const routing::Tables& tables, std::uint32_t sw) {
    const routing::LongWays& ways = tables.long_ways;
    const auto add = [&](const routing::PortGroups& sets) {
        const auto first = table.groups();
        for (std::uint16_t group = 1; group < sets.count(sw); ++group) {
            table.add_group(sets.ports(sw, group));
        }
        // Of the switch's sets; 0 is the same in all.
        return [&sets, sw, first](std::uint32_t destination) {
            const std::uint16_t group = sets.of(sw, destination);
            return static_cast<std::uint16_t>(group == 0 ? 0 : first + group - 1);
        };
    };
    const auto beside = add(ways.beside);
    const auto instead = add(ways.instead);
    for (std::uint8_t port = 0; port < ports; ++port) {
        table.set_private(port, static_cast<std::uint8_t>(ways.origin(sw, port)));
    }
    graph.for_each_lid([&](const routing::Target& target, Lid lid) {
        const std::uint16_t near = tables.groups.of(sw, target.at);
        const std::uint16_t other = instead(target.at);
        table.set(static_cast<std::uint8_t>(routing::Origin::kHost), lid, near, beside(target.at));
        table.set(static_cast<std::uint8_t>(routing::Origin::kNear), lid, other != 0 ? other : near,
                  0);
    });
}

}  // namespace

void write_adaptive_switch(Plant& plant, std::uint32_t node, const routing::Graph& graph,
                           const routing::Tables& tables, std::uint32_t sw) {
    sw::AdaptiveTable table;
    for (std::uint16_t group = 1; group < tables.groups.count(sw); ++group) {
        table.add_group(tables.groups.ports(sw, group));
    }
    graph.for_each_lid([&](const routing::Target& target, Lid lid) {
        table.set(lid, tables.groups.of(sw, target.at));
    });
    if (!tables.long_ways.empty()) {
        add_long_ways(table, plant.ports_of(node), graph, tables, sw);
    }
    plant.set_adaptive(node, std::move(table));
}

void write_adaptive_routes(Plant& plant, const routing::Graph& graph,
                           const routing::Tables& tables) {
    std::uint32_t sw = 0;
    for (std::uint32_t node = 0; node < plant.node_count(); ++node) {
        if (plant.is_switch(node)) {
            write_adaptive_switch(plant, node, graph, tables, sw++);
        }
    }
}

void clear_routes(Plant& plant) {
    for (std::uint32_t node = 0; node < plant.node_count(); ++node) {
        if (!plant.is_switch(node)) {
            continue;
        }
        for (std::uint32_t lid = 1; lid < plant.lid_count(); ++lid) {
            plant.set_route(node, Lid{static_cast<std::uint16_t>(lid)}, kNoPath);
        }
        if (!plant.adaptive(node).empty()) {
            plant.set_adaptive(node, {});
        }
    }
}

}  // namespace softib::net
