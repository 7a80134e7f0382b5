// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include "core/base/check.h"
#include "core/routing/graph.h"
#include "core/topo/graph.h"

namespace softib::routing {

namespace {

using topo::Fabric;
using topo::kNoNode;
using topo::Node;
using topo::NodeKind;
using topo::PortLink;

bool is_switch(const Node& node) {
    return node.kind == NodeKind::kSwitch;
}

std::uint32_t round_up(std::uint32_t value, std::uint32_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

void add_switches(const Fabric& fabric, SubnetId subnet, GraphBuilder& builder,
                  std::vector<std::uint32_t>& index) {
    for (std::size_t i = 0; i < fabric.nodes.size(); ++i) {
        if (is_switch(fabric.nodes[i]) && fabric.nodes[i].subnet == subnet) {
            index[i] = builder.add_switch(fabric.nodes[i].node_guid);
        }
    }
}

void add_cables(const Fabric& fabric, GraphBuilder& builder,
                const std::vector<std::uint32_t>& index) {
    for (std::size_t i = 0; i < fabric.nodes.size(); ++i) {
        if (index[i] == kNone) {
            continue;
        }
        const Node& node = fabric.nodes[i];
        for (std::size_t port = 1; port < node.ports.size(); ++port) {
            const PortLink& link = node.ports[port];
            // Each cable is added once, from the node with the lower index.
            if (link.peer != kNoNode && index[link.peer.value] != kNone && link.peer.value > i) {
                builder.add_cable(index[i], static_cast<std::uint8_t>(port), index[link.peer.value],
                                  link.peer_port.value);
            }
        }
    }
}

std::expected<Graph, Error> make_graph_of(const Fabric& fabric, std::span<const Lid> lids,
                                          std::uint8_t lmc, SubnetId subnet) {
    SOFTIB_CHECK(lids.size() == fabric.nodes.size());
    GraphBuilder builder;
    std::vector<std::uint32_t> index(fabric.nodes.size(), kNone);
    add_switches(fabric, subnet, builder, index);
    add_cables(fabric, builder, index);
    // Nodes of no host come last.
    const std::vector<topo::NodeIndex> hcas = topo::hcas_in_order(fabric);
    std::vector<std::uint32_t> order(fabric.nodes.size(), static_cast<std::uint32_t>(hcas.size()));
    for (std::uint32_t i = 0; i < hcas.size(); ++i) {
        order[hcas[i].value] = i;
    }
    for (std::size_t i = 0; i < fabric.nodes.size(); ++i) {
        const Node& node = fabric.nodes[i];
        if (index[i] != kNone) {
            builder.add_target({.guid = node.node_guid, .lid = lids[i], .at = index[i]});
            continue;
        }
        const PortLink link = node.ports.size() > 1 ? node.ports[1] : PortLink{};
        if (link.peer != kNoNode && index[link.peer.value] != kNone) {
            builder.add_target({.guid = topo::port_guid(node, PortNum{1}),
                                .lid = lids[i],
                                .lmc = lmc,
                                .port = link.peer_port.value,
                                .at = index[link.peer.value],
                                .order = order[i]});
        }
    }
    return builder.build();
}

}  // namespace

std::expected<Graph, Error> graph_of(const Fabric& fabric, std::span<const Lid> lids,
                                     std::uint8_t lmc) {
    return make_graph_of(fabric, lids, lmc, SubnetId{0});
}

std::expected<Graph, Error> graph_of(const Fabric& fabric, std::span<const Lid> lids,
                                     SubnetId subnet) {
    return make_graph_of(fabric, lids, 0, subnet);
}

std::expected<Graph, Error> graph_of(const Fabric& fabric, std::uint8_t lmc) {
    if (lmc > 7) {
        return std::unexpected(Error{fmt::format("LMC {}: take 0 to 7", lmc)});
    }
    const std::uint32_t per_hca = 1U << lmc;
    std::vector<Lid> lids(fabric.nodes.size());
    std::uint32_t next = per_hca;
    const auto give = [&](std::uint32_t count, auto wanted) {
        next = round_up(next, count);
        for (std::size_t i = 0; i < fabric.nodes.size(); ++i) {
            if (wanted(fabric.nodes[i])) {
                lids[i] = Lid{static_cast<std::uint16_t>(next)};
                next += count;
            }
        }
    };
    give(per_hca, [](const Node& node) { return node.kind == NodeKind::kHca; });
    give(1, is_switch);
    give(per_hca, [](const Node& node) { return node.kind != NodeKind::kHca && !is_switch(node); });
    if (next > kLidUnicastMax.value + 1U) {
        return std::unexpected(
            Error{fmt::format("{} nodes with LMC {} need more LIDs than the {} of a subnet: take a "
                              "smaller fabric or LMC",
                              fabric.nodes.size(), lmc, kLidUnicastMax.value)});
    }
    return graph_of(fabric, lids, lmc);
}

}  // namespace softib::routing
