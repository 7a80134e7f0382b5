// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Follows forwarding tables from one HCA to another, over a router where they are in different
// subnets: walk_routes() is the rule, for whatever has tables. Paths has those of a routed fabric.

#include <concepts>
#include <cstdint>
#include <optional>
#include <vector>

#include "net/engine/routers.h"
#include "net/model.h"
#include "net/sim/routed.h"

namespace softib::net {

/// What has nodes, cables and forwarding tables.
template <typename View>
concept RouteView = requires(const View& view, std::uint32_t node, std::uint8_t port, Lid lid) {
    { view.node_count() } -> std::convertible_to<std::size_t>;
    // Returns the node behind the cable at a port; kNone if there is no such port or cable.
    { view.behind(node, port) } -> std::same_as<std::uint32_t>;
    // Returns the port by which a switch forwards to a LID; routing::kNoPath at another node.
    { view.route(node, lid) } -> std::same_as<std::uint8_t>;
    // Returns the LID of an HCA or of a router's port.
    { view.lid(node) } -> std::same_as<Lid>;
    // Returns the number that Routers has for an HCA or for a router's port, and the other way.
    { view.end_of(node) } -> std::same_as<std::uint32_t>;
    { view.node_of(node) } -> std::same_as<std::uint32_t>;
};

/// Calls visit(hop) for each port by which packets leave nodes on their way, that of the sending
/// node first. Returns false if the tables lead elsewhere; some ports may have been visited then.
template <RouteView View, typename Visit>
bool walk_in_subnet(const View& view, std::uint32_t from_node, std::uint32_t to_node,
                    Visit& visit) {
    std::uint32_t node = from_node;
    std::uint8_t port = 1;
    for (std::size_t hops = 0; node != to_node; ++hops) {
        const std::uint32_t next = view.behind(node, port);
        if (next == kNone || hops > view.node_count()) {
            return false;  // Tables may lead in a circle.
        }
        visit(Hop{node, port});
        node = next;
        port = view.route(node, view.lid(to_node));
    }
    return true;
}

/// Does the same between any two HCAs. `routers`: nullptr if there is one subnet. Returns false
/// also if no router leads there.
template <RouteView View, typename Visit>
bool walk_routes(const View& view, const Routers* routers, std::uint32_t from_node,
                 std::uint32_t to_node, Visit visit) {
    const std::uint32_t from = view.end_of(from_node);
    const std::uint32_t to = view.end_of(to_node);
    if (routers == nullptr || !routers->apart(from, to)) {
        return walk_in_subnet(view, from_node, to_node, visit);
    }
    const auto crossing = routers->crossing(from, to);
    return crossing && walk_in_subnet(view, from_node, view.node_of(crossing->in), visit) &&
           walk_in_subnet(view, view.node_of(crossing->out), to_node, visit);
}

/// Returns the ports that walk_routes() visits; none if there is no way.
template <RouteView View>
std::vector<Hop> find_path(const View& view, const Routers* routers, std::uint32_t from_node,
                           std::uint32_t to_node) {
    std::vector<Hop> hops;
    if (!walk_routes(view, routers, from_node, to_node,
                     [&](const Hop& hop) { hops.push_back(hop); })) {
        hops.clear();
    }
    return hops;
}

class Paths {
  public:
    /// `routed`, with its forwarding tables, must outlive the Paths.
    explicit Paths(const Routed& routed);
    std::vector<Hop> find(std::uint32_t from_node, std::uint32_t to_node) const {
        return find_path(*this, routers(), from_node, to_node);
    }
    template <typename Visit>
    bool walk(std::uint32_t from_node, std::uint32_t to_node, Visit visit) const {
        return walk_routes(*this, routers(), from_node, to_node, visit);
    }

    // As a RouteView. Routers number a port as its node.
    std::size_t node_count() const { return routed_.topology.nodes.size(); }
    std::uint32_t behind(std::uint32_t node, std::uint8_t port) const {
        const std::vector<topo::PortLink>& ports = routed_.topology.nodes[node].ports;
        return port == 0 || port >= ports.size() || ports[port].peer == topo::kNoNode
                   ? kNone
                   : ports[port].peer.value;
    }
    std::uint8_t route(std::uint32_t node, Lid lid) const {
        return switch_of_[node] == kNone ? routing::kNoPath
                                         : routed_.tables_in(routed_.topology.nodes[node].subnet)
                                               .lfts.at(switch_of_[node], lid);
    }
    Lid lid(std::uint32_t node) const { return routed_.lids[node]; }
    std::uint32_t end_of(std::uint32_t node) const { return node; }
    std::uint32_t node_of(std::uint32_t end) const { return end; }

  private:
    const Routers* routers() const { return routers_ ? &*routers_ : nullptr; }

    const Routed& routed_;
    std::vector<std::uint32_t> switch_of_;  ///< By node: its number among its subnet's switches.
    /// Set if there are several subnets; a port has the number of its node.
    std::optional<Routers> routers_;
};
static_assert(RouteView<Paths>);

}  // namespace softib::net
