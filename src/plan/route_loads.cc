// SPDX-License-Identifier: BSD-2-Clause
#include "plan/route_loads.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/topo/subnets.h"
#include "net/sim/paths.h"
#include "net/sim/routed.h"

namespace softib::plan {

namespace {

constexpr std::uint8_t kLanesOffered = 8;

/// Follows flows through the forwarding tables of a fabric, over routers too.
class Walker {
  public:
    explicit Walker(const net::Routed& routed) : routed_(routed), paths_(routed) {
        std::uint32_t ports = 0;
        for (const topo::Node& node : routed.topology.nodes) {
            first_.push_back(ports);
            ports += static_cast<std::uint32_t>(node.ports.size());
        }
        for (const topo::Host& host : routed.topology.hosts) {
            for (const topo::NodeIndex hca : host.hcas) {
                ends_.push_back(hca.value);
            }
        }
        flows_.resize(ports);
    }

    /// Calls visit(port number) for every port by which the flow leaves a node. Returns false if
    /// there is no path.
    bool walk(const Flow& flow, auto visit) const {
        return paths_.walk(ends_[flow.from], ends_[flow.to],
                           [&](const net::Hop& hop) { visit(first_[hop.node] + hop.port); });
    }
    RouteLoads count(std::span<const Flow> flows) {
        RouteLoads loads{.engine = routed_.engine_names()};
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
        for (const net::Hop& cable : net::inner_cables(fabric)) {
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
    net::Paths paths_;
    std::vector<std::uint32_t> first_;  ///< Number of each node's port 0.
    std::vector<std::uint32_t> ends_;   ///< Node of each end port.
    std::vector<std::uint32_t> flows_;  ///< Flows on each port.
};

Loss try_without(const topo::Fabric& fabric, const std::string& engine, std::span<const Flow> flows,
                 std::span<const net::Hop> lost) {
    topo::Fabric damaged = fabric;
    for (const net::Hop& what : lost) {
        net::take_out(damaged, what);
    }
    const auto loads = load_routes(damaged, engine, flows);
    return loads ? Loss{lost.front(), loads->mean_share, loads->unreachable}
                 : Loss{lost.front(), 0, static_cast<std::uint32_t>(flows.size())};
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
    std::vector<std::string> engines(topo::subnet_count(fabric), engine);
    std::vector<std::string> notes;
    const auto routed = net::Routed::repair(fabric, engines, kLanesOffered, false, notes);
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
        ranking.cables.push_back(try_without(fabric, engine, flows, {{cable}}));
    }
    for (std::uint32_t node = 0; node < fabric.nodes.size(); ++node) {
        if (fabric.nodes[node].kind == topo::NodeKind::kSwitch &&
            ranking.switches.size() < tries_max) {
            ranking.switches.push_back(try_without(fabric, engine, flows, {{{node, 0}}}));
        }
    }
    for (const std::vector<topo::NodeIndex>& legs : topo::find_routers(fabric)) {
        if (ranking.routers.size() == tries_max) {
            break;
        }
        std::vector<net::Hop> lost;
        for (const topo::NodeIndex leg : legs) {
            lost.push_back({leg.value, 0});
        }
        ranking.routers.push_back(try_without(fabric, engine, flows, lost));
    }
    ranking.cables_tried = ranking.cables.size();
    ranking.switches_tried = ranking.switches.size();
    put_worst_first(ranking.cables);
    put_worst_first(ranking.switches);
    put_worst_first(ranking.routers);
    return ranking;
}

}  // namespace softib::plan
