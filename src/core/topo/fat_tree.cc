// SPDX-License-Identifier: BSD-2-Clause
// Fat trees, rail-optimized fat trees, and those in scalable units (SuperPOD). tree_plan.h computes
// their sizes.
#include <fmt/format.h>

#include "core/topo/builder.h"
#include "core/topo/generators.h"
#include "core/topo/tree_plan.h"

namespace softib::topo {

namespace {

TreeRules rules_of(Shape shape) {
    return {.rails = shape == Shape::kRailOptimized || shape == Shape::kSuperPod,
            .whole_units = shape == Shape::kSuperPod};
}

}  // namespace

std::expected<Fabric, Error> generate_fat_tree(const Spec& spec) {
    const TreeRules rules = rules_of(spec.shape);
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

}  // namespace softib::topo
