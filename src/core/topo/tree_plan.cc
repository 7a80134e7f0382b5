// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/tree_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/topo/generators.h"
#include "core/topo/spec.h"

namespace softib::topo {

namespace {

/// Returns the number of ports of a switch that lead down; the others are enough for its cables up.
std::uint32_t ports_down(std::uint32_t radix, const Taper& taper) {
    return radix * taper.down / (taper.down + taper.up);
}

/// Returns the most HCAs of a leaf.
std::uint32_t leaf_ports_down(const Spec& spec, std::uint32_t radix) {
    const std::uint32_t ports = ports_down(radix, spec.oversubscription);
    return spec.hosts_per_switch == 0 ? ports : std::min(ports, spec.hosts_per_switch);
}

std::uint32_t cables_up(std::uint32_t down, const Taper& taper) {
    return ceil_div(down * taper.up, taper.down);
}

std::uint64_t leaves_max(const Spec& spec, std::uint32_t radix, std::uint32_t levels) {
    return levels == 2 ? radix
                       : std::uint64_t{radix} * ports_down(radix, spec.spine_oversubscription);
}

std::uint64_t capacity(const Spec& spec, std::uint32_t radix, std::uint32_t levels) {
    return leaves_max(spec, radix, levels) * leaf_ports_down(spec, radix);
}

/// Returns the number of leaves with which each HCA of a host has a leaf of its own.
std::uint64_t rail_leaves(const Spec& spec, std::uint32_t radix) {
    return std::uint64_t{ceil_div(spec.hosts, leaf_ports_down(spec, radix))} * spec.hcas_per_host;
}

bool fits(const Spec& spec, const TreeRules& rules, std::uint32_t radix, std::uint32_t levels) {
    return capacity(spec, radix, levels) >= hca_count(spec) &&
           (!rules.rails || rail_leaves(spec, radix) <= leaves_max(spec, radix, levels));
}

std::optional<std::uint32_t> smallest_radix(const Spec& spec, const TreeRules& rules,
                                            std::uint32_t levels) {
    for (std::uint32_t radix = 2; radix <= ports_max(spec); ++radix) {
        if (fits(spec, rules, radix, levels)) {
            return radix;
        }
    }
    return std::nullopt;
}

/// Returns the fewest upper switches that have room for `demand` cables from each of `lowers`
/// switches. There are at least two if `demand` allows it, so that there is a second path.
TreeTrunk fit_trunk(std::uint32_t demand, std::uint32_t up_ports_max, std::uint32_t lowers,
                    std::uint32_t upper_ports_max) {
    for (std::uint32_t uppers = std::min(demand, 2U); uppers < demand; ++uppers) {
        const std::uint32_t width = ceil_div(demand, uppers);
        if (lowers * width <= upper_ports_max && uppers * width <= up_ports_max) {
            return {uppers, width};
        }
    }
    return {demand, 1};
}

std::expected<void, Error> check_asked(const Spec& spec) {
    if (spec.levels != 0 && spec.levels != 2 && spec.levels != 3) {
        return refuse(
            fmt::format("a fat tree has 2 or 3 levels, not {}: for 1 take shape "
                        "single-switch",
                        spec.levels));
    }
    if (spec.radix == 1) {
        return refuse(
            "a switch of a fat tree needs a port down and a port up: take radix 2 or "
            "more");
    }
    for (const auto& [name, taper] :
         {std::pair("oversubscription", spec.oversubscription),
          std::pair("spine_oversubscription", spec.spine_oversubscription)}) {
        if (spec.radix != 0 && taper.down + taper.up > spec.radix) {
            return refuse(
                fmt::format("{} {} needs switches of {} ports or more, these have radix {}: take "
                            "switches with a larger radix, or less oversubscription",
                            name, to_string(taper), taper.down + taper.up, spec.radix));
        }
    }
    return {};
}

std::expected<void, Error> choose_size(const Spec& spec, const TreeRules& rules, TreePlan& plan) {
    const std::uint32_t levels_max = spec.levels != 0 ? spec.levels : 3;
    plan.radix = spec.radix;
    if (plan.radix == 0) {
        plan.radix = natural_radix(spec.generation);
        for (const std::uint32_t larger : {40U, 64U, 144U}) {
            if (!fits(spec, rules, plan.radix, levels_max)) {
                plan.radix = std::max(plan.radix, larger);
            }
        }
    }
    if (!fits(spec, rules, plan.radix, levels_max)) {
        const std::uint64_t holds = capacity(spec, plan.radix, levels_max);
        const auto radix = smallest_radix(spec, rules, levels_max);
        const std::string larger =
            radix ? fmt::format("radix {} or more", *radix) : std::string("3 levels");
        return refuse(fmt::format(
            "{} HCAs do not fit a {}-level fat tree of {}-port switches, "
            "which holds {}{}: take at most {} hosts, or {}{}",
            hca_count(spec), levels_max, plan.radix, holds,
            rules.rails ? ", with a leaf for each HCA of a host" : "", holds / spec.hcas_per_host,
            larger, radix && levels_max == 2 ? ", or 3 levels" : ""));
    }
    plan.levels = spec.levels != 0 ? spec.levels : (fits(spec, rules, plan.radix, 2) ? 2 : 3);
    if (plan.levels == 2 && spec.spine_oversubscription != Taper{}) {
        return refuse(
            "spine_oversubscription is for trees of 3 levels and this one has 2: take levels 3, or "
            "oversubscription for its leaves");
    }
    plan.leaf_down = leaf_ports_down(spec, plan.radix);
    plan.spine_down =
        plan.levels == 2 ? plan.radix : ports_down(plan.radix, spec.spine_oversubscription);
    return {};
}

/// Chooses the number of pods and leaves. Even the smallest tree has two leaves (and two pods if it
/// has three levels), because a user who asks for a tree wants hosts that are more than one switch
/// apart.
void choose_leaves(const Spec& spec, const TreeRules& rules, TreePlan& plan) {
    const std::uint32_t hcas = hca_count(spec);
    const auto most = static_cast<std::uint32_t>(leaves_max(spec, plan.radix, plan.levels));
    const std::uint32_t leaves_min = plan.levels == 2 ? 2 : 4;
    const std::uint64_t for_rails = rail_leaves(spec, plan.radix);
    const bool rails = spec.hcas_per_host > 1 && for_rails <= most && spec.hosts_per_switch == 0;
    plan.leaves =
        rails ? static_cast<std::uint32_t>(for_rails)
              : std::min({hcas, most, std::max(ceil_div(hcas, plan.leaf_down), leaves_min)});
    if (plan.levels == 2) {
        plan.leaves_per_pod = plan.leaves;
        return;
    }
    plan.pods = std::max(ceil_div(plan.leaves, plan.spine_down), std::min(plan.leaves, 2U));
    plan.leaves_per_pod = ceil_div(plan.leaves, plan.pods);
    if (rails) {
        // With whole sets of rails per pod, all HCAs of a host are in one pod.
        const std::uint32_t whole =
            ceil_div(plan.leaves_per_pod, spec.hcas_per_host) * spec.hcas_per_host;
        plan.leaves_per_pod = whole <= plan.spine_down ? whole : plan.leaves_per_pod;
    }
    if (rules.whole_units) {
        plan.pods = ceil_div(plan.leaves, plan.leaves_per_pod);
    } else {
        plan.leaves = plan.pods * plan.leaves_per_pod;
    }
}

void choose_trunks(const Spec& spec, const TreeRules& rules, std::uint32_t per_leaf,
                   TreePlan& plan) {
    const std::uint32_t down = rules.whole_units ? plan.leaf_down : per_leaf;
    plan.leaf_up = fit_trunk(cables_up(down, spec.oversubscription), plan.radix - down,
                             plan.leaves_per_pod, plan.spine_down);
    plan.leaf_radix = spec.hosts_per_switch == 0
                          ? plan.radix
                          : plan.leaf_down + plan.leaf_up.uppers * plan.leaf_up.width;
    if (plan.levels == 3) {
        const std::uint32_t spine_down = plan.leaves_per_pod * plan.leaf_up.width;
        plan.spine_up = fit_trunk(cables_up(spine_down, spec.spine_oversubscription),
                                  plan.radix - spine_down, plan.pods, plan.radix);
    }
}

std::vector<NodeIndex> add_level(FabricBuilder& builder, const std::string& name,
                                 std::uint32_t count, std::uint32_t radix, std::uint32_t level) {
    std::vector<NodeIndex> switches;
    switches.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        switches.push_back(builder.add_switch(fmt::format("{}{}", name, i), radix, level));
    }
    return switches;
}

void cable_trunk(FabricBuilder& builder, NodeIndex lower, const NodeIndex* uppers,
                 TreeTrunk trunk) {
    for (std::uint32_t u = 0; u < trunk.uppers; ++u) {
        for (std::uint32_t w = 0; w < trunk.width; ++w) {
            builder.cable(lower, uppers[u]);
        }
    }
}

}  // namespace

std::uint32_t natural_radix(Generation generation) {
    return row_of(generation).radix;
}

std::expected<TreePlan, Error> plan_tree(const Spec& spec, const TreeRules& rules) {
    if (auto result = check_asked(spec); !result) {
        return std::unexpected(result.error());
    }
    TreePlan plan;
    if (auto result = choose_size(spec, rules, plan); !result) {
        return std::unexpected(result.error());
    }
    choose_leaves(spec, rules, plan);
    choose_trunks(spec, rules, placement_of(spec, rules, plan).per_leaf(), plan);
    return plan;
}

Placement placement_of(const Spec& spec, const TreeRules& rules, const TreePlan& plan) {
    return Placement(spec, plan.leaves, plan.leaf_down, rules.whole_units ? plan.leaf_down : 0);
}

TreeSwitches add_tree(FabricBuilder& builder, const TreePlan& plan, const std::string& prefix) {
    return {.leaves = add_level(builder, prefix + "leaf", plan.leaves, plan.leaf_radix, 0),
            .spines = add_level(builder, prefix + "spine", plan.spines(), plan.radix, 1),
            .cores = add_level(builder, prefix + "core", plan.cores(), plan.radix, 2)};
}

void cable_tree(FabricBuilder& builder, const TreePlan& plan, const TreeSwitches& tree) {
    for (std::uint32_t i = 0; i < tree.leaves.size(); ++i) {
        const std::uint32_t pod = i / plan.leaves_per_pod;
        cable_trunk(builder, tree.leaves[i], &tree.spines[pod * plan.leaf_up.uppers], plan.leaf_up);
    }
    for (std::uint32_t i = 0; i < tree.spines.size() && plan.levels == 3; ++i) {
        // Spine s of every pod is cabled to the cores of group s.
        const std::uint32_t group = i % plan.leaf_up.uppers;
        cable_trunk(builder, tree.spines[i], &tree.cores[group * plan.spine_up.uppers],
                    plan.spine_up);
    }
}

}  // namespace softib::topo
