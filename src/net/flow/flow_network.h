// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The links of a fabric and the ways through them, as the flow model sees them. Links have the
// numbers that a Plant gives them: that of the port which they leave. Ways are followed through the
// forwarding tables when somebody asks, so that no table of pairs is kept.
//
// Between subnets a way goes over the router that packets of the two end ports take.
//
// With adaptive routing a flow is a tree of branches: each switch splits what comes in equally
// among the ports of its group for that destination (routing::PortGroups).

#include <cstdint>
#include <optional>
#include <vector>

#include "net/fabric.h"
#include "net/flow/units.h"
#include "net/plant.h"
#include "net/routers.h"

namespace softib::net::flow {

/// A link on the way of a flow, and how much of the flow it carries.
struct Hop {
    std::uint32_t link = 0;
    std::uint32_t share = 0;  ///< Of kWhole.

    friend bool operator==(const Hop&, const Hop&) = default;
};
inline constexpr std::uint32_t kWhole = 1U << 16;

/// What every HCA carries at most, as picoseconds for 64 bytes; 0: as much as its link.
struct EndLimits {
    std::uint32_t out_block_ps = 0;
    std::uint32_t in_block_ps = 0;
};

class FlowNetwork {
  public:
    /// `routed` must outlive it. Of `config` it takes the delays. `adaptive` has no effect where
    /// the routing engine found no groups. Routers take packets of `packet_bytes` whole before they
    /// send them on.
    FlowNetwork(const Routed& routed, const PlantConfig& config, bool adaptive = false,
                const EndLimits& limits = {}, std::uint32_t packet_bytes = 4096);

    /// End ports are numbered in the order of the fabric's hosts and of the HCAs of each.
    std::uint32_t end_count() const { return static_cast<std::uint32_t>(ends_.size()); }
    std::uint32_t link_count() const { return static_cast<std::uint32_t>(links_.size()); }
    /// 0: no cable is there.
    Rate capacity(std::uint32_t link) const { return links_[link].capacity; }
    /// The HCA of an end port, as the fabric numbers nodes.
    std::uint32_t node_of(std::uint32_t end) const { return ends_[end].node; }
    /// The link by which an end port sends.
    std::uint32_t link_of(std::uint32_t end) const { return ends_[end].link; }
    /// The link by which it receives.
    std::uint32_t link_to(std::uint32_t end) const { return ends_[end].link_in; }
    /// The switch of an end port, in the order of the fabric's nodes; kNone: it has no cable.
    std::uint32_t leaf_of(std::uint32_t end) const { return links_[ends_[end].link].to_switch; }
    /// Whether switches split flows. Ways between the same two leaves of a subnet then differ in
    /// the links of their end ports alone.
    bool adaptive() const { return adaptive_; }
    /// The link that leaves a port of a node, as the fabric numbers nodes.
    std::uint32_t link_of(std::uint32_t node, std::uint8_t port) const {
        return first_link_[node] + port;
    }

    /// Whether two end ports are in different subnets: their packets have a GRH.
    bool apart(std::uint32_t from, std::uint32_t to) const {
        return routers_ && routers_->apart(ends_[from].link, ends_[to].link);
    }

    /// Puts the way from one end port to another into `hops`, each link once. Returns how long a
    /// bit is under way on idle links, or nothing if the tables lead elsewhere.
    std::optional<TimePs> find_way(std::uint32_t from, std::uint32_t to,
                                   std::vector<Hop>& hops) const;

  private:
    struct LinkRecord {
        Rate capacity = 0;
        TimePs delay_ps = 0;              ///< Of the cable and what is behind it.
        std::uint32_t to_switch = kNone;  ///< As switches_; kNone: an end port or a router's.
        std::uint32_t to_node = kNone;
    };
    struct Switch {
        std::uint32_t node = 0;
        std::uint32_t number = 0;  ///< Among those of its subnet, as its routing engine counts.
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
    /// What has come to a switch, of kWhole.
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
    std::vector<std::uint32_t> first_link_;  ///< By node.
    std::vector<Switch> switches_;
    std::optional<Routers> routers_;        ///< Of several subnets.
    std::vector<std::uint32_t> legs_ = {};  ///< By link that leaves a router's port: its node.
    std::vector<LinkRecord> links_;
    std::vector<End> ends_;
};

}  // namespace softib::net::flow
