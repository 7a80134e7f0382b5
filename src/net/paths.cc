// SPDX-License-Identifier: BSD-2-Clause
#include "net/paths.h"

namespace softib::net {

Paths::Paths(const Routed& routed) : routed_(routed) {
    std::uint32_t switches = 0;
    for (const topo::Node& node : routed.topology.nodes) {
        switch_of_.push_back(node.kind == topo::NodeKind::kSwitch ? switches++ : kNone);
    }
}

std::vector<Hop> Paths::find(std::uint32_t from_node, std::uint32_t to_node) const {
    const std::vector<topo::Node>& nodes = routed_.topology.nodes;
    std::uint32_t node = from_node;
    std::uint8_t port = 1;
    std::vector<Hop> hops;
    while (node != to_node) {
        // Tables may lead in a circle.
        if (port == 0 || port >= nodes[node].ports.size() || hops.size() > nodes.size() ||
            nodes[node].ports[port].peer == topo::kNoNode) {
            return {};
        }
        hops.push_back({node, port});
        node = nodes[node].ports[port].peer.value;
        port = switch_of_[node] == kNone
                   ? kNoPath
                   : routed_.tables.lfts.at(switch_of_[node], routed_.lids[to_node]);
    }
    return hops;
}

}  // namespace softib::net
