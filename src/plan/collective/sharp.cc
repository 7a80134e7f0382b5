// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/sharp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "net/latency.h"

namespace softib::plan {

namespace {

std::uint32_t trees_of_kind(const std::map<std::uint32_t, AggregationTree>& trees, SharpTree kind) {
    return static_cast<std::uint32_t>(std::ranges::count_if(
        trees, [kind](const auto& each) { return each.second.kind == kind; }));
}

const char* name_of_kind(SharpTree kind) {
    return kind == SharpTree::kLlt ? "low-latency" : "streaming";
}

}  // namespace

SharpLimits sharp_limits(topo::Generation generation) {
    switch (generation) {
        case topo::Generation::kEdr:
            return {.llt_trees = 63};
        case topo::Generation::kHdr:
            return {.llt_trees = 63, .sat_trees = 63, .sat_per_switch = true};
        case topo::Generation::kNdr:
        case topo::Generation::kXdr:
            return {.llt_trees = 511, .sat_trees = 511};
        default:
            return {};
    }
}

AggregationManager::AggregationManager(const net::Routed& routed, const SharpLimits& limits)
    : routed_(routed), limits_(limits) {
    const routing::Graph& graph = routed.graph;
    lid_of_switch_.resize(graph.switch_count());
    sats_of_switch_.resize(graph.switch_count());
    for (const routing::Target& target : graph.targets()) {
        if (target.is_switch()) {
            lid_of_switch_[target.at] = target.lid;
        }
    }
    for (const topo::Host& host : routed.topology.hosts) {
        for (const topo::NodeIndex hca : host.hcas) {
            const std::uint32_t target = graph.target_of(routed.lids[hca.value]);
            leaf_of_end_.push_back(target == routing::kNone ? routing::kNone
                                                            : graph.targets()[target].at);
        }
    }
}

std::uint32_t AggregationManager::levels_to(std::span<const std::uint32_t> leaves,
                                            std::uint32_t root) const {
    std::uint32_t most = 0;
    for (const std::uint32_t leaf : leaves) {
        std::uint32_t levels = 1;
        for (std::uint32_t at = leaf; at != root; ++levels) {
            const std::uint32_t link =
                routed_.graph.link_at(at, routed_.tables.lfts.at(at, lid_of_switch_[root]));
            if (link == routing::kNone || levels > routed_.graph.switch_count()) {
                return 0;
            }
            at = routed_.graph.links()[link].peer;
        }
        most = std::max(most, levels);
    }
    return most;
}

/// Follows the forwarding tables from each leaf to the root's LID, which they lead to.
AggregationTree AggregationManager::grow(std::span<const std::uint32_t> leaves, std::uint32_t root,
                                         SharpTree kind) const {
    std::map<std::uint32_t, TreeEdge> edges;
    std::set<std::uint32_t> switches{root};
    for (const std::uint32_t leaf : leaves) {
        for (std::uint32_t at = leaf; at != root && switches.insert(at).second;) {
            const std::uint32_t link =
                routed_.graph.link_at(at, routed_.tables.lfts.at(at, lid_of_switch_[root]));
            const routing::Link& way = routed_.graph.links()[link];
            edges[at] = {at, way.peer, way.port, way.peer_port};
            at = way.peer;
        }
    }
    AggregationTree tree{.kind = kind, .root = root, .levels = levels_to(leaves, root)};
    for (const auto& [child, edge] : edges) {
        tree.edges.push_back(edge);
    }
    tree.switches.assign(switches.begin(), switches.end());
    return tree;
}

bool AggregationManager::is_free(const AggregationTree& tree) const {
    if (tree.kind == SharpTree::kLlt) {
        return true;
    }
    if (limits_.sat_per_switch) {
        return std::ranges::all_of(tree.switches,
                                   [this](std::uint32_t sw) { return sats_of_switch_[sw] == 0; });
    }
    return std::ranges::all_of(tree.edges, [this](const TreeEdge& edge) {
        return !sats_of_port_.contains({edge.child, edge.port});
    });
}

void AggregationManager::count(const AggregationTree& tree, int by) {
    if (tree.kind == SharpTree::kLlt) {
        return;
    }
    for (const std::uint32_t sw : tree.switches) {
        sats_of_switch_[sw] += static_cast<std::uint32_t>(by);
    }
    for (const TreeEdge& edge : tree.edges) {
        if (by > 0) {
            sats_of_port_[{edge.child, edge.port}] = 1;
        } else {
            sats_of_port_.erase({edge.child, edge.port});
        }
    }
}

std::expected<std::uint32_t, std::string> AggregationManager::add(
    std::span<const std::uint32_t> ends, SharpTree kind) {
    const std::uint32_t most = kind == SharpTree::kLlt ? limits_.llt_trees : limits_.sat_trees;
    if (most == 0) {
        return std::unexpected(fmt::format("the switches have no {} trees", name_of_kind(kind)));
    }
    if (trees_of_kind(trees_, kind) >= most) {
        return std::unexpected(
            fmt::format("all {} {} trees of the subnet are taken", most, name_of_kind(kind)));
    }
    std::set<std::uint32_t> leaves;
    for (const std::uint32_t end : ends) {
        leaves.insert(leaf_of_end_[end]);
    }
    if (leaves.contains(routing::kNone)) {
        return std::unexpected("a member has no cable");
    }
    const std::vector<std::uint32_t> members(leaves.begin(), leaves.end());
    std::optional<AggregationTree> best;
    bool reached = false;
    for (std::uint32_t root = 0; root < routed_.graph.switch_count(); ++root) {
        const std::uint32_t levels = levels_to(members, root);
        reached = reached || levels != 0;
        if (levels == 0 || (best && levels >= best->levels)) {
            continue;
        }
        if (AggregationTree tree = grow(members, root, kind); is_free(tree)) {
            best = std::move(tree);
        }
    }
    if (!best) {
        return std::unexpected(
            !reached ? std::string("the routes do not join the members")
                     : fmt::format("every streaming tree of these members meets another at a {}, "
                                   "which has one at a time",
                                   limits_.sat_per_switch ? "switch" : "port"));
    }
    count(*best, 1);
    trees_[next_] = *std::move(best);
    return next_++;
}

void AggregationManager::remove(std::uint32_t tree) {
    count(trees_.at(tree), -1);
    trees_.erase(tree);
}

SharpTimes sharp_times(topo::Generation generation, double link_bytes_per_s) {
    constexpr double kMicrosecondPs = 1e6;
    return {.hop_us = static_cast<double>(net::switch_latency(generation)) / kMicrosecondPs,
            .hca_us = static_cast<double>(net::kAdapterLatency) / kMicrosecondPs,
            .link_bytes_per_s = link_bytes_per_s};
}

double llt_us(const SharpTimes& times, std::uint32_t levels, std::uint64_t bytes) {
    const double once = 2 * levels * (times.hop_us + times.cable_us + times.reduce_us) +
                        2 * times.hca_us + times.software_us;
    const double datagrams =
        std::max(std::ceil(static_cast<double>(bytes) / times.payload_bytes), 1.0);
    const double wire = times.payload_bytes / times.link_bytes_per_s * 1e6;
    return once + (datagrams - 1) * std::max(wire, once / times.outstanding);
}

double sat_us(const SharpTimes& times, std::uint32_t levels, std::uint64_t bytes) {
    const double lock = llt_us(times, levels, 1);
    const double through = 2 * levels * (times.hop_us + times.cable_us) + 2 * times.hca_us;
    const double stream =
        static_cast<double>(bytes) / (times.link_bytes_per_s * times.sat_efficiency) * 1e6;
    return lock + through + stream;
}

double sharp_us(const SharpTimes& times, std::uint32_t levels, std::uint64_t bytes) {
    return std::min(llt_us(times, levels, bytes), sat_us(times, levels, bytes));
}

}  // namespace softib::plan
