// SPDX-License-Identifier: BSD-2-Clause
// Rail-only fabrics (Wang et al., 2023): the first HCAs of all hosts are one rail, the second ones
// another, and so on; no cable joins two rails. A rail is one switch if that has enough ports,
// otherwise a fat tree. Traffic between rails changes rails inside a host.
#include <fmt/format.h>

#include "core/topo/builder.h"
#include "core/topo/generators.h"
#include "core/topo/spec.h"
#include "core/topo/topology.h"
#include "core/topo/tree_plan.h"

namespace softib::topo {

namespace {

/// Returns the description of one rail as a fabric of hosts with one HCA.
Spec rail_of(const Spec& spec) {
    Spec rail = spec;
    rail.hcas_per_host = 1;
    return rail;
}

bool is_one_switch(const Spec& spec) {
    const std::uint32_t radix = spec.radix != 0 ? spec.radix : natural_radix(spec.generation);
    const bool tree_asked = spec.levels != 0 || spec.oversubscription != Taper{} ||
                            spec.spine_oversubscription != Taper{};
    return !tree_asked && spec.hosts <= radix;
}

Fabric build_switches(const Spec& spec) {
    FabricBuilder builder(spec);
    const std::uint32_t ports = spec.radix != 0 ? spec.radix : natural_radix(spec.generation);
    for (std::uint32_t r = 0; r < spec.hcas_per_host; ++r) {
        const NodeIndex sw = builder.add_switch(fmt::format("rail{}", r), ports, 0);
        builder.cable_rail(r, {&sw, 1}, Placement(rail_of(spec), 1, ports));
    }
    return builder.take();
}

Fabric build_trees(const Spec& spec, const TreePlan& plan) {
    FabricBuilder builder(spec);
    for (std::uint32_t r = 0; r < spec.hcas_per_host; ++r) {
        const TreeSwitches tree = add_tree(builder, plan, fmt::format("rail{}-", r));
        builder.cable_rail(r, tree.leaves, placement_of(rail_of(spec), {}, plan));
        cable_tree(builder, plan, tree);
    }
    return builder.take();
}

Fabric with_warning(Fabric fabric) {
    const Host& host = fabric.hosts.front();
    fabric.warnings.push_back(
        fmt::format("the {} rails are subnets that no cable joins, and a subnet manager sees only "
                    "the one that it is in; while it is up, give each other rail its own, as with: "
                    "softib exec {} -- softib-sm -C {}",
                    host.hcas.size(), host.name, host.device_names.back()));
    return fabric;
}

std::expected<Fabric, Error> generate_rail_only(const Spec& spec) {
    if (auto result = check_rails(spec); !result) {
        return std::unexpected(result.error());
    }
    if (is_one_switch(spec)) {
        return with_warning(build_switches(spec));
    }
    const auto plan = plan_tree(rail_of(spec), {});
    if (!plan) {
        return std::unexpected(plan.error());
    }
    if (auto result = check_lids(spec, plan->switches() * spec.hcas_per_host); !result) {
        return std::unexpected(result.error());
    }
    return with_warning(build_trees(spec, *plan));
}

}  // namespace

const Topology kRailOnlyTopology{.shape = Shape::kRailOnly,
                                 .name = "rail-only",
                                 .keys = SpecKeys::kLevels,
                                 .layout = Layout::kTree,
                                 .generate = generate_rail_only,
                                 .rails = true};

}  // namespace softib::topo
