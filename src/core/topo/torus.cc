// SPDX-License-Identifier: BSD-2-Clause
// Tori of 1 to 5 dimensions: switch (x, y, …) is cabled to its two neighbours in every dimension,
// with wraparound. In a dimension of size 2 both neighbours are the same switch; it gets one cable,
// not two parallel ones, so that every pair of neighbours has the same bandwidth in every
// dimension. A dimension of size 1 has no cables.
#include <vector>

#include "core/topo/builder.h"
#include "core/topo/generators.h"
#include "core/topo/grid.h"
#include "core/topo/spec.h"
#include "core/topo/topology.h"

namespace softib::topo {

namespace {

// The defaults of a torus. Small ones have one HCA per switch, which shows their shape. Large ones
// have as many HCAs per switch as real installations, which use half of a 36-port switch for HCAs.
constexpr std::uint32_t kHcasOneEachMax = 64;
constexpr std::uint32_t kHcasPerSwitchLarge = 16;
constexpr std::uint32_t kSwitches2dMax = 16;

/// Returns the dimensions of the smallest box for `switches` switches whose sides are not longer
/// than those of the smallest cube (or square, if there are few) that holds them.
std::vector<std::uint32_t> near_cubic(std::uint32_t switches) {
    const bool flat = switches <= kSwitches2dMax;
    std::uint32_t side = 1;
    while ((flat ? side * side : side * side * side) < switches) {
        ++side;
    }
    std::vector<std::uint32_t> best;
    std::uint32_t best_product = UINT32_MAX;
    for (std::uint32_t a = side; a >= 1; --a) {
        for (std::uint32_t b = a; b >= 1; --b) {
            if (flat && b != 1) {
                continue;
            }
            const std::uint32_t product = side * a * b;
            if (product >= switches && product < best_product) {
                best_product = product;
                best = flat ? std::vector{side, a} : std::vector{side, a, b};
            }
        }
    }
    return best;
}

std::uint32_t cables_per_switch(const std::vector<std::uint32_t>& dimensions) {
    std::uint32_t cables = 0;
    for (const std::uint32_t size : dimensions) {
        cables += size >= 3 ? 2 : (size == 2 ? 1 : 0);
    }
    return cables;
}

std::expected<void, Error> choose_size(const Spec& spec, GridPlan& plan) {
    if (!spec.dimensions.empty()) {
        return take_dimensions(spec, plan);
    }
    const std::uint32_t hcas = hca_count(spec);
    plan.hcas_per_switch = spec.hosts_per_switch != 0 ? spec.hosts_per_switch
                           : hcas <= kHcasOneEachMax  ? 1
                                                      : kHcasPerSwitchLarge;
    // Cannot overflow: hcas fits the LID space, so a side is at most 37.
    set_dimensions(near_cubic(ceil_div(hcas, plan.hcas_per_switch)), plan);
    return {};
}

void cable_rings(FabricBuilder& builder, const GridPlan& plan,
                 const std::vector<NodeIndex>& switches) {
    std::uint32_t stride = plan.switches;
    for (const std::uint32_t size : plan.dimensions) {
        stride /= size;
        for (std::uint32_t i = 0; i < plan.switches && size > 1; ++i) {
            // Adds the cable to the next switch; a ring of size 2 has one cable only (see above).
            const std::uint32_t place = i / stride % size;
            if (place + 1 < size) {
                builder.cable(switches[i], switches[i + stride]);
            } else if (size > 2) {
                builder.cable(switches[i], switches[i - place * stride]);
            }
        }
    }
}

std::expected<Fabric, Error> generate_torus(const Spec& spec) {
    GridPlan plan;
    if (auto result = choose_size(spec, plan); !result) {
        return std::unexpected(result.error());
    }
    if (auto result = check_grid(spec, plan); !result) {
        return std::unexpected(result.error());
    }
    if (auto result = choose_grid_ports(spec, cables_per_switch(plan.dimensions), plan); !result) {
        return std::unexpected(result.error());
    }
    FabricBuilder builder(spec);
    cable_rings(builder, plan, add_grid(builder, spec, plan));
    return builder.take();
}

}  // namespace

const Topology kTorusTopology{.shape = Shape::kTorus,
                              .name = "torus",
                              .keys = SpecKeys::kDimensions | SpecKeys::kHostsPerSwitch,
                              .layout = Layout::kGrid,
                              .generate = generate_torus};

}  // namespace softib::topo
