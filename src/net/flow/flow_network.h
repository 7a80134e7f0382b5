// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The links of a fabric and the ways through them, as the flow model sees them. Links have the
// numbers that a Plant gives them: that of the port which they leave. find_way() follows a way
// through the forwarding tables, so that no table of all pairs is kept.
//
// Between subnets a way goes over the router that packets of the two end ports take.
//
// With adaptive routing a flow is a tree of branches: each switch splits what comes in equally
// among the ports of its group for that destination (routing::PortGroups).

#include <cstdint>
#include <optional>
#include <vector>

#include "net/engine/routers.h"
#include "net/flow/units.h"
#include "net/plant/plant_config.h"
#include "net/sim/routed.h"

namespace softib::net::flow {

/// A link on the way of a flow, and how much of the flow it carries.
struct Hop {
    std::uint32_t link = 0;
    std::uint32_t share = 0;  ///< Part of the flow, out of kWhole.

    friend bool operator==(const Hop&, const Hop&) = default;
};
inline constexpr std::uint32_t kWhole = 1U << 16;

/// How fast every HCA sends and receives at most, as picoseconds for 64 bytes; 0: as fast as its
/// link.
struct EndLimits {
    std::uint32_t out_block_ps = 0;
    std::uint32_t in_block_ps = 0;
};

class FlowNetwork {
  public:
    /// `routed` must outlive the network. Only the delays of `config` are used. `adaptive` has no
    /// effect where the routing engine found no groups. Routers receive packets of `packet_bytes`
    /// whole before they send them on.
    FlowNetwork(const Routed& routed, const PlantConfig& config, bool adaptive = false,
                const EndLimits& limits = {}, std::uint32_t packet_bytes = 4096);

    /// End ports are numbered in the order of the fabric's hosts and of the HCAs of each.
    std::uint32_t end_count() const { return static_cast<std::uint32_t>(ends_.size()); }
    std::uint32_t link_count() const { return static_cast<std::uint32_t>(links_.size()); }
    /// Returns the rate that a link carries; 0 if there is no cable.
    Rate capacity(std::uint32_t link) const { return links_[link].capacity; }
    /// Returns the HCA of an end port, as the fabric numbers nodes.
    std::uint32_t node_of(std::uint32_t end) const { return ends_[end].node; }
    /// Returns the link by which an end port sends.
    std::uint32_t link_of(std::uint32_t end) const { return ends_[end].link; }
    /// Returns the link by which an end port receives.
    std::uint32_t link_to(std::uint32_t end) const { return ends_[end].link_in; }
    /// Returns the switch of an end port, counted in the order of the fabric's nodes; kNone if the
    /// end port has no cable.
    std::uint32_t leaf_of(std::uint32_t end) const { return links_[ends_[end].link].to_switch; }
    /// Returns whether switches split flows. If so, ways between the same two leaves of a subnet
    /// differ only in the links of their end ports.
    bool adaptive() const { return adaptive_; }
    /// Returns the link that leaves a port of a node, as the fabric numbers nodes.
    std::uint32_t link_of(std::uint32_t node, std::uint8_t port) const {
        return first_link_[node] + port;
    }

    /// Returns whether two end ports are in different subnets: then their packets have a GRH.
    bool apart(std::uint32_t from, std::uint32_t to) const {
        return routers_ && routers_->apart(ends_[from].link, ends_[to].link);
    }

    /// Puts the way from one end port to another into `hops`, each link once. Returns how long a
    /// bit is under way on idle links; std::nullopt if the tables lead elsewhere.
    std::optional<TimePs> find_way(std::uint32_t from, std::uint32_t to,
                                   std::vector<Hop>& hops) const;

  private:
    struct LinkRecord {
        Rate capacity = 0;
        TimePs delay_ps = 0;  ///< Delay of the cable and of the node behind it.
        /// Place in switches_; kNone: it leads to an HCA or router.
        std::uint32_t to_switch = kNone;
        std::uint32_t to_node = kNone;
    };
    struct Switch {
        std::uint32_t node = 0;
        std::uint32_t number = 0;  ///< Number in its subnet, as its routing engine counts.
    };
    struct End {
        std::uint32_t link = 0;
        std::uint32_t link_in = 0;
        std::uint32_t node = 0;
    };
    /// Where a way inside a subnet ends: an end port, or a router's port.
    struct Target {
        std::uint32_t node = 0;
        Lid lid;
        SubnetId subnet = {};
    };
    /// The part of a flow, out of kWhole, that has come to a switch.
    struct Arrived {
        std::uint32_t sw;
        std::uint32_t share;
    };

    void add_links(const topo::Fabric& fabric, const PlantConfig& config, const EndLimits& limits);
    Target target_at(std::uint32_t node) const {
        return {node, routed_.lids[node], routed_.topology.nodes[node].subnet};
    }
    std::optional<TimePs> follow(std::uint32_t link, const Target& to,
                                 std::vector<Hop>& hops) const;
    bool spread(std::uint32_t link, const Target& to, std::vector<Hop>& hops) const;
    void split(const Arrived& arrived, const Target& to, std::vector<Hop>& hops) const;

    const Routed& routed_;
    bool adaptive_;
    std::uint32_t packet_bytes_;
    std::vector<std::uint32_t> first_link_;  ///< By node: the link that leaves its port 0.
    std::vector<Switch> switches_;
    std::optional<Routers> routers_;        ///< Set if there are several subnets.
    std::vector<std::uint32_t> legs_ = {};  ///< By link that leaves a router's port: its node.
    std::vector<LinkRecord> links_;
    std::vector<End> ends_;
};

}  // namespace softib::net::flow
