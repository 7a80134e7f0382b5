// SPDX-License-Identifier: BSD-2-Clause
#include "core/agent/from_fabric.h"

#include <utility>

#include "core/base/check.h"

namespace softib::agent {

namespace {

// The OUI of our GUIDs, a locally administered one, so that no tool takes our nodes for hardware.
constexpr std::uint32_t kVendorId = 0x0250F7;
constexpr std::uint16_t kHcaDevice = 0x0001;
constexpr std::uint16_t kSwitchDevice = 0x0002;
constexpr std::uint32_t kRevision = 1;

PortSpec port_spec(const topo::Node& node, std::uint8_t number) {
    const topo::PortLink& link = node.ports[number == 0 && node.ports.size() > 1 ? 1 : number];
    const topo::GenerationRow& row = topo::row_of(link.generation);
    PortSpec port;
    port.guid = topo::port_guid(node, PortNum{number});
    port.width = static_cast<std::uint8_t>(link.width);
    port.width_supported = static_cast<std::uint8_t>(wire::link_width::k1x | port.width);
    port.speed = row.speed;
    port.speed_ext = row.speed_ext;
    port.speed_ext2 = row.speed_ext2;
    port.speed_ext_supported =
        static_cast<std::uint8_t>(row.speed_ext == 0 ? 0 : row.speed_ext * 2 - 1);
    return port;
}

}  // namespace

NodeSpec node_spec(const topo::Fabric& fabric, const topo::Node& node) {
    const bool is_switch = node.kind == topo::NodeKind::kSwitch;
    NodeSpec spec;
    spec.type = static_cast<wire::NodeType>(node.kind);
    spec.node_guid = node.node_guid;
    spec.system_image_guid = node.system_image_guid;
    spec.description = topo::description_of(fabric, node);
    spec.vendor_id = node.vendor_id != 0 ? node.vendor_id : kVendorId;
    spec.device_id = node.device_id != 0 ? static_cast<std::uint16_t>(node.device_id)
                     : is_switch         ? kSwitchDevice
                                         : kHcaDevice;
    spec.revision = kRevision;
    spec.enhanced_port0 = node.enhanced_port_0;
    for (std::size_t port = 0; port < node.ports.size(); ++port) {
        spec.ports.push_back(port_spec(node, static_cast<std::uint8_t>(port)));
    }
    return spec;
}

Mesh make_mesh(const topo::Fabric& fabric, CounterSource& counters, bool private_tables) {
    Mesh mesh(counters);
    for (const topo::Node& node : fabric.nodes) {
        NodeSpec spec = node_spec(fabric, node);
        spec.private_tables = private_tables && node.kind == topo::NodeKind::kSwitch;
        mesh.add(std::move(spec));
    }
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        const topo::Node& node = fabric.nodes[i];
        for (std::size_t port = 1; port < node.ports.size(); ++port) {
            const topo::PortLink& link = node.ports[port];
            if (link.peer != topo::kNoNode &&
                std::pair(link.peer.value, std::size_t{link.peer_port.value}) >
                    std::pair(i, port)) {
                mesh.connect({i, static_cast<std::uint8_t>(port)},
                             {link.peer.value, link.peer_port.value});
            }
        }
    }
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        if (fabric.nodes[i].outside) {
            mesh.set_outside(i);
        }
    }
    return mesh;
}

}  // namespace softib::agent
