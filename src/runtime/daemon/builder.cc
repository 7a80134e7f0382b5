// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/builder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/check.h"

namespace softib::daemon {

namespace {

/// The place of each node of the fabric in the arena's tables, and the sizes of these.
struct Placement {
    std::vector<shm::NodeRef> by_node;
    shm::ArenaSizes sizes;
};

Placement place(const topo::Fabric& fabric) {
    Placement placement;
    placement.by_node.resize(fabric.nodes.size(), shm::NodeRef{shm::NodeRef::kNone, 0});
    shm::ArenaSizes& sizes = placement.sizes;
    sizes.ports_per_switch_max = 1;
    sizes.hosts = static_cast<std::uint32_t>(fabric.hosts.size());
    for (const topo::Host& host : fabric.hosts) {
        for (const topo::NodeIndex hca : host.hcas) {
            placement.by_node[hca.value] = shm::NodeRef{shm::NodeRef::kHca, sizes.hcas++};
        }
    }
    for (std::size_t i = 0; i < fabric.nodes.size(); ++i) {
        if (fabric.nodes[i].kind == topo::NodeKind::kSwitch) {
            placement.by_node[i] = shm::NodeRef{shm::NodeRef::kSwitch, sizes.switches++};
            const auto ports = static_cast<std::uint32_t>(fabric.nodes[i].ports.size());
            sizes.switch_ports += ports;
            sizes.ports_per_switch_max = std::max(sizes.ports_per_switch_max, ports);
        }
    }
    return placement;
}

bool names_fit(const topo::Fabric& fabric) {
    const auto fits = [](const std::string& name, std::size_t room) { return name.size() < room; };
    if (!fits(fabric.name, sizeof shm::ArenaHeader::fabric_name)) {
        return false;
    }
    for (const topo::Host& host : fabric.hosts) {
        if (!fits(host.name, sizeof shm::HostRecord::name) ||
            !std::ranges::all_of(host.device_names, [&](const std::string& name) {
                return fits(name, sizeof shm::HcaRecord::name);
            })) {
            return false;
        }
    }
    return std::ranges::all_of(fabric.nodes, [&](const topo::Node& node) {
        return node.kind != topo::NodeKind::kSwitch ||
               fits(node.name, sizeof shm::SwitchRecord::name);
    });
}

template <std::size_t kRoom>
void set_name(char (&record)[kRoom], const std::string& name) {
    SOFTIB_CHECK(name.size() < kRoom);
    std::memcpy(record, name.c_str(), name.size() + 1);
}

void write_hca(shm::HcaRecord& record, const topo::Node& node, const shm::NodeRef& peer) {
    const topo::PortLink& link = node.ports[1];
    record.node_guid = node.node_guid.value;
    record.system_image_guid = node.system_image_guid.value;
    record.port_guid = topo::port_guid(node, PortNum{1}).value;
    record.gid_prefix = kSubnetPrefixDefault;
    record.generation = static_cast<std::uint8_t>(link.generation);
    record.pkeys[0].store(kPKeyDefaultFull.value, std::memory_order_relaxed);
    record.peer_switch = peer.kind == shm::NodeRef::kSwitch ? peer.index : UINT32_MAX;
    record.peer_port = link.peer_port.value;
    record.state.store(PortState::kDown, std::memory_order_relaxed);
    record.mtu_code = hca::kMtuCodeMax;
}

void write_hosts(const shm::Arena& arena, const topo::Fabric& fabric, const Placement& placement) {
    std::uint32_t next_hca = 0;
    for (std::uint32_t h = 0; h < fabric.hosts.size(); ++h) {
        const topo::Host& host = fabric.hosts[h];
        shm::HostRecord& host_record = arena.hosts[h];
        set_name(host_record.name, host.name);
        host_record.hca_first = next_hca;
        host_record.hca_count = static_cast<std::uint32_t>(host.hcas.size());
        for (std::uint32_t i = 0; i < host.hcas.size(); ++i) {
            const topo::Node& node = fabric.node(host.hcas[i]);
            const topo::NodeIndex peer = node.ports[1].peer;
            shm::HcaRecord& record = arena.hcas[next_hca++];
            set_name(record.name, host.device_names[i]);
            record.host = h;
            record.index_on_host = i;
            write_hca(record, node,
                      peer == topo::kNoNode ? shm::NodeRef{} : placement.by_node[peer.value]);
        }
    }
}

void write_switches(const shm::Arena& arena, const topo::Fabric& fabric,
                    const Placement& placement) {
    std::uint32_t next_port = 0;
    for (std::size_t i = 0; i < fabric.nodes.size(); ++i) {
        const topo::Node& node = fabric.nodes[i];
        if (node.kind != topo::NodeKind::kSwitch) {
            continue;
        }
        const std::uint32_t index = placement.by_node[i].index;
        shm::SwitchRecord& record = arena.switches[index];
        set_name(record.name, node.name);
        record.node_guid = node.node_guid.value;
        record.port_first = next_port;
        record.port_count = static_cast<std::uint16_t>(node.ports.size());
        for (const topo::PortLink& link : node.ports) {
            shm::SwitchPortRecord& port = arena.switch_ports[next_port++];
            // A router has no place in the arena, since no program runs on it.
            port.peer =
                link.peer == topo::kNoNode ? shm::NodeRef{} : placement.by_node[link.peer.value];
            port.peer_port = link.peer_port.value;
            port.generation = static_cast<std::uint8_t>(link.generation);
            port.state.store(PortState::kDown, std::memory_order_relaxed);
        }
        // Port 0 is the switch's own management port, which has no cable and is always active.
        arena.switch_ports[record.port_first].state.store(PortState::kActive,
                                                          std::memory_order_relaxed);
    }
}

}  // namespace

std::vector<shm::NodeRef> place_nodes(const topo::Fabric& fabric) {
    return place(fabric).by_node;
}

shm::Arena build_arena(const topo::Fabric& fabric, const BuildOptions& options) {
    if (!names_fit(fabric)) {
        errno = ENAMETOOLONG;
        return shm::Arena{};
    }
    Placement placement = place(fabric);
    placement.sizes.arena_bytes = options.arena_bytes;
    placement.sizes.data_path = options.data_path;
    placement.sizes.link_layer =
        options.ethernet_ports.empty() ? hca::LinkLayer::kInfiniBand : hca::LinkLayer::kEthernet;
    shm::Arena arena = arena_create(fabric.name.c_str(), placement.sizes);
    if (arena.base == nullptr) {
        return arena;
    }
    write_hosts(arena, fabric, placement);
    for (std::size_t i = 0; i < options.ethernet_ports.size(); ++i) {
        const spec::EthernetPort& port = options.ethernet_ports[i];
        arena.hcas[i].ip_gid = port.gid;
        arena.hcas[i].mtu_code = port.mtu_code;
        arena.hcas[i].net_interface = port.net_interface;
        set_name(arena.hcas[i].net_name, port.net_name);
    }
    write_switches(arena, fabric, placement);
    return arena;
}

}  // namespace softib::daemon
