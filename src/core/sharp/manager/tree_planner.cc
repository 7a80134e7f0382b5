// SPDX-License-Identifier: BSD-2-Clause
#include "core/sharp/manager/tree_planner.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/routing/route_walk.h"

namespace softib::sharp {

namespace {

struct Candidate {
    std::uint32_t depth = 0;
    std::uint32_t switches = 0;
    std::uint64_t load = 0;
    std::uint32_t root = 0;

    auto rank() const { return std::tuple(depth, switches, load, root); }
};

/// Returns how good a switch would be as the root; std::nullopt if a member's leaf does not reach
/// it, or if a switch on the way cannot aggregate.
std::optional<Candidate> judge(const PlanInput& input, const routing::RouteWalk& walk,
                               std::uint32_t root, std::span<const std::uint32_t> leaves) {
    Candidate found{.root = root};
    std::vector<bool> seen(input.graph.switch_count(), false);
    for (const std::uint32_t leaf : leaves) {
        if (!walk.reaches(leaf)) {
            return std::nullopt;
        }
        found.depth = std::max(found.depth, walk.hops(leaf) + 1);
        for (std::uint32_t at = leaf; !seen[at]; at = walk.next(at)) {
            seen[at] = true;
            ++found.switches;
            if (!input.is_capable(input.graph.guid(at))) {
                return std::nullopt;
            }
            if (at == root) {
                break;
            }
            found.load += input.load(input.graph.guid(at), walk.out_port(at));
        }
    }
    return found;
}

/// Adds the switch and those between it and the root, parents first. Returns its number in the
/// plan.
std::uint32_t add_node(const PlanInput& input, const routing::RouteWalk& walk, std::uint32_t sw,
                       std::map<std::uint32_t, std::uint32_t>& index, TreePlan& plan) {
    if (const auto found = index.find(sw); found != index.end()) {
        return found->second;
    }
    TreePlan::Node node{.guid = input.graph.guid(sw)};
    if (!plan.nodes.empty()) {  // The root is added first.
        node.parent = add_node(input, walk, walk.next(sw), index, plan);
        node.port_to_parent = walk.out_port(sw);
        node.port_at_parent =
            input.graph.links()[input.graph.link_at(sw, node.port_to_parent)].peer_port;
    }
    for (const std::uint32_t target : input.graph.targets(sw)) {
        if (input.graph.targets()[target].is_switch()) {
            node.lid = input.graph.targets()[target].lid;
        }
    }
    const auto number = static_cast<std::uint32_t>(plan.nodes.size());
    plan.nodes.push_back(std::move(node));
    index[sw] = number;
    return number;
}

}  // namespace

std::optional<TreePlan> plan_tree(const PlanInput& input) {
    std::vector<std::uint32_t> leaf_of;
    for (const Lid lid : input.members) {
        const std::uint32_t target = input.graph.target_of(lid);
        if (target == routing::kNone || input.graph.targets()[target].is_switch()) {
            return std::nullopt;
        }
        leaf_of.push_back(input.graph.targets()[target].at);
    }
    std::vector<std::uint32_t> leaves = leaf_of;
    std::ranges::sort(leaves);
    leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());

    const routing::PortMap ports(input.graph);
    routing::RouteWalk walk(input.graph, input.lfts, ports);
    std::optional<Candidate> best;
    std::uint32_t best_target = 0;
    for (std::uint32_t i = 0; i < input.graph.targets().size(); ++i) {
        const routing::Target& target = input.graph.targets()[i];
        if (!target.is_switch() || !input.is_capable(input.graph.guid(target.at))) {
            continue;
        }
        walk.to(target, target.lid);
        const auto found = judge(input, walk, target.at, leaves);
        if (found && (!best || found->rank() < best->rank())) {
            best = found;
            best_target = i;
        }
    }
    if (!best) {
        return std::nullopt;
    }
    const routing::Target& root = input.graph.targets()[best_target];
    walk.to(root, root.lid);
    TreePlan plan;
    plan.depth = best->depth;
    std::map<std::uint32_t, std::uint32_t> index;
    add_node(input, walk, root.at, index, plan);
    for (std::uint32_t member = 0; member < input.members.size(); ++member) {
        const std::uint32_t node = add_node(input, walk, leaf_of[member], index, plan);
        const std::uint32_t target = input.graph.target_of(input.members[member]);
        plan.nodes[node].members.push_back({member, input.graph.targets()[target].port});
    }
    for (TreePlan::Node& node : plan.nodes) {
        std::ranges::sort(node.members, {}, [](const TreePlan::MemberPort& m) {
            return std::pair(m.port, m.member);
        });
    }
    return plan;
}

}  // namespace softib::sharp
