// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/groups.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/routing/union_find.h"

namespace softib::routing {

namespace {

struct WeighedEdge {
    std::uint32_t a, b;
    std::uint32_t common;  ///< Number of neighbours that both have.
};

std::vector<WeighedEdge> list_edges(const Graph& graph, const Neighbours& neighbours) {
    std::vector<WeighedEdge> edges;
    std::vector<std::uint32_t> mark(graph.switch_count(), kNone);
    for (std::uint32_t a = 0; a < graph.switch_count(); ++a) {
        for (const Neighbours::Neighbour& next : neighbours.of(a)) {
            mark[next.peer] = a;
        }
        for (const Neighbours::Neighbour& next : neighbours.of(a)) {
            if (a < next.peer) {
                const auto common = std::ranges::count_if(
                    neighbours.of(next.peer), [&](const auto& far) { return mark[far.peer] == a; });
                edges.push_back({a, next.peer, static_cast<std::uint32_t>(common)});
            }
        }
    }
    return edges;
}

/// Returns how badly switches fit a division into groups: the number of cables missing inside
/// groups plus the number of cables between groups. A dragonfly has cables between groups too, but
/// a better division has fewer misfits.
std::uint64_t misfits(std::uint32_t switches, const std::vector<WeighedEdge>& edges,
                      UnionFind& groups) {
    std::map<std::uint32_t, std::uint64_t> sizes;
    for (std::uint32_t sw = 0; sw < switches; ++sw) {
        ++sizes[groups.find(sw)];
    }
    std::uint64_t pairs_within = 0;
    for (const auto& [group, size] : sizes) {
        pairs_within += size * (size - 1) / 2;
    }
    const auto within =
        static_cast<std::uint64_t>(std::ranges::count_if(edges, [&](const WeighedEdge& edge) {
            return groups.find(edge.a) == groups.find(edge.b);
        }));
    return pairs_within - within + edges.size() - within;
}

}  // namespace

std::vector<std::uint32_t> find_groups(const Graph& graph, const Neighbours& neighbours) {
    const std::uint32_t count = graph.switch_count();
    const std::vector<WeighedEdge> edges = list_edges(graph, neighbours);
    std::set<std::uint32_t> limits;
    for (const WeighedEdge& edge : edges) {
        limits.insert(edge.common);
    }
    std::vector<std::uint32_t> best(count, 0);
    std::uint64_t best_misfits = UINT64_MAX;
    for (const std::uint32_t limit : limits) {
        UnionFind groups(count);
        for (const WeighedEdge& edge : edges) {
            if (edge.common >= limit) {
                groups.join(edge.a, edge.b);
            }
        }
        if (const std::uint64_t value = misfits(count, edges, groups); value < best_misfits) {
            best_misfits = value;
            for (std::uint32_t sw = 0; sw < count; ++sw) {
                best[sw] = groups.find(sw);
            }
        }
    }
    return best;
}

}  // namespace softib::routing
