// SPDX-License-Identifier: BSD-2-Clause
// Non-blocking fat trees of 2 levels (leaf, spine) and 3 levels (leaf, spine, core).
//
// A leaf has at least as many cables up as HCAs down, and a spine of a 3-level tree at least as
// many up as down, so any permutation of the hosts fits at full rate. A tree that is not full gets
// the fewest switches that keep this, with parallel cables between the same two switches.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/topo/builder.h"
#include "core/topo/generators.h"

namespace softib::topo {

namespace {

/// How one switch is joined to the level above: `uppers` switches, `width` cables to each.
struct Trunk {
    std::uint32_t uppers = 0;
    std::uint32_t width = 0;
};

struct TreePlan {
    std::uint32_t radix = 0;
    std::uint32_t levels = 0;
    std::uint32_t pods = 1;  ///< A 2-level tree is one pod.
    std::uint32_t leaves_per_pod = 0;
    Trunk leaf_up;
    Trunk spine_up;  ///< 3 levels: to the cores of the spine's own group.

    std::uint32_t leaves() const { return pods * leaves_per_pod; }
    std::uint32_t spines() const { return pods * leaf_up.uppers; }
    std::uint32_t cores() const { return leaf_up.uppers * spine_up.uppers; }
};

std::uint64_t capacity(std::uint64_t radix, std::uint32_t levels) {
    const std::uint64_t half = radix / 2;
    return levels == 2 ? radix * half : radix * half * half;
}

/// Ports of the switch that ships with a generation: the natural radix when none is asked for.
std::uint32_t natural_radix(Generation generation) {
    switch (generation) {
        case Generation::kSdr:
        case Generation::kDdr:
            return 24;
        case Generation::kQdr:
        case Generation::kFdr10:
        case Generation::kFdr:
        case Generation::kEdr:
            return 36;
        case Generation::kHdr:
            return 40;
        case Generation::kXdr:
            return 144;
        case Generation::kNdr:
            break;
    }
    return 64;
}

std::optional<std::uint32_t> smallest_radix(std::uint64_t hcas, std::uint32_t levels) {
    for (std::uint32_t radix = 2; radix <= kSwitchPortsMax; ++radix) {
        if (capacity(radix, levels) >= hcas) {
            return radix;
        }
    }
    return std::nullopt;
}

/// The fewest upper switches (two where the demand allows, so that there is a second path) that
/// take `demand` cables from each of `lowers` switches within the ports of both.
Trunk fit_trunk(std::uint32_t demand, std::uint32_t up_ports_max, std::uint32_t lowers,
                std::uint32_t upper_ports_max) {
    for (std::uint32_t uppers = std::min(demand, 2U); uppers < demand; ++uppers) {
        const std::uint32_t width = ceil_div(demand, uppers);
        if (lowers * width <= upper_ports_max && uppers * width <= up_ports_max) {
            return {uppers, width};
        }
    }
    return {demand, 1};
}

std::expected<void, Error> choose_size(const Spec& spec, TreePlan& plan) {
    const std::uint64_t hcas = hca_count(spec);
    const std::uint32_t levels_max = spec.levels != 0 ? spec.levels : 3;
    plan.radix = spec.radix;
    if (plan.radix == 0) {
        plan.radix = natural_radix(spec.generation);
        for (const std::uint32_t larger : {40U, 64U, 144U}) {
            if (capacity(plan.radix, levels_max) < hcas) {
                plan.radix = std::max(plan.radix, larger);
            }
        }
    }
    const std::uint64_t fits = capacity(plan.radix, levels_max);
    if (hcas > fits) {
        const auto radix = smallest_radix(hcas, levels_max);
        const std::string larger =
            radix ? fmt::format("radix {} or more", *radix) : std::string("3 levels");
        return refuse(
            fmt::format("{} HCAs do not fit a {}-level fat tree of {}-port switches, "
                        "which holds {}: take at most {} hosts, or {}{}",
                        hcas, levels_max, plan.radix, fits, fits / spec.hcas_per_host, larger,
                        radix && levels_max == 2 ? ", or 3 levels" : ""));
    }
    plan.levels = spec.levels != 0 ? spec.levels : (capacity(plan.radix, 2) >= hcas ? 2 : 3);
    return {};
}

/// Pods and leaves. Even the smallest tree has two leaves (and two pods if it has three levels),
/// because a user who asks for a tree wants hosts that are more than one switch apart.
void choose_leaves(const Spec& spec, TreePlan& plan) {
    const std::uint32_t half = plan.radix / 2;
    const std::uint32_t hcas = hca_count(spec);
    const std::uint32_t leaves_max = plan.levels == 2 ? plan.radix : plan.radix * half;
    const std::uint32_t leaves_min = plan.levels == 2 ? 2 : 4;
    const std::uint64_t rail_leaves =
        std::uint64_t{ceil_div(spec.hosts, half)} * spec.hcas_per_host;
    const bool rails = spec.hcas_per_host > 1 && rail_leaves <= leaves_max;
    const std::uint32_t leaves =
        rails ? static_cast<std::uint32_t>(rail_leaves)
              : std::min({hcas, leaves_max, std::max(ceil_div(hcas, half), leaves_min)});
    if (plan.levels == 2) {
        plan.leaves_per_pod = leaves;
        return;
    }
    plan.pods = std::max(ceil_div(leaves, half), std::min(leaves, 2U));
    plan.leaves_per_pod = ceil_div(leaves, plan.pods);
    if (rails) {
        // Whole sets of rails per pod keep all HCAs of a host in one pod.
        const std::uint32_t whole =
            ceil_div(plan.leaves_per_pod, spec.hcas_per_host) * spec.hcas_per_host;
        plan.leaves_per_pod = whole <= half ? whole : plan.leaves_per_pod;
    }
}

void choose_trunks(const Placement& placement, TreePlan& plan) {
    const std::uint32_t half = plan.radix / 2;
    const std::uint32_t down = placement.per_leaf();
    const std::uint32_t spine_down_max = plan.levels == 2 ? plan.radix : half;
    plan.leaf_up = fit_trunk(down, plan.radix - down, plan.leaves_per_pod, spine_down_max);
    if (plan.levels == 3) {
        const std::uint32_t spine_down = plan.leaves_per_pod * plan.leaf_up.width;
        plan.spine_up = fit_trunk(spine_down, plan.radix - spine_down, plan.pods, plan.radix);
    }
}

std::vector<NodeIndex> add_level(FabricBuilder& builder, const char* name, std::uint32_t count,
                                 std::uint32_t radix, std::uint32_t level) {
    std::vector<NodeIndex> switches;
    switches.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        switches.push_back(builder.add_switch(fmt::format("{}{}", name, i), radix, level));
    }
    return switches;
}

void cable_trunk(FabricBuilder& builder, NodeIndex lower, const NodeIndex* uppers, Trunk trunk) {
    for (std::uint32_t u = 0; u < trunk.uppers; ++u) {
        for (std::uint32_t w = 0; w < trunk.width; ++w) {
            builder.cable(lower, uppers[u]);
        }
    }
}

Fabric build(const Spec& spec, const TreePlan& plan, const Placement& placement) {
    FabricBuilder builder(spec);
    const auto leaves = add_level(builder, "leaf", plan.leaves(), plan.radix, 0);
    const auto spines = add_level(builder, "spine", plan.spines(), plan.radix, 1);
    const auto cores = add_level(builder, "core", plan.cores(), plan.radix, 2);
    builder.cable_hcas(leaves, placement);
    for (std::uint32_t i = 0; i < leaves.size(); ++i) {
        const std::uint32_t pod = i / plan.leaves_per_pod;
        cable_trunk(builder, leaves[i], &spines[pod * plan.leaf_up.uppers], plan.leaf_up);
    }
    if (plan.levels == 3) {
        for (std::uint32_t i = 0; i < spines.size(); ++i) {
            // Spine s of every pod meets the others in core group s.
            const std::uint32_t group = i % plan.leaf_up.uppers;
            cable_trunk(builder, spines[i], &cores[group * plan.spine_up.uppers], plan.spine_up);
        }
    }
    return builder.take();
}

}  // namespace

std::expected<Fabric, Error> generate_fat_tree(const Spec& spec) {
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
    TreePlan plan;
    if (auto result = choose_size(spec, plan); !result) {
        return std::unexpected(result.error());
    }
    choose_leaves(spec, plan);
    const Placement placement(spec, plan.leaves(), plan.radix / 2);
    choose_trunks(placement, plan);
    const std::uint64_t switches = std::uint64_t{plan.leaves()} + plan.spines() + plan.cores();
    if (auto result = check_lids(spec, switches); !result) {
        return std::unexpected(result.error());
    }
    return build(spec, plan, placement);
}

}  // namespace softib::topo
