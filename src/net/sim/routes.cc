// SPDX-License-Identifier: BSD-2-Clause
#include "net/sim/routes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/routing/engine.h"
#include "core/topo/subnets.h"
#include "net/manage/adaptive_manager.h"
#include "net/sim/fabric.h"

namespace softib::net {

namespace {

/// Returns an error if the routes inside a subnet need service levels: between subnets, routers
/// need these (core/router/router.h).
std::expected<void, topo::Error> check_levels(const routing::Tables& tables) {
    if (tables.sls.uniform() && tables.sl_to_vl.empty()) {
        return {};
    }
    return std::unexpected(topo::Error{
        fmt::format("the routes of {} need service levels inside a subnet, and routers need them "
                    "between subnets: take engine ftree, updn or minhop, or one subnet",
                    tables.engine)});
}

/// The routing engine that routes any rest of a subnet without service levels.
constexpr char kOneLaneEngine[] = "updn";

/// A fabric that must be routed.
struct Ask {
    const topo::Fabric& topology;
    std::span<const Lid> lids;
    const routing::Options& options;
    std::uint32_t subnets = 1;
};

std::expected<SubnetRoutes, topo::Error> route_subnet(const Ask& ask, SubnetId subnet,
                                                      const std::string& engine) {
    const routing::Engine* chosen = routing::find_engine(engine);
    if (chosen == nullptr) {
        std::vector<std::string_view> names;
        for (const routing::Engine& each : routing::engines()) {
            names.push_back(each.name);
        }
        return std::unexpected(topo::Error{fmt::format(
            "there is no routing engine '{}': take one of {}", engine, fmt::join(names, ", "))});
    }
    auto graph = routing::graph_of(ask.topology, ask.lids, subnet);
    if (!graph) {
        return std::unexpected(topo::Error{graph.error().message});
    }
    auto tables = chosen->route(*graph, ask.options);
    if (!tables) {
        return std::unexpected(topo::Error{tables.error().message});
    }
    if (auto checked = check_levels(*tables); ask.subnets > 1 && !checked) {
        return std::unexpected(checked.error());
    }
    return SubnetRoutes{*std::move(graph), *std::move(tables)};
}

Routed put_together(topo::Fabric topology, std::vector<Lid> lids, std::vector<SubnetRoutes> all) {
    Routed routed{std::move(topology), std::move(lids), std::move(all.front().graph),
                  std::move(all.front().tables)};
    all.erase(all.begin());
    routed.further = std::move(all);
    return routed;
}

}  // namespace

std::expected<Routed, topo::Error> Routed::make(topo::Fabric topology, const std::string& engine,
                                                std::uint8_t data_vls, bool adaptive) {
    const routing::Options options{.data_vls = data_vls, .adaptive = adaptive};
    std::vector<Lid> lids = topo::number_lids(topology);
    std::vector<SubnetRoutes> all;
    const Ask ask{topology, lids, options, topo::subnet_count(topology)};
    for (std::uint16_t subnet = 0; subnet < ask.subnets; ++subnet) {
        auto routes = route_subnet(ask, SubnetId{subnet}, engine);
        if (!routes) {
            return std::unexpected(routes.error());
        }
        all.push_back(*std::move(routes));
    }
    return put_together(std::move(topology), std::move(lids), std::move(all));
}

std::expected<Routed, topo::Error> Routed::repair(const topo::Fabric& topology,
                                                  std::vector<std::string>& engines,
                                                  std::uint8_t data_vls, bool adaptive,
                                                  std::vector<std::string>& notes) {
    const routing::Options options{.data_vls = data_vls, .adaptive = adaptive};
    const routing::Options one_lane{.data_vls = 1, .adaptive = adaptive};
    std::vector<Lid> lids = topo::number_lids(topology);
    std::vector<SubnetRoutes> all;
    const Ask ask{topology, lids, options, topo::subnet_count(topology)};
    for (std::uint16_t subnet = 0; subnet < ask.subnets; ++subnet) {
        auto routes = route_subnet(ask, SubnetId{subnet}, engines[subnet]);
        const bool refused = !routes;
        if (refused && engines[subnet] != kAnyEngine) {
            routes = route_subnet(ask, SubnetId{subnet}, kAnyEngine);
        }
        if (!routes && ask.subnets > 1) {
            routes = route_subnet({topology, lids, one_lane, ask.subnets}, SubnetId{subnet},
                                  kOneLaneEngine);
        }
        if (!routes) {
            return std::unexpected(routes.error());
        }
        if (refused) {
            notes.push_back(fmt::format(
                "{} refuses the damaged {}; its routes are by {}", engines[subnet],
                ask.subnets == 1 ? std::string("fabric") : fmt::format("subnet {}", subnet),
                routes->tables.engine));
        }
        all.push_back(*std::move(routes));
    }
    for (std::size_t subnet = 0; subnet < all.size(); ++subnet) {
        engines[subnet] = all[subnet].tables.engine;
    }
    return put_together(topology, std::move(lids), std::move(all));
}

bool Routed::has_choice() const {
    return !tables.groups.empty() || std::ranges::any_of(further, [](const SubnetRoutes& subnet) {
        return !subnet.tables.groups.empty();
    });
}

std::string Routed::engine_names() const {
    std::vector<std::string> names{tables.engine};
    for (const SubnetRoutes& subnet : further) {
        if (std::ranges::find(names, subnet.tables.engine) == names.end()) {
            names.push_back(subnet.tables.engine);
        }
    }
    return fmt::format("{}", fmt::join(names, ", "));
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

void write_routes(Plant& plant, const Routed& routed) {
    std::vector<std::uint32_t> switches(routed.subnets());
    for (std::uint32_t node = 0; node < plant.node_count(); ++node) {
        const SubnetId subnet = routed.topology.nodes[node].subnet;
        const routing::Tables& tables = routed.tables_in(subnet);
        if (plant.is_switch(node)) {
            write_switch(plant, node, routed.graph_in(subnet), tables, switches[subnet.value]++);
        } else if (!tables.sl_to_vl.empty()) {
            plant.set_lanes(node, 0, 1, tables.sl_to_vl.host_row());
        }
    }
}

void write_adaptive_switch(Plant& plant, std::uint32_t node, const routing::Graph& graph,
                           const routing::Tables& tables, std::uint32_t sw) {
    if (!tables.long_ways.empty()) {
        manage_adaptive_switch(plant, node, graph, tables, sw);
        return;
    }
    sw::AdaptiveTable table;
    for (std::uint16_t group = 1; group < tables.groups.count(sw); ++group) {
        table.add_group(tables.groups.ports(sw, group));
    }
    graph.for_each_lid([&](const routing::Target& target, Lid lid) {
        table.set(lid, tables.groups.of(sw, target.at));
    });
    plant.set_adaptive(node, std::move(table));
}

void write_adaptive_routes(Plant& plant, const Routed& routed) {
    std::vector<std::uint32_t> switches(routed.subnets());
    for (std::uint32_t node = 0; node < plant.node_count(); ++node) {
        const SubnetId subnet = routed.topology.nodes[node].subnet;
        if (plant.is_switch(node) && !routed.tables_in(subnet).groups.empty()) {
            write_adaptive_switch(plant, node, routed.graph_in(subnet), routed.tables_in(subnet),
                                  switches[subnet.value]++);
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
