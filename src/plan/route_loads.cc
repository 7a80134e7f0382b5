// SPDX-License-Identifier: BSD-2-Clause
#include "plan/route_loads.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/topo/subnets.h"
#include "net/fabric.h"

namespace softib::plan {

namespace {

constexpr std::uint8_t kLanesOffered = 8;

/// Follows the forwarding tables of a fabric.
class Walker {
  public:
    explicit Walker(const net::Routed& routed) : routed_(routed) {
        std::uint32_t ports = 0;
        std::uint32_t switches = 0;
        for (const topo::Node& node : routed.topology.nodes) {
            first_.push_back(ports);
            ports += static_cast<std::uint32_t>(node.ports.size());
            switch_.push_back(node.kind == topo::NodeKind::kSwitch ? switches++ : net::kNone);
        }
        for (const topo::Host& host : routed.topology.hosts) {
            for (const topo::NodeIndex hca : host.hcas) {
                ends_.push_back(hca.value);
            }
        }
        flows_.resize(ports);
    }

    /// Calls visit(port number) for every port by which the flow leaves a node; false: there is no
    /// way.
    bool walk(const Flow& flow, auto visit) const {
        const std::uint32_t target = ends_[flow.to];
        std::uint32_t node = ends_[flow.from];
        std::size_t port = 1;
        for (std::size_t hops = 0; node != target; ++hops) {
            const auto& ports = routed_.topology.nodes[node].ports;
            if (hops > first_.size() || port == 0 || port >= ports.size() ||
                ports[port].peer == topo::kNoNode) {
                return false;
            }
            visit(first_[node] + port);
            node = ports[port].peer.value;
            if (switch_[node] == net::kNone) {
                return node == target;
            }
            port = routed_.tables.lfts.at(switch_[node], routed_.lids[target]);
        }
        return true;
    }
    RouteLoads count(std::span<const Flow> flows) {
        RouteLoads loads{.engine = routed_.tables.engine};
        for (const Flow& flow : flows) {
            if (walk(flow, [](std::size_t) {})) {
                walk(flow, [&](std::size_t port) { ++flows_[port]; });
            } else {
                ++loads.unreachable;
            }
        }
        for (const Flow& flow : flows) {
            std::uint32_t most = 1;
            if (walk(flow, [&](std::size_t port) { most = std::max(most, flows_[port]); })) {
                loads.mean_share += 1.0 / most / static_cast<double>(flows.size());
                loads.most_flows = std::max(loads.most_flows, most);
            }
        }
        loads.used = busy_ports();
        return loads;
    }

  private:
    std::vector<net::Hop> busy_ports() const {
        std::vector<std::pair<std::uint32_t, net::Hop>> used;
        const topo::Fabric& fabric = routed_.topology;
        for (const net::Hop& cable : net::cables_between_switches(fabric)) {
            const topo::PortLink& link = fabric.nodes[cable.node].ports[cable.port];
            const std::uint32_t flows =
                std::max(flows_[first_[cable.node] + cable.port],
                         flows_[first_[link.peer.value] + link.peer_port.value]);
            if (flows != 0) {
                used.emplace_back(flows, cable);
            }
        }
        std::ranges::stable_sort(used, std::greater<>(),
                                 [](const auto& each) { return each.first; });
        std::vector<net::Hop> ports;
        for (const auto& [flows, cable] : used) {
            ports.push_back(cable);
        }
        return ports;
    }

    const net::Routed& routed_;
    std::vector<std::uint32_t> first_;   ///< By node: the number of its port 0.
    std::vector<std::uint32_t> switch_;  ///< By node, as routing counts.
    std::vector<std::uint32_t> ends_;    ///< By end port: its node.
    std::vector<std::uint32_t> flows_;   ///< By port.
};

Loss try_without(const topo::Fabric& fabric, const std::string& engine, std::span<const Flow> flows,
                 const net::Hop& what) {
    topo::Fabric damaged = fabric;
    net::take_out(damaged, what);
    const auto loads = load_routes(damaged, engine, flows);
    return loads ? Loss{what, loads->mean_share, loads->unreachable}
                 : Loss{what, 0, static_cast<std::uint32_t>(flows.size())};
}

void put_worst_first(std::vector<Loss>& losses) {
    std::ranges::stable_sort(losses, {}, [](const Loss& loss) {
        return std::pair(loss.mean_share, UINT32_MAX - loss.unreachable);
    });
}

}  // namespace

std::expected<RouteLoads, std::string> load_routes(const topo::Fabric& fabric,
                                                   const std::string& engine,
                                                   std::span<const Flow> flows) {
    if (topo::subnet_count(fabric) > 1) {
        return std::unexpected("losses are ranked inside one subnet: leave out --subnets");
    }
    auto routed = net::Routed::make(fabric, engine, kLanesOffered);
    if (!routed && engine != "auto") {
        routed = net::Routed::make(fabric, "auto", kLanesOffered);
    }
    if (!routed) {
        return std::unexpected(routed.error().message);
    }
    return Walker(*routed).count(flows);
}

std::expected<Ranking, std::string> rank_losses(const topo::Fabric& fabric,
                                                const std::string& engine,
                                                std::span<const Flow> flows,
                                                std::size_t tries_max) {
    auto before = load_routes(fabric, engine, flows);
    if (!before) {
        return std::unexpected(before.error());
    }
    Ranking ranking{.before = *std::move(before)};
    for (const net::Hop& cable : ranking.before.used) {
        if (ranking.cables.size() == tries_max) {
            break;
        }
        ranking.cables.push_back(try_without(fabric, engine, flows, cable));
    }
    for (std::uint32_t node = 0; node < fabric.nodes.size(); ++node) {
        if (fabric.nodes[node].kind == topo::NodeKind::kSwitch &&
            ranking.switches.size() < tries_max) {
            ranking.switches.push_back(try_without(fabric, engine, flows, {node, 0}));
        }
    }
    ranking.cables_tried = ranking.cables.size();
    ranking.switches_tried = ranking.switches.size();
    put_worst_first(ranking.cables);
    put_worst_first(ranking.switches);
    return ranking;
}

}  // namespace softib::plan
