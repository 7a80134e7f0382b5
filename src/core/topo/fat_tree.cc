// SPDX-License-Identifier: BSD-2-Clause
// Fat trees, rail-optimized fat trees, and those in scalable units (SuperPOD). tree_plan.h computes
// their sizes.
#include <fmt/format.h>

#include "core/topo/builder.h"
#include "core/topo/generators.h"
#include "core/topo/spec.h"
#include "core/topo/topology.h"
#include "core/topo/tree_plan.h"

namespace softib::topo {

namespace {

std::expected<Fabric, Error> generate_tree(const Spec& spec, const TreeRules& rules) {
    if (auto result = rules.rails ? check_rails(spec) : std::expected<void, Error>{}; !result) {
        return std::unexpected(result.error());
    }
    const auto plan = plan_tree(spec, rules);
    if (!plan) {
        return std::unexpected(plan.error());
    }
    if (auto result = check_lids(spec, plan->switches()); !result) {
        return std::unexpected(result.error());
    }
    FabricBuilder builder(spec);
    const TreeSwitches tree = add_tree(builder, *plan);
    builder.cable_hcas(tree.leaves, placement_of(spec, rules, *plan));
    cable_tree(builder, *plan, tree);
    return builder.take();
}

}  // namespace

const Topology kFatTreeTopology{
    .shape = Shape::kFatTree,
    .name = "fat-tree",
    .keys = SpecKeys::kLevels | SpecKeys::kHostsPerSwitch,
    .layout = Layout::kTree,
    .generate = [](const Spec& spec) { return generate_tree(spec, {}); }};

/// A fat tree in which each HCA of a host has a leaf of its own.
const Topology kRailOptimizedTopology{
    .shape = Shape::kRailOptimized,
    .name = "rail-optimized",
    .keys = SpecKeys::kLevels,
    .layout = Layout::kTree,
    .generate = [](const Spec& spec) { return generate_tree(spec, {.rails = true}); },
    .rails = true};

/// Rail-optimized, in scalable units of as many hosts as a leaf has ports down.
const Topology kSuperPodTopology{
    .shape = Shape::kSuperPod,
    .name = "superpod",
    .keys = SpecKeys::kLevels,
    .layout = Layout::kTree,
    .generate =
        [](const Spec& spec) { return generate_tree(spec, {.rails = true, .whole_units = true}); },
    .rails = true};

}  // namespace softib::topo
