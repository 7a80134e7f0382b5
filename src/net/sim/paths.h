// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Follows the forwarding tables of a routed fabric from one HCA to another, over a router where
// they are in different subnets.

#include <cstdint>
#include <optional>
#include <vector>

#include "net/engine/routers.h"
#include "net/model.h"
#include "net/sim/fabric.h"

namespace softib::net {

class Paths {
  public:
    /// `routed`, with its forwarding tables, must outlive the Paths.
    explicit Paths(const Routed& routed);
    /// Returns the ports by which packets leave nodes on their way, that of the sending node first.
    /// Returns none if the tables lead elsewhere, or if no router leads there.
    std::vector<Hop> find(std::uint32_t from_node, std::uint32_t to_node) const;
    /// Calls visit(hop) for each port that find() would return. Returns false if there is no way;
    /// some ports may have been visited then.
    template <typename Visit>
    bool walk(std::uint32_t from_node, std::uint32_t to_node, Visit visit) const {
        if (!routers_ || !routers_->apart(from_node, to_node)) {
            return walk_in_subnet(from_node, to_node, visit);
        }
        const auto crossing = routers_->crossing(from_node, to_node);
        return crossing && walk_in_subnet(from_node, crossing->in, visit) &&
               walk_in_subnet(crossing->out, to_node, visit);
    }

  private:
    template <typename Visit>
    bool walk_in_subnet(std::uint32_t from_node, std::uint32_t to_node, Visit& visit) const {
        const std::vector<topo::Node>& nodes = routed_.topology.nodes;
        const routing::Lfts& lfts = routed_.tables_in(nodes[to_node].subnet).lfts;
        std::uint32_t node = from_node;
        std::uint8_t port = 1;
        for (std::size_t hops = 0; node != to_node; ++hops) {
            // Tables may lead in a circle.
            if (port == 0 || port >= nodes[node].ports.size() || hops > nodes.size() ||
                nodes[node].ports[port].peer == topo::kNoNode) {
                return false;
            }
            visit(Hop{node, port});
            node = nodes[node].ports[port].peer.value;
            port = switch_of_[node] == kNone ? kNoPath
                                             : lfts.at(switch_of_[node], routed_.lids[to_node]);
        }
        return true;
    }

    const Routed& routed_;
    std::vector<std::uint32_t> switch_of_;  ///< By node: its number among its subnet's switches.
    /// Set if there are several subnets; a port has the number of its node.
    std::optional<Routers> routers_;
};

}  // namespace softib::net
