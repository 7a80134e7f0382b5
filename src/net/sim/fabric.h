// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A whole fabric in virtual time: its description, the routes of a routing engine, and the ends. It
// cannot be moved, because its network and its ends point to each other; several can exist side by
// side.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/routing/engine.h"
#include "core/topo/graph.h"
#include "net/engine/network.h"
#include "net/sim/failures.h"
#include "net/sim/routed.h"
#include "net/sim/routes.h"

namespace softib::net {

template <typename Ends>
class Fabric {
  public:
    template <typename... Arguments>
    Fabric(Routed routed, const PlantConfig& config, unsigned width, Arguments&&... arguments)
        : routed_(std::move(routed)),
          ends_(std::forward<Arguments>(arguments)...),
          net_(routed_.topology, config, ends_, width) {
        write_routes(net_.engine().plant(), routed_);
        for (const topo::Host& host : routed_.topology.hosts) {
            for (const topo::NodeIndex hca : host.hcas) {
                hosts_.push_back(hca.value);
            }
        }
    }
    Fabric(const Fabric&) = delete;
    Fabric& operator=(const Fabric&) = delete;

    const topo::Fabric& topology() const { return routed_.topology; }
    const routing::Graph& graph() const { return routed_.graph; }
    const routing::Tables& tables() const { return routed_.tables; }
    Network<Ends>& net() { return net_; }
    Engine& engine() { return net_.engine(); }
    const Engine& engine() const { return net_.engine(); }
    Ends& ends() { return ends_; }
    const Ends& ends() const { return ends_; }

    /// Lets switches choose among the ports that the engine found equally good. Returns false if it
    /// found none.
    bool use_adaptive_routing() {
        if (!routed_.has_choice()) {
            return false;
        }
        write_adaptive_routes(net_.engine().plant(), routed_);
        return true;
    }

    /// Removes a cable, or all cables of a node, from the description; the network keeps them.
    void take_out(const Hop& what) { net::take_out(routed_.topology, what); }
    /// Replaces the routes by new ones, which must be for the description as it is now.
    void change_routes(Routed routed) {
        routed_ = std::move(routed);
        clear_routes(net_.engine().plant());
        write_routes(net_.engine().plant(), routed_);
    }
    /// Drops the forwarding tables of the routes, which are large: the switches have them.
    void forget_forwarding() {
        routed_.tables.lfts = {};
        for (SubnetRoutes& subnet : routed_.further) {
            subnet.tables.lfts = {};
        }
    }

    // HCAs by number, in the order of hosts.
    std::uint32_t host_count() const { return static_cast<std::uint32_t>(hosts_.size()); }
    std::uint32_t node(std::uint32_t host) const { return hosts_[host]; }
    std::uint32_t port(std::uint32_t host) const {
        return net_.engine().plant().port_of(hosts_[host], 1);
    }
    Lid lid(std::uint32_t host) const { return routed_.lids[hosts_[host]]; }
    std::span<const Lid> lids() const { return routed_.lids; }
    std::uint32_t subnets() const { return routed_.subnets(); }
    /// Returns the service level from one HCA to another; 0 between subnets.
    std::uint8_t sl(std::uint32_t from, std::uint32_t to) const {
        const SubnetId subnet = routed_.topology.nodes[hosts_[from]].subnet;
        return subnet == routed_.topology.nodes[hosts_[to]].subnet
                   ? routed_.tables_in(subnet).sl(routed_.graph_in(subnet), lid(from), lid(to))
                   : std::uint8_t{0};
    }
    /// Returns the number of the node with this name, which must exist.
    std::uint32_t find(const std::string& name) const {
        const auto node = routed_.topology.find_node(name);
        SOFTIB_CHECK(node);
        return node->value;
    }

  private:
    Routed routed_;
    Ends ends_;
    Network<Ends> net_;
    std::vector<std::uint32_t> hosts_;
};

}  // namespace softib::net
