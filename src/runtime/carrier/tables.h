// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Copies routes, groups, port states and lanes from the arena, where the managers' writes arrive,
// to the network that packets run over.

#include <cstdint>
#include <vector>

#include "core/topo/graph.h"
#include "net/engine/engine.h"
#include "net/hosts/transport_hosts.h"
#include "runtime/carrier/lane_tables.h"
#include "runtime/carrier/watchers.h"
#include "runtime/shm/arena.h"

namespace softib::carrier {

class Tables {
  public:
    Tables(const shm::Arena& arena, const topo::Fabric& fabric, double speed);

    /// Returns the network's port of each HCA, in the arena's order.
    std::vector<std::uint32_t> hca_ports(const net::Plant& plant) const;
    /// Returns the network's port at the far end of each trunk, in the fabric's order.
    std::vector<std::uint32_t> trunk_ports(const net::Plant& plant) const;
    /// Returns where each port of the network is in the arena.
    std::vector<Watchers::Place> places(const net::Plant& plant) const;
    std::uint32_t switch_node(std::uint32_t sw) const { return switch_nodes_[sw]; }
    std::uint32_t hca_node(std::uint32_t hca) const { return hca_nodes_[hca]; }

    /// Brings the network and the HCAs at its ends up to date with the arena.
    void read(net::Engine& net, net::TransportHosts& hosts);

  private:
    void read_routes(net::Engine& net, std::uint32_t sw);
    void read_groups(net::Engine& net, std::uint32_t sw);
    static void set_state(net::Engine& net, std::uint32_t port, PortState state);
    void set_link(net::Engine& net, std::uint32_t port, const shm::LinkFaults& faults);
    void set_guard(net::Engine& net, std::uint32_t port, const shm::SwitchPortRecord& record);

    const shm::Arena& arena_;
    LaneTables lanes_;
    std::vector<std::uint32_t> hca_nodes_;      ///< The fabric's nodes, by HCA of the arena.
    std::vector<std::uint32_t> switch_nodes_;   ///< The fabric's nodes, by switch of the arena.
    std::vector<topo::NodeIndex> trunk_nodes_;  ///< The fabric's nodes at far ends of trunks.
    std::vector<std::uint8_t> is_trunk_;  ///< Far ends of trunks, by port; empty before read().
    std::vector<std::vector<std::uint8_t>> routes_;  ///< Routes as last read, by switch and LID.
    double speed_;  ///< Speed of all links, as a fraction of their nominal speed.
    std::vector<std::uint32_t> block_ps_;  ///< Nominal time of a block of 64 bytes, by port.
    std::vector<std::uint8_t> guarded_;    ///< Which P_Key checks a port makes, by port.
};

}  // namespace softib::carrier
