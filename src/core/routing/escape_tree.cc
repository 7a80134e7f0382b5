// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/escape_tree.h"

#include <algorithm>

namespace softib::routing {

namespace {

/// Grows a spanning tree breadth first, but through switches with hosts only if there is no other
/// way. On a fat tree the paths to hosts then go up and down, and all turns from down to up are at
/// one leaf.
void grow_tree(const Graph& graph, std::uint32_t root, std::vector<bool>& seen, EscapeTree& tree) {
    std::vector<std::uint32_t> ready;
    std::vector<std::uint32_t> gateways;
    const auto join = [&](std::uint32_t sw) {
        seen[sw] = true;
        tree.top_down.push_back(sw);
        (graph.host_count(sw) == 0 ? ready : gateways).push_back(sw);
    };
    join(root);
    std::size_t next_ready = 0;
    std::size_t next_gateway = 0;
    while (next_ready < ready.size() || next_gateway < gateways.size()) {
        const std::uint32_t at =
            next_ready < ready.size() ? ready[next_ready++] : gateways[next_gateway++];
        for (std::uint32_t i = 0; i < graph.degree(at); ++i) {
            const std::uint32_t peer = graph.links(at)[i].peer;
            if (!seen[peer]) {
                tree.up[peer] = graph.reverse(graph.first_link(at) + i);
                join(peer);
            }
        }
    }
}

/// Returns the switch with the shortest paths to all hosts, out of a sample of switches.
std::uint32_t find_root(const Graph& graph, std::span<const std::uint32_t> destinations) {
    constexpr std::uint32_t kTried = 64;
    std::uint32_t best = destinations[0];
    std::uint64_t best_sum = UINT64_MAX;
    const std::uint32_t step = std::max(1U, graph.switch_count() / kTried);
    for (std::uint32_t root = 0; root < graph.switch_count(); root += step) {
        const auto hops = hops_from(graph, root);
        std::uint64_t sum = 0;
        for (const std::uint32_t to : destinations) {
            sum += std::uint64_t{std::min(hops[to], graph.switch_count())} *
                   (graph.host_count(to) + 1);
        }
        if (sum < best_sum) {
            best = root;
            best_sum = sum;
        }
    }
    return best;
}

}  // namespace

EscapeTree make_escape_tree(const Graph& graph, std::span<const std::uint32_t> destinations) {
    EscapeTree tree{std::vector<std::uint32_t>(graph.switch_count(), kNone), {}};
    std::vector<bool> seen(graph.switch_count());
    grow_tree(graph, find_root(graph, destinations), seen, tree);
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        if (!seen[sw]) {
            grow_tree(graph, sw, seen, tree);
        }
    }
    return tree;
}

}  // namespace softib::routing
