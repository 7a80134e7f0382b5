// SPDX-License-Identifier: BSD-2-Clause
// HyperX (Ahn et al., 2009): switches in a grid; each is cabled to all others of its line in every
// dimension. By default the generator takes two dimensions, and half as many HCAs on a switch as a
// line has switches; the bisection then has the bandwidth of half of the HCAs.
#include <algorithm>
#include <numeric>
#include <vector>

#include "core/topo/builder.h"
#include "core/topo/generators.h"
#include "core/topo/grid.h"
#include "core/topo/spec.h"
#include "core/topo/topology.h"

namespace softib::topo {

namespace {

std::uint32_t balanced_hcas(const Spec& spec, std::uint32_t side) {
    return spec.hosts_per_switch != 0 ? spec.hosts_per_switch : std::max(side / 2, 1U);
}

std::expected<void, Error> choose_size(const Spec& spec, std::uint32_t hcas, GridPlan& plan) {
    if (!spec.dimensions.empty()) {
        return take_dimensions(spec, plan);
    }
    std::uint32_t side = 1;
    while (std::uint64_t{side} * side * balanced_hcas(spec, side) < hcas) {
        ++side;
    }
    plan.hcas_per_switch = balanced_hcas(spec, side);
    set_dimensions({side, ceil_div(hcas, side * plan.hcas_per_switch)}, plan);
    return {};
}

std::uint32_t cables_in_lines(const std::vector<std::uint32_t>& dimensions) {
    const auto others = [](std::uint32_t sum, std::uint32_t size) { return sum + size - 1; };
    return std::accumulate(dimensions.begin(), dimensions.end(), 0U, others);
}

void cable_lines(FabricBuilder& builder, const GridPlan& plan,
                 const std::vector<NodeIndex>& switches) {
    std::uint32_t stride = plan.switches;
    for (const std::uint32_t size : plan.dimensions) {
        stride /= size;
        for (std::uint32_t i = 0; i < plan.switches; ++i) {
            for (std::uint32_t place = i / stride % size + 1; place < size; ++place) {
                builder.cable(switches[i], switches[i + (place - i / stride % size) * stride]);
            }
        }
    }
}

std::expected<Fabric, Error> generate_hyperx(const Spec& spec) {
    GridPlan plan;
    if (auto result = choose_size(spec, hca_count(spec), plan); !result) {
        return std::unexpected(result.error());
    }
    if (auto result = check_grid(spec, plan); !result) {
        return std::unexpected(result.error());
    }
    if (auto result = choose_grid_ports(spec, cables_in_lines(plan.dimensions), plan); !result) {
        return std::unexpected(result.error());
    }
    FabricBuilder builder(spec);
    cable_lines(builder, plan, add_grid(builder, spec, plan));
    return builder.take();
}

}  // namespace

const Topology kHyperXTopology{.shape = Shape::kHyperX,
                               .name = "hyperx",
                               .keys = SpecKeys::kDimensions | SpecKeys::kHostsPerSwitch,
                               .layout = Layout::kGrid,
                               .generate = generate_hyperx};

}  // namespace softib::topo
