// SPDX-License-Identifier: BSD-2-Clause
#include "net/sim/paths.h"

namespace softib::net {

Paths::Paths(const Routed& routed) : routed_(routed) {
    std::vector<std::uint32_t> switches(routed.subnets());
    for (const topo::Node& node : routed.topology.nodes) {
        switch_of_.push_back(node.kind == topo::NodeKind::kSwitch ? switches[node.subnet.value]++
                                                                  : kNone);
    }
    if (routed.subnets() > 1) {
        routers_.emplace(
            routed.topology, routed.lids,
            Routers::Numbering{static_cast<std::uint32_t>(routed.topology.nodes.size()),
                               [](std::uint32_t node) { return node; }},
            kLevelsAcross);
    }
}

}  // namespace softib::net
