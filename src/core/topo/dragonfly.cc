// SPDX-License-Identifier: BSD-2-Clause
// Canonical dragonflies: the switches of a group are fully connected, and every two groups are
// joined by the same number of global cables (groups.h has their order). By default the generator
// takes the balanced proportions a = 2p = 2h (a switches per group, p HCAs and h global cables per
// switch).
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

struct DragonflyPlan {
    std::uint64_t groups = 0;
    std::uint64_t switches_per_group = 0;
    std::uint64_t hcas_per_switch = 0;
    std::uint64_t globals_per_switch = 0;
    std::uint64_t cables_per_pair = 0;  ///< Global cables between two groups.
    std::uint32_t ports = 0;

    std::uint64_t switches() const { return groups * switches_per_group; }
    std::uint64_t capacity() const { return switches() * hcas_per_switch; }
};

/// Returns the smallest p of a balanced dragonfly for these HCAs. A balanced dragonfly has at most
/// a * h + 1 groups.
std::uint64_t balanced_hcas_per_switch(std::uint64_t hcas, std::uint64_t groups) {
    std::uint64_t p = 1;
    while (2 * p * p * (groups != 0 ? groups : 2 * p * p + 1) < hcas) {
        ++p;
    }
    return p;
}

void choose_size(const Spec& spec, DragonflyPlan& plan) {
    const std::uint64_t hcas = hca_count(spec);
    std::uint64_t& g = plan.groups = spec.groups;
    std::uint64_t& a = plan.switches_per_group = spec.switches_per_group;
    std::uint64_t& p = plan.hcas_per_switch = spec.hosts_per_switch;
    if (p == 0) {
        if (a != 0 && g != 0) {
            p = ceil_div(hcas, a * g);
        } else if (a != 0) {
            p = ceil_div<std::uint64_t>(a, 2);
        } else {
            p = balanced_hcas_per_switch(hcas, g);
        }
    }
    if (a == 0) {
        a = g != 0 ? ceil_div(hcas, p * g) : 2 * p;
    }
    if (g == 0) {
        // At least two groups, since a dragonfly without global cables would be no dragonfly.
        g = std::max<std::uint64_t>(ceil_div(hcas, a * p), 2);
    }
}

std::expected<void, Error> choose_cables(const Spec& spec, DragonflyPlan& plan) {
    const std::uint64_t ports_max = spec.radix != 0 ? spec.radix : kSwitchPortsMax;
    const std::uint64_t a = plan.switches_per_group;
    const std::uint64_t peers = plan.groups - 1;
    const std::uint64_t local = plan.hcas_per_switch + a - 1;
    const std::uint64_t globals_min = ceil_div(peers, a);
    if (local + globals_min > ports_max) {
        return refuse(fmt::format(
            "a switch of this dragonfly needs {} ports ({} HCAs, {} in its group, {} to other "
            "groups) and has {}: take {}fewer groups, fewer switches per group, or fewer HCAs per "
            "switch",
            local + globals_min, plan.hcas_per_switch, a - 1, globals_min, ports_max,
            local + globals_min <= kSwitchPortsMax ? "a larger radix, " : ""));
    }
    const std::uint64_t balanced = std::max(ceil_div<std::uint64_t>(a, 2), globals_min);
    const std::uint64_t globals =
        spec.radix != 0 ? ports_max - local : std::min(balanced, ports_max - local);
    plan.cables_per_pair = peers == 0 ? 0 : a * globals / peers;
    plan.globals_per_switch = ceil_div(plan.cables_per_pair * peers, a);
    plan.ports = spec.radix != 0 ? spec.radix
                                 : static_cast<std::uint32_t>(
                                       std::max<std::uint64_t>(local + plan.globals_per_switch, 1));
    return {};
}

Fabric build(const Spec& spec, const DragonflyPlan& plan, const Placement& placement) {
    FabricBuilder builder(spec);
    const std::uint64_t a = plan.switches_per_group;
    std::vector<NodeIndex> switches;
    switches.reserve(plan.switches());
    for (std::uint32_t g = 0; g < plan.groups; ++g) {
        for (std::uint32_t s = 0; s < a; ++s) {
            switches.push_back(
                builder.add_switch(fmt::format("g{}s{}", g, s), plan.ports, 0, {g, s}));
        }
    }
    builder.cable_hcas(switches, placement);
    for (std::uint64_t first = 0; first < switches.size(); first += a) {
        for (std::uint64_t s = 0; s < a; ++s) {
            for (std::uint64_t t = s + 1; t < a; ++t) {
                builder.cable(switches[first + s], switches[first + t]);
            }
        }
    }
    cable_groups(builder, switches, a, plan.cables_per_pair);
    return builder.take();
}

std::expected<Fabric, Error> generate_dragonfly(const Spec& spec) {
    DragonflyPlan plan;
    choose_size(spec, plan);
    if (auto result = check_lids(spec, plan.switches()); !result) {
        return std::unexpected(result.error());
    }
    const std::uint64_t hcas = hca_count(spec);
    if (hcas > plan.capacity()) {
        return refuse(fmt::format(
            "{} HCAs do not fit a dragonfly of {} groups, {} switches each, {} HCAs per switch, "
            "which holds {}: raise one of these, or take at most {} hosts",
            hcas, plan.groups, plan.switches_per_group, plan.hcas_per_switch, plan.capacity(),
            plan.capacity() / spec.hcas_per_host));
    }
    if (auto result = choose_cables(spec, plan); !result) {
        return std::unexpected(result.error());
    }
    const Placement placement(spec, static_cast<std::uint32_t>(plan.switches()),
                              static_cast<std::uint32_t>(plan.hcas_per_switch));
    return build(spec, plan, placement);
}

}  // namespace

const Topology kDragonflyTopology{.shape = Shape::kDragonfly,
                                  .name = "dragonfly",
                                  .keys = SpecKeys::kGroups | SpecKeys::kHostsPerSwitch,
                                  .layout = Layout::kGroups,
                                  .generate = generate_dragonfly};

}  // namespace softib::topo
