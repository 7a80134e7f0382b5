// SPDX-License-Identifier: BSD-2-Clause
#include "view/topology.h"

#include <algorithm>

namespace softib::view {

namespace {

void add_cables(const topo::Fabric& fabric, std::uint32_t index, Topology& topology) {
    const topo::Node& node = fabric.nodes[index];
    for (std::uint32_t port = 1; port < node.ports.size(); ++port) {
        const topo::PortLink& link = node.ports[port];
        if (link.peer == topo::kNoNode || link.peer.value < index ||
            (link.peer.value == index && link.peer_port.value < port)) {
            continue;
        }
        topology.cables.push_back(
            {.a = node.name,
             .a_port = port,
             .b = fabric.node(link.peer).name,
             .b_port = link.peer_port.value,
             .generation = std::string(topo::link_speed(link.generation).name),
             .lanes = topo::lanes(link.width)});
    }
}

/// Returns whether the levels of switches mean something: only in trees they are not all 0.
bool has_levels(const topo::Fabric& fabric) {
    return std::ranges::any_of(fabric.nodes,
                               [](const topo::Node& node) { return node.level != 0; });
}

}  // namespace

// The arena has HCAs in the order of their hosts, and switches in the order of the graph.
void take_lids(const shm::Arena& arena, topo::Fabric& graph) {
    std::uint32_t hca = 0;
    for (const topo::Host& host : graph.hosts) {
        for (const topo::NodeIndex index : host.hcas) {
            if (hca < arena.header->hcas) {
                graph.nodes[index.value].lid = Lid{arena.hcas[hca++].lid.load()};
            }
        }
    }
    std::uint32_t sw = 0;
    for (topo::Node& node : graph.nodes) {
        if (node.kind == topo::NodeKind::kSwitch && sw < arena.header->switches) {
            node.lid = Lid{arena.switches[sw++].lid};
        }
    }
}

Topology topology_of(const topo::Fabric& fabric) {
    Topology topology{.name = fabric.name, .nodes = {}, .cables = {}};
    const bool levels = has_levels(fabric);
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        const topo::Node& node = fabric.nodes[i];
        const bool is_switch = node.kind == topo::NodeKind::kSwitch;
        topology.nodes.push_back(
            {.name = node.name,
             .kind = node.kind,
             .guid = node.node_guid,
             .ports = static_cast<std::uint32_t>(node.ports.size() - 1),
             .lid = node.lid,
             .level = levels && is_switch ? std::optional(node.level) : std::nullopt,
             .coordinates = node.coordinates});
        add_cables(fabric, i, topology);
    }
    return topology;
}

}  // namespace softib::view
