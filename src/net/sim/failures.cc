// SPDX-License-Identifier: BSD-2-Clause
#include "net/sim/failures.h"

#include <algorithm>
#include <utility>

#include "core/base/prng.h"
#include "core/topo/subnets.h"

namespace softib::net {

namespace {

void unplug(topo::Fabric& fabric, std::uint32_t node, std::size_t port) {
    const topo::PortLink link = fabric.nodes[node].ports[port];
    if (link.peer != topo::kNoNode) {
        fabric.nodes[node].ports[port] = {};
        fabric.nodes[link.peer.value].ports[link.peer_port.value] = {};
    }
}

}  // namespace

void take_out(topo::Fabric& fabric, const Hop& what) {
    if (what.port != 0) {
        unplug(fabric, what.node, what.port);
        return;
    }
    for (std::size_t port = 1; port < fabric.nodes[what.node].ports.size(); ++port) {
        unplug(fabric, what.node, port);
    }
}

std::vector<Hop> cables_between_switches(const topo::Fabric& fabric) {
    std::vector<Hop> cables;
    const auto is_switch = [&](std::uint32_t node) {
        return fabric.nodes[node].kind == topo::NodeKind::kSwitch;
    };
    for (std::uint32_t node = 0; node < fabric.nodes.size(); ++node) {
        for (std::size_t port = 1; is_switch(node) && port < fabric.nodes[node].ports.size();
             ++port) {
            const topo::PortLink& link = fabric.nodes[node].ports[port];
            if (link.peer != topo::kNoNode && link.peer.value > node &&
                is_switch(link.peer.value)) {
                cables.push_back({node, static_cast<std::uint8_t>(port)});
            }
        }
    }
    return cables;
}

std::vector<Hop> inner_cables(const topo::Fabric& fabric) {
    std::vector<Hop> cables = cables_between_switches(fabric);
    for (const std::vector<topo::NodeIndex>& legs : topo::find_routers(fabric)) {
        for (const topo::NodeIndex leg : legs) {
            if (fabric.node(leg).ports[1].peer != topo::kNoNode) {
                cables.push_back({leg.value, 1});
            }
        }
    }
    return cables;
}

std::vector<Hop> draw_cables(const topo::Fabric& fabric, std::uint32_t count, std::uint64_t seed) {
    std::vector<Hop> cables = inner_cables(fabric);
    Prng prng(seed);
    const std::size_t wanted = std::min<std::size_t>(count, cables.size());
    for (std::size_t i = 0; i < wanted; ++i) {
        std::swap(cables[i], cables[i + prng.below(cables.size() - i)]);
    }
    cables.resize(wanted);
    return cables;
}

}  // namespace softib::net
