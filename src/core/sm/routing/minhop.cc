// SPDX-License-Identifier: BSD-2-Clause
// Min-hop routing: one breadth-first search per switch, then for every switch and LID the least
// used of the out ports on a shortest path. It balances load; it does not break the cyclic buffer
// dependencies of a torus or a dragonfly, which is another engine's task.
#include "core/sm/routing/minhop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "core/base/check.h"

namespace softib::sm {

namespace {

using topo::Fabric;
using topo::kNoNode;
using topo::Node;
using topo::NodeIndex;
using topo::NodeKind;

constexpr std::uint32_t kNoSwitch = UINT32_MAX;
constexpr std::uint16_t kUnreachable = UINT16_MAX;

struct SwitchPort {
    std::uint32_t peer;  ///< Rank of the switch at the other end.
    std::uint8_t port;
};

/// The switches alone, by rank (position among the switches in node order).
struct SwitchGraph {
    std::vector<NodeIndex> switches;             ///< Rank to node.
    std::vector<std::uint32_t> rank;             ///< Node to rank; kNoSwitch for HCAs and routers.
    std::vector<std::vector<SwitchPort>> ports;  ///< By rank: cables to switches, by port number.
};

/// Where a LID is attached: the switch itself, or the one at the other end of the HCA's cable.
struct Attachment {
    std::uint32_t rank = kNoSwitch;
    std::uint8_t port = 0;  ///< Out port on that switch; 0 for the switch itself.
};

SwitchGraph make_graph(const Fabric& fabric) {
    SwitchGraph graph;
    graph.rank.assign(fabric.nodes.size(), kNoSwitch);
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        if (fabric.nodes[i].kind == NodeKind::kSwitch) {
            graph.rank[i] = static_cast<std::uint32_t>(graph.switches.size());
            graph.switches.push_back(NodeIndex{i});
        }
    }
    graph.ports.resize(graph.switches.size());
    for (std::size_t r = 0; r < graph.switches.size(); ++r) {
        const Node& node = fabric.node(graph.switches[r]);
        for (std::size_t port = 1; port < node.ports.size(); ++port) {
            const NodeIndex peer = node.ports[port].peer;
            if (peer != kNoNode && graph.rank[peer.value] != kNoSwitch) {
                graph.ports[r].push_back({graph.rank[peer.value], static_cast<std::uint8_t>(port)});
            }
        }
    }
    return graph;
}

/// Hops between all switches, row by row.
std::vector<std::uint16_t> all_distances(const SwitchGraph& graph) {
    const std::size_t n = graph.switches.size();
    // Parallel cables add nothing to a distance; without them the searches stay short.
    std::vector<std::vector<std::uint32_t>> neighbours(n);
    std::vector<std::size_t> seen_by(n, SIZE_MAX);
    for (std::size_t r = 0; r < n; ++r) {
        for (const SwitchPort& port : graph.ports[r]) {
            if (seen_by[port.peer] != r) {
                seen_by[port.peer] = r;
                neighbours[r].push_back(port.peer);
            }
        }
    }
    std::vector<std::uint16_t> distances(n * n, kUnreachable);
    std::vector<std::uint32_t> queue(n);
    for (std::size_t source = 0; source < n; ++source) {
        const std::span<std::uint16_t> row = std::span(distances).subspan(source * n, n);
        row[source] = 0;
        queue[0] = static_cast<std::uint32_t>(source);
        std::size_t tail = 1;
        for (std::size_t head = 0; head < tail; ++head) {
            const std::uint32_t at = queue[head];
            for (const std::uint32_t next : neighbours[at]) {
                if (row[next] == kUnreachable) {
                    row[next] = static_cast<std::uint16_t>(row[at] + 1);
                    queue[tail++] = next;
                }
            }
        }
    }
    return distances;
}

std::vector<Attachment> attach_lids(const Fabric& fabric, const SwitchGraph& graph,
                                    const Routes& routes) {
    std::vector<Attachment> attachments(routes.lid_max.value + std::size_t{1});
    for (std::size_t i = 0; i < fabric.nodes.size(); ++i) {
        const Node& node = fabric.nodes[i];
        Attachment& attachment = attachments[routes.lids[i].value];
        if (node.kind == NodeKind::kSwitch) {
            attachment.rank = graph.rank[i];
        } else if (node.ports.size() > 1 && node.ports[1].peer != kNoNode) {
            attachment.rank = graph.rank[node.ports[1].peer.value];
            attachment.port = node.ports[1].peer_port.value;
        }
    }
    return attachments;
}

/// The out ports of one switch that lie on a shortest path, for every destination switch.
class NextHops {
  public:
    NextHops(const SwitchGraph& graph, std::span<const std::uint16_t> distances)
        : graph_(graph), distances_(distances), counts_(graph.switches.size()) {}

    void point_at(std::size_t rank) {
        const std::size_t n = counts_.size();
        const std::vector<SwitchPort>& ports = graph_.ports[rank];
        stride_ = ports.size();
        candidates_.resize(n * stride_);
        counts_.assign(n, 0);
        const auto own = distances_.subspan(rank * n, n);
        for (const SwitchPort& port : ports) {
            const auto theirs = distances_.subspan(port.peer * n, n);
            for (std::size_t to = 0; to < n; ++to) {
                // An unreachable switch is as far from the peer as from here: never a candidate.
                if (theirs[to] < own[to]) {
                    candidates_[to * stride_ + counts_[to]++] = port.port;
                }
            }
        }
    }

    std::span<const std::uint8_t> towards(std::uint32_t rank) const {
        return std::span(candidates_).subspan(rank * stride_, counts_[rank]);
    }

  private:
    const SwitchGraph& graph_;
    std::span<const std::uint16_t> distances_;
    std::vector<std::uint8_t> candidates_;  ///< Row per destination, `stride_` wide.
    std::vector<std::uint8_t> counts_;
    std::size_t stride_ = 0;
};

std::vector<std::uint8_t> fill_lft(std::uint32_t rank, const NextHops& hops,
                                   std::span<const Attachment> attachments) {
    std::vector<std::uint8_t> lft(attachments.size(), kLftNoPath);
    std::uint32_t uses[256] = {};
    for (std::size_t lid = 1; lid < attachments.size(); ++lid) {
        const Attachment& attachment = attachments[lid];
        if (attachment.rank == kNoSwitch) {
            continue;
        }
        if (attachment.rank == rank) {
            lft[lid] = attachment.port;
            continue;
        }
        std::uint8_t best = kLftNoPath;
        std::uint32_t best_uses = UINT32_MAX;
        for (const std::uint8_t port : hops.towards(attachment.rank)) {
            if (uses[port] < best_uses) {
                best = port;
                best_uses = uses[port];
            }
        }
        if (best != kLftNoPath) {
            ++uses[best];
            lft[lid] = best;
        }
    }
    return lft;
}

/// The LIDs that a dump of the fabric brought along, if every node has one of its own.
bool take_dumped_lids(const Fabric& fabric, Routes& routes) {
    std::vector<bool> taken(kLidUnicastMax.value + std::size_t{1});
    std::uint16_t lid_max = 0;
    for (const Node& node : fabric.nodes) {
        const std::uint16_t lid = node.lid.value;
        if (lid == 0 || lid > kLidUnicastMax.value || taken[lid]) {
            return false;
        }
        taken[lid] = true;
        lid_max = std::max(lid_max, lid);
    }
    for (std::size_t i = 0; i < fabric.nodes.size(); ++i) {
        routes.lids[i] = fabric.nodes[i].lid;
    }
    routes.lid_max = Lid{lid_max};
    return true;
}

std::expected<void, topo::Error> assign_lids(const Fabric& fabric, Routes& routes) {
    if (fabric.nodes.size() > kLidUnicastMax.value) {
        return std::unexpected(topo::Error{
            fmt::format("{} nodes need as many LIDs, a subnet has {}: take a smaller fabric",
                        fabric.nodes.size(), kLidUnicastMax.value)});
    }
    routes.lids.resize(fabric.nodes.size());
    if (take_dumped_lids(fabric, routes)) {
        return {};
    }
    std::uint16_t lid = 0;
    for (const NodeKind kind : {NodeKind::kHca, NodeKind::kSwitch, NodeKind::kRouter}) {
        for (std::size_t i = 0; i < fabric.nodes.size(); ++i) {
            if (fabric.nodes[i].kind == kind) {
                routes.lids[i] = Lid{++lid};
            }
        }
    }
    routes.lid_max = Lid{lid};
    return {};
}

}  // namespace

std::expected<Routes, topo::Error> route_minhop(const Fabric& fabric) {
    Routes routes;
    if (auto result = assign_lids(fabric, routes); !result) {
        return std::unexpected(result.error());
    }
    const SwitchGraph graph = make_graph(fabric);
    const std::vector<std::uint16_t> distances = all_distances(graph);
    const std::vector<Attachment> attachments = attach_lids(fabric, graph, routes);
    routes.lfts.resize(fabric.nodes.size());
    NextHops hops(graph, distances);
    for (std::uint32_t rank = 0; rank < graph.switches.size(); ++rank) {
        hops.point_at(rank);
        routes.lfts[graph.switches[rank].value] = fill_lft(rank, hops, attachments);
    }
    return routes;
}

}  // namespace softib::sm
