// SPDX-License-Identifier: BSD-2-Clause
#include "plan/fabric_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace softib::plan {

namespace {

/// The place of a node in the picture.
struct Place {
    std::uint32_t tier = 0;
    std::uint32_t group = 0;
};

std::uint32_t tier_of(const topo::Node& node) {
    return node.kind == topo::NodeKind::kHca ? 0 : node.level + 1;
}

std::string tier_name(std::size_t tier, std::size_t tiers) {
    if (tier == 0) {
        return "NICs";
    }
    if (tiers == 2) {
        return "switches";
    }
    if (tier == 1) {
        return "leaf switches";
    }
    if (tier + 1 == tiers) {
        return tiers == 3 ? "spine switches" : "core switches";
    }
    return "aggregation switches";
}

/// Puts the nodes of each tier, in their order, into groups of about the same size.
std::vector<Place> place_nodes(const topo::Fabric& fabric, std::uint32_t groups_most,
                               std::vector<LoadTier>& tiers) {
    std::vector<std::vector<std::uint32_t>> members;
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        const std::uint32_t tier = tier_of(fabric.nodes[i]);
        members.resize(std::max<std::size_t>(members.size(), tier + 1));
        members[tier].push_back(i);
    }
    std::vector<Place> places(fabric.nodes.size());
    for (std::uint32_t tier = 0; tier < members.size(); ++tier) {
        const std::vector<std::uint32_t>& nodes = members[tier];
        const std::size_t groups = std::min<std::size_t>(groups_most, nodes.size());
        LoadTier& made = tiers.emplace_back();
        made.name = tier_name(tier, members.size());
        made.nodes = static_cast<std::uint32_t>(nodes.size());
        made.groups.resize(groups);
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const std::size_t group = i * groups / nodes.size();
            places[nodes[i]] = {tier, static_cast<std::uint32_t>(group)};
            LoadGroup& of = made.groups[group];
            const std::string& name = fabric.nodes[nodes[i]].name;
            const std::size_t first = of.name.find(" to ");
            of.name = of.nodes++ == 0 ? name : of.name.substr(0, first) + " to " + name;
        }
    }
    return places;
}

}  // namespace

FabricLoad fabric_load(const topo::Fabric& fabric, const std::vector<PortUse>& ports,
                       double seconds, std::uint32_t groups) {
    FabricLoad load;
    const std::vector<Place> places = place_nodes(fabric, groups, load.tiers);
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, LoadBundle>
        bundles;
    // Each cable is counted at both of its ends; a bundle has its directions until the end.
    for (const PortUse& use : ports) {
        Place lower = places[use.node];
        Place upper = places[fabric.nodes[use.node].ports[use.port].peer.value];
        if (std::tie(upper.tier, upper.group) < std::tie(lower.tier, lower.group)) {
            std::swap(lower, upper);
        }
        LoadBundle& bundle =
            bundles
                .try_emplace({lower.tier, lower.group, upper.tier, upper.group},
                             LoadBundle{lower.tier, lower.group, upper.tier, upper.group})
                .first->second;
        const double busy = seconds > 0 ? use.bytes / use.bytes_per_s / seconds : 0;
        ++bundle.cables;
        bundle.mean += busy;
        bundle.most = std::max(bundle.most, busy);
    }
    for (auto& [key, bundle] : bundles) {
        LoadTier& tier = load.tiers[bundle.tier];
        tier.cables += bundle.cables;
        tier.mean += bundle.mean;
        tier.most = std::max(tier.most, bundle.most);
        bundle.mean /= bundle.cables;
        bundle.cables /= 2;
        load.bundles.push_back(bundle);
    }
    for (LoadTier& tier : load.tiers) {
        tier.mean /= std::max(tier.cables, 1U);
        tier.cables /= 2;
    }
    return load;
}

}  // namespace softib::plan
