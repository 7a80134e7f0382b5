// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/carrier/tables.h"

#include <algorithm>

#include "core/topo/trunk.h"
#include "runtime/daemon/builder.h"

namespace softib::carrier {

namespace {

constexpr std::uint32_t kDelayMaxNs = 4'000'000;
constexpr double kBlockBits = 512;
constexpr double kBlockPsMax = 4e9;

}  // namespace

Tables::Tables(const shm::Arena& arena, const topo::Fabric& fabric, double speed)
    : arena_(arena),
      lanes_(arena),
      hca_nodes_(arena.header->hcas),
      switch_nodes_(arena.header->switches),
      trunk_nodes_(topo::trunk_nodes(fabric)),
      routes_(arena.header->switches),
      speed_(speed) {
    const std::vector<shm::NodeRef> places = daemon::place_nodes(fabric);
    for (std::uint32_t node = 0; node < places.size(); ++node) {
        if (places[node].kind == shm::NodeRef::kHca) {
            hca_nodes_[places[node].index] = node;
        } else if (places[node].kind == shm::NodeRef::kSwitch) {
            switch_nodes_[places[node].index] = node;
        }
    }
}

std::vector<std::uint32_t> Tables::hca_ports(const net::Plant& plant) const {
    std::vector<std::uint32_t> ports;
    for (const std::uint32_t node : hca_nodes_) {
        ports.push_back(plant.port_of(node, 1));
    }
    return ports;
}

std::vector<std::uint32_t> Tables::trunk_ports(const net::Plant& plant) const {
    std::vector<std::uint32_t> ports;
    for (const topo::NodeIndex node : trunk_nodes_) {
        ports.push_back(plant.port_of(node.value, 1));
    }
    return ports;
}

std::vector<Watchers::Place> Tables::places(const net::Plant& plant) const {
    std::vector<Watchers::Place> places(plant.port_count());
    for (std::uint32_t hca = 0; hca < hca_nodes_.size(); ++hca) {
        places[plant.port_of(hca_nodes_[hca], 1)] = {false, hca};
    }
    for (std::uint32_t sw = 0; sw < switch_nodes_.size(); ++sw) {
        for (std::uint8_t port = 1; port < arena_.switches[sw].port_count; ++port) {
            places[plant.port_of(switch_nodes_[sw], port)] = {
                true, arena_.switches[sw].port_first + port};
        }
    }
    return places;
}

void Tables::set_state(net::Engine& net, std::uint32_t port, PortState state) {
    if (!net.plant().connected(port)) {
        return;
    }
    net.ports().set_link(port, state != PortState::kDown);
    if (state != PortState::kDown) {
        net.ports().follow_state(port, state);
    }
}

/// Sets errors, delay and speed of one direction of a link.
void Tables::set_link(net::Engine& net, std::uint32_t port, const shm::LinkFaults& faults) {
    if (!net.plant().connected(port)) {
        return;
    }
    const auto value = [](const std::atomic<std::uint32_t>& word) {
        return word.load(std::memory_order_relaxed);
    };
    net.ports().set_errors(
        port,
        {.lost_ppm = value(faults.lost_ppm), .broken_ppm = value(faults.broken_ppm), .seed = port});
    net.ports().set_delay(port, std::min(value(faults.delay_ns), kDelayMaxNs) *
                                    static_cast<std::uint32_t>(link::kPsPerNs));
    const std::uint32_t rate = value(faults.rate_mbps);
    const double block_ps =
        rate != 0 ? kBlockBits * 1e6 / rate : static_cast<double>(block_ps_[port]) / speed_;
    net.ports().set_speed(port, static_cast<std::uint32_t>(std::clamp(block_ps, 1.0, kBlockPsMax)));
}

void Tables::set_guard(net::Engine& net, std::uint32_t port, const shm::SwitchPortRecord& record) {
    const std::uint8_t enforcement = record.enforcement.load(std::memory_order_relaxed);
    guarded_.resize(net.plant().port_count());
    if (!net.plant().connected(port) || (enforcement == 0 && guarded_[port] == 0)) {
        return;
    }
    guarded_[port] = enforcement;
    net::Guard guard;
    guard.in = (enforcement & shm::kEnforceInbound) != 0;
    guard.out = (enforcement & shm::kEnforceOutbound) != 0;
    for (const auto& pkey : record.pkeys) {
        guard.pkeys.push_back(PKey{pkey.load(std::memory_order_relaxed)});
    }
    net.ports().set_guard(port, guard);
}

void Tables::read_routes(net::Engine& net, std::uint32_t sw) {
    std::vector<std::uint8_t>& known = routes_[sw];
    const std::uint32_t lids =
        std::min<std::uint32_t>(arena_.header->lid_max + 1, net.plant().lid_count());
    known.resize(std::max<std::size_t>(known.size(), lids), net::kNoPath);
    for (std::uint32_t lid = 1; lid < lids; ++lid) {
        const Lid dlid{static_cast<std::uint16_t>(lid)};
        const std::uint8_t port = arena_.lft(sw, dlid).load(std::memory_order_relaxed);
        if (port != known[lid]) {
            known[lid] = port;
            // A route to a port that does not exist or has no cable leads nowhere.
            const bool exists = port < net.plant().ports_of(switch_nodes_[sw]) &&
                                net.plant().connected(net.plant().port_of(switch_nodes_[sw], port));
            net.plant().set_route(switch_nodes_[sw], dlid, exists ? port : net::kNoPath);
        }
    }
}

void Tables::read_groups(net::Engine& net, std::uint32_t sw) {
    const std::uint32_t top =
        std::min<std::uint32_t>(arena_.header->mft_top.load(std::memory_order_acquire),
                                net.plant().config().multicast_lids);
    for (std::uint32_t group = 0; group < top; ++group) {
        const Lid mlid{static_cast<std::uint16_t>(kLidMulticastMin.value + group)};
        std::array<std::uint64_t, 4> ports{};
        for (std::uint32_t word = 0; word < std::min(4U, arena_.header->mft_words); ++word) {
            ports[word] = arena_.mft_ports(sw, mlid, word);
        }
        net.plant().set_multicast(switch_nodes_[sw], mlid, ports);
    }
}

void Tables::read(net::Engine& net, net::TransportHosts& hosts) {
    if (is_trunk_.empty()) {
        is_trunk_.resize(net.plant().port_count());
        for (const std::uint32_t port : trunk_ports(net.plant())) {
            is_trunk_[port] = 1;
        }
    }
    for (std::uint32_t port = static_cast<std::uint32_t>(block_ps_.size());
         port < net.plant().port_count(); ++port) {
        block_ps_.push_back(
            static_cast<std::uint32_t>(net.plant().transmit_time(port, link::kBlockBytes)));
    }
    for (std::uint32_t sw = 0; sw < switch_nodes_.size(); ++sw) {
        const shm::SwitchRecord& record = arena_.switches[sw];
        for (std::uint8_t port = 1; port < record.port_count; ++port) {
            const shm::SwitchPortRecord& switch_port =
                arena_.switch_ports[record.port_first + port];
            const std::uint32_t at = net.plant().port_of(switch_nodes_[sw], port);
            set_state(net, at, switch_port.state.load(std::memory_order_relaxed));
            set_link(net, at, switch_port.faults);
            set_guard(net, at, switch_port);
            lanes_.read_switch_port(net, switch_nodes_[sw], port, record.port_first + port);
            if (net.plant().connected(at)) {
                if (is_trunk_[net.plant().peer(at)] != 0) {
                    set_state(net, net.plant().peer(at),
                              switch_port.state.load(std::memory_order_relaxed));
                    set_link(net, net.plant().peer(at), switch_port.faults);
                }
                net.ports().set_tap(at, switch_port.taps.load(std::memory_order_relaxed) != 0);
            }
        }
        read_routes(net, sw);
        read_groups(net, sw);
        lanes_.read_adaptive(net, switch_nodes_[sw], sw);
    }
    for (std::uint32_t hca = 0; hca < hca_nodes_.size(); ++hca) {
        const shm::HcaRecord& record = arena_.hcas[hca];
        const std::uint32_t at = net.plant().port_of(hca_nodes_[hca], 1);
        set_state(net, at, record.state.load(std::memory_order_relaxed));
        set_link(net, at, record.faults);
        lanes_.read_hca(net, hca_nodes_[hca], hca);
        if (const auto control = lanes_.read_injection(hca)) {
            hosts.control_congestion(at, *control);
        }
        net.ports().set_tap(at, record.taps.load(std::memory_order_relaxed) != 0);
    }
}

}  // namespace softib::carrier
