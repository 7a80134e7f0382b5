// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/grid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "core/topo/generators.h"
#include "core/topo/spec.h"

namespace softib::topo {

namespace {

constexpr std::size_t kDimensionsMax = 5;

std::vector<std::uint32_t> coordinates_of(std::uint32_t index,
                                          const std::vector<std::uint32_t>& dimensions) {
    std::vector<std::uint32_t> coordinates(dimensions.size());
    for (std::size_t d = dimensions.size(); d-- > 0;) {
        coordinates[d] = index % dimensions[d];
        index /= dimensions[d];
    }
    return coordinates;
}

}  // namespace

std::expected<void, Error> take_dimensions(const Spec& spec, GridPlan& plan) {
    if (spec.dimensions.size() > kDimensionsMax) {
        return refuse(fmt::format("a {} has 1 to {} dimensions, not {}: leave some out",
                                  to_string(spec.shape), kDimensionsMax, spec.dimensions.size()));
    }
    std::uint64_t switches = 1;
    for (const std::uint32_t size : spec.dimensions) {
        if (size == 0) {
            return refuse(fmt::format("a {} dimension of size 0 holds nothing: take 1 or more",
                                      to_string(spec.shape)));
        }
        switches *= size;
        if (auto result = check_lids(spec, switches); !result) {
            return result;
        }
    }
    plan.dimensions = spec.dimensions;
    plan.switches = static_cast<std::uint32_t>(switches);
    plan.hcas_per_switch = spec.hosts_per_switch != 0 ? spec.hosts_per_switch
                                                      : ceil_div(hca_count(spec), plan.switches);
    return {};
}

void set_dimensions(std::vector<std::uint32_t> dimensions, GridPlan& plan) {
    plan.dimensions = std::move(dimensions);
    for (const std::uint32_t size : plan.dimensions) {
        plan.switches *= size;
    }
}

std::expected<void, Error> check_grid(const Spec& spec, const GridPlan& plan) {
    const std::uint32_t hcas = hca_count(spec);
    const std::uint64_t holds = std::uint64_t{plan.switches} * plan.hcas_per_switch;
    if (hcas > holds) {
        return refuse(fmt::format(
            "{} HCAs do not fit a {} {} with {} on each of its {} switches: enlarge a "
            "dimension, raise hosts_per_switch to {}, or take at most {} hosts",
            hcas, fmt::join(plan.dimensions, "x"), to_string(spec.shape), plan.hcas_per_switch,
            plan.switches, ceil_div(hcas, plan.switches), holds / spec.hcas_per_host));
    }
    return check_lids(spec, plan.switches);
}

std::expected<void, Error> choose_grid_ports(const Spec& spec, std::uint32_t cables,
                                             GridPlan& plan) {
    const std::uint32_t ports_max = spec.radix != 0 ? spec.radix : kSwitchPortsMax;
    const std::uint64_t needed = std::uint64_t{plan.hcas_per_switch} + cables;
    if (needed > ports_max) {
        return refuse(
            fmt::format("a switch of this {} needs {} ports ({} HCAs and {} cables to "
                        "neighbours) and has {}: {} a dimension{}",
                        to_string(spec.shape), needed, plan.hcas_per_switch, cables, ports_max,
                        cables + 1 > ports_max ? "shorten" : "enlarge",
                        needed <= kSwitchPortsMax ? " or raise radix" : ""));
    }
    plan.ports = spec.radix != 0 ? spec.radix : static_cast<std::uint32_t>(needed);
    return {};
}

std::vector<NodeIndex> add_grid(FabricBuilder& builder, const Spec& spec, const GridPlan& plan) {
    std::vector<NodeIndex> switches;
    switches.reserve(plan.switches);
    for (std::uint32_t i = 0; i < plan.switches; ++i) {
        auto coordinates = coordinates_of(i, plan.dimensions);
        std::string name = fmt::format("sw{}", fmt::join(coordinates, "_"));
        switches.push_back(
            builder.add_switch(std::move(name), plan.ports, 0, std::move(coordinates)));
    }
    builder.cable_hcas(switches, Placement(spec, plan.switches, plan.hcas_per_switch));
    return switches;
}

}  // namespace softib::topo
