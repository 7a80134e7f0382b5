// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/packet/tables.h"

#include <algorithm>

#include "runtime/live/builder.h"

namespace softib::packet {

Tables::Tables(const live::Arena& arena, const topo::Fabric& fabric)
    : arena_(arena),
      hca_nodes_(arena.header->hcas),
      switch_nodes_(arena.header->switches),
      routes_(arena.header->switches) {
    const std::vector<live::NodeRef> places = live::place_nodes(fabric);
    for (std::uint32_t node = 0; node < places.size(); ++node) {
        if (places[node].kind == live::NodeRef::kHca) {
            hca_nodes_[places[node].index] = node;
        } else if (places[node].kind == live::NodeRef::kSwitch) {
            switch_nodes_[places[node].index] = node;
        }
    }
}

std::vector<std::uint32_t> Tables::hca_ports(const sim::Plant& plant) const {
    std::vector<std::uint32_t> ports;
    for (const std::uint32_t node : hca_nodes_) {
        ports.push_back(plant.port_of(node, 1));
    }
    return ports;
}

void Tables::set_state(sim::Engine& net, std::uint32_t port, live::PortState state) {
    if (!net.connected(port)) {
        return;
    }
    net.set_link(port, state != live::PortState::kDown);
    net.set_open(port, state == live::PortState::kActive);
}

void Tables::read_routes(sim::Engine& net, std::uint32_t sw) {
    std::vector<std::uint8_t>& known = routes_[sw];
    const std::uint32_t lids =
        std::min<std::uint32_t>(arena_.header->lid_max + 1, net.lid_count());
    known.resize(std::max<std::size_t>(known.size(), lids), sim::kNoPath);
    for (std::uint32_t lid = 1; lid < lids; ++lid) {
        const Lid dlid{static_cast<std::uint16_t>(lid)};
        const std::uint8_t port = arena_.lft(sw, dlid).load(std::memory_order_relaxed);
        if (port != known[lid]) {
            known[lid] = port;
            // A port that is not there leads nowhere.
            const bool exists = port < net.ports_of(switch_nodes_[sw]) &&
                                net.connected(net.port_of(switch_nodes_[sw], port));
            net.set_route(switch_nodes_[sw], dlid, exists ? port : sim::kNoPath);
        }
    }
}

void Tables::read_groups(sim::Engine& net, std::uint32_t sw) {
    const std::uint32_t top = std::min<std::uint32_t>(
        arena_.header->mft_top.load(std::memory_order_acquire), net.config().multicast_lids);
    for (std::uint32_t group = 0; group < top; ++group) {
        const Lid mlid{static_cast<std::uint16_t>(kLidMulticastMin.value + group)};
        std::array<std::uint64_t, 4> ports{};
        for (std::uint32_t word = 0; word < std::min(4U, arena_.header->mft_words); ++word) {
            ports[word] = arena_.mft_ports(sw, mlid, word);
        }
        net.set_multicast(switch_nodes_[sw], mlid, ports);
    }
}

void Tables::read(sim::Engine& net) {
    for (std::uint32_t sw = 0; sw < switch_nodes_.size(); ++sw) {
        const live::SwitchRecord& record = arena_.switches[sw];
        for (std::uint8_t port = 1; port < record.port_count; ++port) {
            set_state(net, net.port_of(switch_nodes_[sw], port),
                      arena_.switch_ports[record.port_first + port].state.load(
                          std::memory_order_relaxed));
        }
        read_routes(net, sw);
        read_groups(net, sw);
    }
    for (std::uint32_t hca = 0; hca < hca_nodes_.size(); ++hca) {
        set_state(net, net.port_of(hca_nodes_[hca], 1),
                  arena_.hcas[hca].state.load(std::memory_order_relaxed));
    }
}

}  // namespace softib::packet
