// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/measures.h"

#include <algorithm>
#include <map>
#include <vector>

#include "core/topo/subnets.h"

namespace softib::topo {

namespace {

constexpr std::uint32_t kNowhere = UINT32_MAX;

/// The graph of the switches of a fabric and the routers between its subnets, numbered from 0. An
/// edge stands for all parallel cables.
struct SwitchGraph {
    struct Edge {
        std::uint32_t peer;
        std::uint64_t mbps;
    };

    explicit SwitchGraph(const Fabric& fabric) : number(fabric.nodes.size(), kNowhere) {
        for (std::size_t i = 0; i < fabric.nodes.size(); ++i) {
            if (fabric.nodes[i].kind == NodeKind::kSwitch) {
                number[i] = count++;
            }
        }
        for (const auto& legs : find_routers(fabric)) {
            for (const NodeIndex leg : legs) {
                number[leg.value] = count;
            }
            ++count;
        }
        edges.resize(count);
        for (const Node& node : fabric.nodes) {
            if (number[static_cast<std::size_t>(&node - fabric.nodes.data())] != kNowhere) {
                add_edges(fabric, node);
            }
        }
    }

    void add_edges(const Fabric& fabric, const Node& node) {
        std::map<std::uint32_t, std::uint64_t> peers;
        for (const PortLink& link : node.ports) {
            if (link.peer != kNoNode && number[link.peer.value] != kNowhere) {
                peers[number[link.peer.value]] += link_speed(link.generation, link.width).mbps;
            }
        }
        const auto self = static_cast<std::size_t>(&node - fabric.nodes.data());
        for (const auto& [peer, mbps] : peers) {
            if (peer != number[self]) {
                edges[number[self]].push_back({peer, mbps});
            }
        }
    }

    std::uint32_t count = 0;
    std::vector<std::uint32_t> number;     ///< By node.
    std::vector<std::vector<Edge>> edges;  ///< By switch.
};

/// Returns the number of the switch that an HCA is cabled to; kNowhere if it has no cable.
std::uint32_t switch_of(const Fabric& fabric, const SwitchGraph& graph, NodeIndex hca) {
    const NodeIndex peer = fabric.node(hca).ports[1].peer;
    return peer == kNoNode ? kNowhere : graph.number[peer.value];
}

/// The largest flow from one vertex to another, by Dinic's algorithm: fills the shortest paths that
/// have room until there are none.
class LargestFlow {
  public:
    explicit LargestFlow(std::uint32_t vertices) : arcs_of_(vertices) {}

    void add(std::uint32_t from, std::uint32_t to, std::uint64_t forth, std::uint64_t back) {
        arcs_of_[from].push_back(static_cast<std::uint32_t>(arcs_.size()));
        arcs_.push_back({to, forth});
        arcs_of_[to].push_back(static_cast<std::uint32_t>(arcs_.size()));
        arcs_.push_back({from, back});
    }

    std::uint64_t find(std::uint32_t from, std::uint32_t to) {
        std::uint64_t flow = 0;
        while (rank(from, to)) {
            next_.assign(arcs_of_.size(), 0);
            while (const std::uint64_t more = fill_one(from, to)) {
                flow += more;
            }
        }
        return flow;
    }

  private:
    struct Arc {
        std::uint32_t to;
        std::uint64_t room;
    };

    /// Computes the distances from the start over arcs with room. Returns false if no path to the
    /// end is left.
    bool rank(std::uint32_t from, std::uint32_t to) {
        rank_.assign(arcs_of_.size(), kNowhere);
        rank_[from] = 0;
        std::vector<std::uint32_t> queue{from};
        for (std::size_t head = 0; head < queue.size(); ++head) {
            for (const std::uint32_t arc : arcs_of_[queue[head]]) {
                const std::uint32_t next = arcs_[arc].to;
                if (arcs_[arc].room != 0 && rank_[next] == kNowhere) {
                    rank_[next] = rank_[queue[head]] + 1;
                    queue.push_back(next);
                }
            }
        }
        return rank_[to] != kNowhere;
    }

    /// Fills one path to the end, along increasing ranks. Returns the flow that it adds.
    std::uint64_t fill_one(std::uint32_t from, std::uint32_t to) {
        std::vector<std::uint32_t> way;
        std::uint32_t at = from;
        while (at != to) {
            if (next_[at] == arcs_of_[at].size()) {
                if (way.empty()) {
                    return 0;
                }
                at = arcs_[way.back() ^ 1U].to;
                way.pop_back();
                ++next_[at];
                continue;
            }
            const std::uint32_t arc = arcs_of_[at][next_[at]];
            if (arcs_[arc].room != 0 && rank_[arcs_[arc].to] == rank_[at] + 1) {
                way.push_back(arc);
                at = arcs_[arc].to;
            } else {
                ++next_[at];
            }
        }
        std::uint64_t room = UINT64_MAX;
        for (const std::uint32_t arc : way) {
            room = std::min(room, arcs_[arc].room);
        }
        for (const std::uint32_t arc : way) {
            arcs_[arc].room -= room;
            arcs_[arc ^ 1U].room += room;
        }
        return room;
    }

    std::vector<Arc> arcs_;  ///< An arc and its reverse are next to each other.
    std::vector<std::vector<std::uint32_t>> arcs_of_;
    std::vector<std::uint32_t> rank_;
    std::vector<std::uint32_t> next_;  ///< By vertex: the first of its arcs that is not used up.
};

/// Returns the greatest distance from the 64 switches that begin at `first` of `leaves` to any
/// switch with HCAs. The 64 searches run together, with a bit for each.
std::uint32_t farthest(const SwitchGraph& graph, const std::vector<std::uint32_t>& leaves,
                       std::size_t first) {
    std::vector<std::uint64_t> seen(graph.count);
    for (std::size_t i = first; i < std::min(leaves.size(), first + 64); ++i) {
        seen[leaves[i]] |= std::uint64_t{1} << (i - first);
    }
    std::vector<std::uint64_t> before = seen;
    std::uint32_t far = 0;
    for (std::uint32_t hops = 1;; ++hops) {
        bool changed = false;
        for (std::uint32_t sw = 0; sw < graph.count; ++sw) {
            for (const SwitchGraph::Edge& edge : graph.edges[sw]) {
                seen[sw] |= before[edge.peer];
            }
            changed = changed || seen[sw] != before[sw];
        }
        if (std::ranges::any_of(leaves, [&](std::uint32_t s) { return seen[s] != before[s]; })) {
            far = hops;
        }
        if (!changed) {
            return far;
        }
        before = seen;
    }
}

}  // namespace

std::uint32_t find_diameter(const Fabric& fabric) {
    const SwitchGraph graph(fabric);
    std::vector<std::uint32_t> leaves;
    for (std::size_t i = 0; i < fabric.nodes.size(); ++i) {
        if (fabric.nodes[i].kind == NodeKind::kHca) {
            const auto at = switch_of(fabric, graph, NodeIndex{static_cast<std::uint32_t>(i)});
            if (at != kNowhere) {
                leaves.push_back(at);
            }
        }
    }
    std::ranges::sort(leaves);
    leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
    std::uint32_t diameter = 0;
    for (std::size_t first = 0; first < leaves.size(); first += 64) {
        diameter = std::max(diameter, farthest(graph, leaves, first));
    }
    return diameter;
}

Bisection find_bisection(const Fabric& fabric) {
    const SwitchGraph graph(fabric);
    const std::uint32_t from = graph.count;
    const std::uint32_t to = graph.count + 1;
    LargestFlow flow(graph.count + 2);
    for (std::uint32_t sw = 0; sw < graph.count; ++sw) {
        for (const SwitchGraph::Edge& edge : graph.edges[sw]) {
            if (edge.peer > sw) {
                flow.add(sw, edge.peer, edge.mbps, edge.mbps);
            }
        }
    }
    Bisection result;
    const std::size_t half = fabric.hosts.size() / 2;
    for (std::size_t h = 0; h < fabric.hosts.size(); ++h) {
        const bool first = h < half;
        if (!first && h < fabric.hosts.size() - half) {
            continue;
        }
        for (const NodeIndex hca : fabric.hosts[h].hcas) {
            const std::uint32_t at = switch_of(fabric, graph, hca);
            if (at == kNowhere) {
                continue;
            }
            const PortLink& link = fabric.node(hca).ports[1];
            const std::uint64_t mbps = link_speed(link.generation, link.width).mbps;
            flow.add(first ? from : at, first ? at : to, mbps, 0);
            result.full_mbps += first ? mbps : 0;
        }
    }
    result.mbps = flow.find(from, to);
    return result;
}

}  // namespace softib::topo
