// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/sharp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "net/plant/latency.h"

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
        case topo::Generation::kGdr:  // No product is public: as XDR.
            return {.llt_trees = 511, .sat_trees = 511};
        default:
            return {};
    }
}

TreeBook::TreeBook(const net::Routed& routed, const SharpLimits& limits)
    : routed_(routed), limits_(limits) {
    for (const topo::Host& host : routed.topology.hosts) {
        for (const topo::NodeIndex hca : host.hcas) {
            lid_of_end_.push_back(routed.lids[hca.value]);
        }
    }
}

std::uint32_t TreeBook::switch_of(Lid lid) const {
    return routed_.graph.targets()[routed_.graph.target_of(lid)].at;
}

AggregationTree TreeBook::tree_of(const sharp::TreePlan& plan, SharpTree kind) const {
    AggregationTree tree{
        .kind = kind, .root = switch_of(plan.nodes.front().lid), .levels = plan.depth};
    for (const sharp::TreePlan::Node& node : plan.nodes) {
        const std::uint32_t sw = switch_of(node.lid);
        tree.switches.push_back(sw);
        if (node.parent != sharp::TreePlan::kRoot) {
            tree.edges.push_back({sw, switch_of(plan.nodes[node.parent].lid), node.port_to_parent,
                                  node.port_at_parent});
        }
    }
    std::ranges::sort(tree.switches);
    std::ranges::sort(tree.edges, {}, &TreeEdge::child);
    return tree;
}

bool TreeBook::has_taken_port(const AggregationTree& tree) const {
    return std::ranges::any_of(tree.edges, [this](const TreeEdge& edge) {
        return sats_of_port_.contains({routed_.graph.guid(edge.child), edge.port});
    });
}

void TreeBook::count(const AggregationTree& tree, int by) {
    if (tree.kind == SharpTree::kLlt) {
        return;
    }
    for (const std::uint32_t sw : tree.switches) {
        sats_of_switch_[routed_.graph.guid(sw)] += static_cast<std::uint32_t>(by);
    }
    for (const TreeEdge& edge : tree.edges) {
        const std::pair port(routed_.graph.guid(edge.child), edge.port);
        if (by > 0) {
            sats_of_port_[port] = 1;
        } else {
            sats_of_port_.erase(port);
        }
    }
}

std::expected<std::uint32_t, std::string> TreeBook::add(std::span<const std::uint32_t> ends,
                                                        SharpTree kind) {
    const std::uint32_t most = kind == SharpTree::kLlt ? limits_.llt_trees : limits_.sat_trees;
    if (most == 0) {
        return std::unexpected(fmt::format("the switches have no {} trees", name_of_kind(kind)));
    }
    if (trees_of_kind(trees_, kind) >= most) {
        return std::unexpected(
            fmt::format("all {} {} trees of the subnet are taken", most, name_of_kind(kind)));
    }
    std::vector<Lid> members;
    for (const std::uint32_t end : ends) {
        members.push_back(lid_of_end_[end]);
    }
    const bool streams = kind == SharpTree::kSat;
    const bool one_a_switch = streams && limits_.sat_per_switch;
    const auto plan_with = [&](const std::function<bool(Guid)>& is_capable) {
        return sharp::plan_tree({.graph = routed_.graph,
                                 .lfts = routed_.tables.lfts,
                                 .members = members,
                                 .is_capable = is_capable,
                                 .load = [&](Guid guid, std::uint8_t port) {
                                     return streams && sats_of_port_.contains({guid, port}) ? 1U
                                                                                            : 0U;
                                 }});
    };
    const auto plan = plan_with([&](Guid guid) {
        const auto found = sats_of_switch_.find(guid);
        return !one_a_switch || found == sats_of_switch_.end() || found->second == 0;
    });
    if (!plan && (!one_a_switch || !plan_with([](Guid) { return true; }))) {
        return std::unexpected("the routes do not join the members");
    }
    const AggregationTree tree = plan ? tree_of(*plan, kind) : AggregationTree{};
    if (!plan || (streams && !one_a_switch && has_taken_port(tree))) {
        return std::unexpected(
            fmt::format("every streaming tree of these members meets another at a {}, which has "
                        "one at a time",
                        limits_.sat_per_switch ? "switch" : "port"));
    }
    count(tree, 1);
    trees_[next_] = tree;
    return next_++;
}

void TreeBook::remove(std::uint32_t tree) {
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
