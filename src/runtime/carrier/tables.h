// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Copies routes, groups, port states and lanes from the arena, where the managers' writes arrive,
// to the network that packets run over.

#include <cstdint>
#include <vector>

#include "core/topo/fabric.h"
#include "net/engine.h"
#include "net/hosts/transport_hosts.h"
#include "runtime/carrier/lane_tables.h"
#include "runtime/carrier/watchers.h"
#include "runtime/shm/arena.h"

namespace softib::carrier {

class Tables {
  public:
    Tables(const live::Arena& arena, const topo::Fabric& fabric, double speed);

    /// Returns the network's port of each HCA, in the arena's order.
    std::vector<std::uint32_t> hca_ports(const net::Plant& plant) const;
    /// The same of trunks, in the fabric's order: their far ends.
    std::vector<std::uint32_t> trunk_ports(const net::Plant& plant) const;
    std::vector<Watchers::Place> places(const net::Plant& plant) const;
    std::uint32_t switch_node(std::uint32_t sw) const { return switch_nodes_[sw]; }
    std::uint32_t hca_node(std::uint32_t hca) const { return hca_nodes_[hca]; }

    /// Brings the network and the HCAs at its ends up to date with the arena.
    void read(net::Engine& net, net::TransportHosts& hosts);

  private:
    void read_routes(net::Engine& net, std::uint32_t sw);
    void read_groups(net::Engine& net, std::uint32_t sw);
    static void set_state(net::Engine& net, std::uint32_t port, PortState state);
    void set_link(net::Engine& net, std::uint32_t port, const live::LinkFaults& faults);
    void set_guard(net::Engine& net, std::uint32_t port, const live::SwitchPortRecord& record);

    const live::Arena& arena_;
    LaneTables lanes_;
    std::vector<std::uint32_t> hca_nodes_;     ///< By HCA of the arena: the fabric's node.
    std::vector<std::uint32_t> switch_nodes_;  ///< The same of switches.
    std::vector<topo::NodeIndex> trunk_nodes_;
    std::vector<std::uint8_t> is_trunk_;  ///< By port of the network; empty: not looked at yet.
    std::vector<std::vector<std::uint8_t>> routes_;  ///< As last read, by switch and LID.
    double speed_;                         ///< Speed of all links, as a part of their own.
    std::vector<std::uint32_t> block_ps_;  ///< By port of the network: as it was built,
    std::vector<std::uint8_t> guarded_;    ///< and whether it looks at partitions.
};

}  // namespace softib::carrier
