// SPDX-License-Identifier: BSD-2-Clause
// Dragonfly+ (Shpiner et al., 2017): a group is a tree of two levels, with HCAs on the leaves, as
// many spines as leaves, and a cable from each leaf to each spine. The spines have the cables to
// other groups (groups.h has their order). By default the generator takes the balanced proportions:
// as many HCAs on a leaf as it has spines above it, and as many global cables at a spine as it has
// leaves below it.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/topo/builder.h"
#include "core/topo/generators.h"
#include "core/topo/groups.h"
#include "core/topo/spec.h"
#include "core/topo/topology.h"

namespace softib::topo {

namespace {

struct GroupsPlan {
    std::uint64_t groups = 0;
    std::uint64_t leaves = 0;  ///< The leaves of a group, which has as many spines.
    std::uint64_t hcas_per_leaf = 0;
    std::uint64_t cables_per_pair = 0;  ///< Global cables between two groups.
    std::uint32_t ports = 0;

    std::uint64_t switches() const { return groups * leaves * 2; }
    std::uint64_t capacity() const { return groups * leaves * hcas_per_leaf; }
};

/// Returns the fewest leaves per group of a balanced fabric. Such a fabric has at most
/// leaves * leaves + 1 groups.
std::uint64_t balanced_leaves(const Spec& spec, std::uint64_t hcas) {
    if (spec.radix != 0) {
        return std::max(spec.radix / 2, 1U);
    }
    std::uint64_t leaves = 1;
    const auto holds = [&] {
        const std::uint64_t per_leaf = spec.hosts_per_switch != 0 ? spec.hosts_per_switch : leaves;
        return leaves * per_leaf * (spec.groups != 0 ? spec.groups : leaves * leaves + 1);
    };
    while (holds() < hcas) {
        ++leaves;
    }
    return leaves;
}

GroupsPlan choose_size(const Spec& spec, std::uint64_t hcas) {
    GroupsPlan plan;
    plan.leaves =
        spec.switches_per_group != 0 ? spec.switches_per_group : balanced_leaves(spec, hcas);
    plan.groups = spec.groups;
    plan.hcas_per_leaf = spec.hosts_per_switch;
    if (plan.hcas_per_leaf == 0) {
        plan.hcas_per_leaf =
            plan.groups != 0 ? ceil_div(hcas, plan.groups * plan.leaves) : plan.leaves;
    }
    if (plan.groups == 0) {
        // At least two groups, since without global cables it would be a fat tree.
        plan.groups = std::max<std::uint64_t>(ceil_div(hcas, plan.leaves * plan.hcas_per_leaf), 2);
    }
    return plan;
}

std::expected<void, Error> choose_cables(const Spec& spec, GroupsPlan& plan) {
    const std::uint64_t ports_max = spec.radix != 0 ? spec.radix : kSwitchPortsMax;
    const std::uint64_t peers = plan.groups - 1;
    const std::uint64_t globals_min = ceil_div(peers, plan.leaves);
    const std::uint64_t leaf_ports = plan.hcas_per_leaf + plan.leaves;
    const std::uint64_t needed = std::max(leaf_ports, plan.leaves + globals_min);
    if (needed > ports_max) {
        return refuse(fmt::format(
            "this dragonfly-plus needs switches of {} ports (a leaf: {} HCAs and {} spines; a "
            "spine: {} leaves and {} to other groups) and they have {}: take {}fewer groups, "
            "fewer switches per group, or fewer HCAs per switch",
            needed, plan.hcas_per_leaf, plan.leaves, plan.leaves, globals_min, ports_max,
            needed <= kSwitchPortsMax ? "a larger radix, " : ""));
    }
    const std::uint64_t globals =
        spec.radix != 0 ? ports_max - plan.leaves
                        : std::min(std::max(plan.leaves, globals_min), ports_max - plan.leaves);
    plan.cables_per_pair = peers == 0 ? 0 : plan.leaves * globals / peers;
    const std::uint64_t spine_ports =
        plan.leaves + ceil_div(plan.cables_per_pair * peers, plan.leaves);
    plan.ports = spec.radix != 0 ? spec.radix
                                 : static_cast<std::uint32_t>(std::max(leaf_ports, spine_ports));
    return {};
}

Fabric build(const Spec& spec, const GroupsPlan& plan, const Placement& placement) {
    FabricBuilder builder(spec);
    std::vector<NodeIndex> leaves;
    std::vector<NodeIndex> spines;
    const auto size = static_cast<std::uint32_t>(plan.leaves);
    for (std::uint32_t g = 0; g < plan.groups; ++g) {
        for (std::uint32_t s = 0; s < size; ++s) {
            leaves.push_back(
                builder.add_switch(fmt::format("g{}leaf{}", g, s), plan.ports, 0, {g, s}));
        }
        for (std::uint32_t s = 0; s < size; ++s) {
            spines.push_back(
                builder.add_switch(fmt::format("g{}spine{}", g, s), plan.ports, 1, {g, size + s}));
        }
    }
    builder.cable_hcas(leaves, placement);
    for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
        for (std::size_t s = 0; s < size; ++s) {
            builder.cable(leaves[leaf], spines[leaf / size * size + s]);
        }
    }
    cable_groups(builder, spines, size, plan.cables_per_pair);
    return builder.take();
}

std::expected<Fabric, Error> generate_dragonfly_plus(const Spec& spec) {
    const std::uint64_t hcas = hca_count(spec);
    GroupsPlan plan = choose_size(spec, hcas);
    if (auto result = check_lids(spec, plan.switches()); !result) {
        return std::unexpected(result.error());
    }
    if (hcas > plan.capacity()) {
        return refuse(fmt::format(
            "{} HCAs do not fit a dragonfly-plus of {} groups, {} leaves each, {} HCAs per leaf, "
            "which holds {}: raise one of these, or take at most {} hosts",
            hcas, plan.groups, plan.leaves, plan.hcas_per_leaf, plan.capacity(),
            plan.capacity() / spec.hcas_per_host));
    }
    if (auto result = choose_cables(spec, plan); !result) {
        return std::unexpected(result.error());
    }
    const Placement placement(spec, static_cast<std::uint32_t>(plan.groups * plan.leaves),
                              static_cast<std::uint32_t>(plan.hcas_per_leaf));
    return build(spec, plan, placement);
}

}  // namespace

const Topology kDragonflyPlusTopology{.shape = Shape::kDragonflyPlus,
                                      .name = "dragonfly-plus",
                                      .keys = SpecKeys::kGroups | SpecKeys::kHostsPerSwitch,
                                      .layout = Layout::kGroups,
                                      .generate = generate_dragonfly_plus};

}  // namespace softib::topo
