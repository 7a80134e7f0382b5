// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The functions that the renderers share. Internal to this folder.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/topo/graph.h"
#include "core/topo/topology.h"

namespace softib::topo {

inline bool is_grid(const Fabric& fabric) {
    return fabric.shape && topology_of(*fabric.shape).layout == Layout::kGrid;
}
inline bool is_grouped(const Fabric& fabric) {
    return fabric.shape && topology_of(*fabric.shape).layout == Layout::kGroups;
}
inline bool is_flat(const Fabric& fabric) {
    return is_grid(fabric) || is_grouped(fabric);
}

/// The parallel cables of one speed from a switch to one other switch.
struct SwitchPeer {
    NodeIndex peer;
    std::uint32_t cables = 0;
    Generation generation = Generation::kNdr;
    Width width = Width::k4x;
};

/// Returns the switches that a node is cabled to, in the order of its ports. A peer with cables of
/// different speeds occurs once for each speed.
inline std::vector<SwitchPeer> switch_peers(const Fabric& fabric, const Node& node) {
    std::vector<SwitchPeer> peers;
    for (const PortLink& link : node.ports) {
        if (link.peer == kNoNode || fabric.node(link.peer).kind != NodeKind::kSwitch) {
            continue;
        }
        const auto found = std::ranges::find_if(peers, [&](const SwitchPeer& peer) {
            return peer.peer == link.peer && peer.generation == link.generation &&
                   peer.width == link.width;
        });
        if (found != peers.end()) {
            ++found->cables;
        } else {
            peers.push_back({link.peer, 1, link.generation, link.width});
        }
    }
    return peers;
}

/// Returns the ports of a switch that have an HCA or a router at the other end.
inline std::vector<std::uint32_t> hca_ports(const Fabric& fabric, const Node& node) {
    std::vector<std::uint32_t> ports;
    for (std::uint32_t port = 1; port < node.ports.size(); ++port) {
        const NodeIndex peer = node.ports[port].peer;
        if (peer != kNoNode && fabric.node(peer).kind != NodeKind::kSwitch) {
            ports.push_back(port);
        }
    }
    return ports;
}

/// Returns "400 Gb/s NDR", for example; with the width if it is not 4x: "50 Gb/s 2x EDR".
inline std::string speed_text(Generation generation, Width width) {
    const LinkSpeed speed = link_speed(generation, width);
    const double gbps = speed.mbps / 1000.0;
    return width == Width::k4x ? fmt::format("{} Gb/s {}", gbps, speed.name)
                               : fmt::format("{} Gb/s {}x {}", gbps, lanes(width), speed.name);
}

inline std::string counted(std::size_t count, const char* one, const char* many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

/// Returns a line such as "4 hosts, 4 HCAs, 3 switches, 6 cables, 400 Gb/s NDR".
std::string summary(const Fabric& fabric);

}  // namespace softib::topo
