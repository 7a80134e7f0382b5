// SPDX-License-Identifier: BSD-2-Clause
// Tori of 1 to 5 dimensions: switch (x, y, …) is cabled to its two neighbours in every dimension,
// with wraparound. In a dimension of size 2 both neighbours are the same switch; it gets one cable,
// not two parallel ones, so that every pair of neighbours has the same bandwidth in every
// dimension. A dimension of size 1 has no cables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/topo/builder.h"
#include "core/topo/generators.h"

namespace softib::topo {

namespace {

constexpr std::size_t kDimensionsMax = 5;

// Chosen where the user leaves it to us: small tori show their shape with one HCA per switch;
// large ones spend switches as real installations do, half of a 36-port switch on HCAs.
constexpr std::uint32_t kHcasOneEachMax = 64;
constexpr std::uint32_t kHcasPerSwitchLarge = 16;
constexpr std::uint32_t kSwitches2dMax = 16;

struct TorusPlan {
    std::vector<std::uint32_t> dimensions;
    std::uint32_t switches = 1;
    std::uint32_t hcas_per_switch = 0;
    std::uint32_t ports = 0;
};

/// The smallest box with sides up to the side of the smallest cube that holds `switches`.
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

std::expected<void, Error> take_dimensions(const Spec& spec, TorusPlan& plan) {
    if (spec.dimensions.size() > kDimensionsMax) {
        return refuse(fmt::format("a torus has 1 to {} dimensions, not {}: leave some out",
                                  kDimensionsMax, spec.dimensions.size()));
    }
    std::uint64_t switches = 1;
    for (const std::uint32_t size : spec.dimensions) {
        if (size == 0) {
            return refuse("a torus dimension of size 0 holds nothing: take 1 or more");
        }
        switches *= size;
        if (auto result = check_lids(spec, switches); !result) {
            return result;
        }
    }
    plan.dimensions = spec.dimensions;
    plan.switches = static_cast<std::uint32_t>(switches);
    return {};
}

std::expected<void, Error> choose_size(const Spec& spec, TorusPlan& plan) {
    const std::uint32_t hcas = hca_count(spec);
    plan.hcas_per_switch = spec.hosts_per_switch;
    if (!spec.dimensions.empty()) {
        if (auto result = take_dimensions(spec, plan); !result) {
            return result;
        }
        if (plan.hcas_per_switch == 0) {
            plan.hcas_per_switch = ceil_div(hcas, plan.switches);
        }
    } else {
        if (plan.hcas_per_switch == 0) {
            plan.hcas_per_switch = hcas <= kHcasOneEachMax ? 1 : kHcasPerSwitchLarge;
        }
        // Cannot overflow: hcas fits the LID space, so a side is at most 37.
        plan.dimensions = near_cubic(ceil_div(hcas, plan.hcas_per_switch));
        for (const std::uint32_t size : plan.dimensions) {
            plan.switches *= size;
        }
    }
    const std::uint64_t fits = std::uint64_t{plan.switches} * plan.hcas_per_switch;
    if (hcas > fits) {
        return refuse(fmt::format(
            "{} HCAs do not fit a {} torus with {} on each of its {} switches: enlarge a "
            "dimension, raise hosts_per_switch to {}, or take at most {} hosts",
            hcas, fmt::join(plan.dimensions, "x"), plan.hcas_per_switch, plan.switches,
            ceil_div(hcas, plan.switches), fits / spec.hcas_per_host));
    }
    return check_lids(spec, plan.switches);
}

std::expected<void, Error> choose_ports(const Spec& spec, TorusPlan& plan) {
    const std::uint32_t ports_max = spec.radix != 0 ? spec.radix : kSwitchPortsMax;
    const std::uint32_t cables = cables_per_switch(plan.dimensions);
    const std::uint64_t needed = std::uint64_t{plan.hcas_per_switch} + cables;
    if (needed > ports_max) {
        return refuse(
            fmt::format("a switch of this torus needs {} ports ({} HCAs and {} cables to "
                        "neighbours) and has {}: enlarge a dimension{}",
                        needed, plan.hcas_per_switch, cables, ports_max,
                        needed <= kSwitchPortsMax ? " or raise radix" : ""));
    }
    plan.ports = spec.radix != 0 ? spec.radix : static_cast<std::uint32_t>(needed);
    return {};
}

/// The last dimension runs fastest: sw0_0, sw0_1, …
std::vector<std::uint32_t> coordinates_of(std::uint32_t index,
                                          const std::vector<std::uint32_t>& dimensions) {
    std::vector<std::uint32_t> coordinates(dimensions.size());
    for (std::size_t d = dimensions.size(); d-- > 0;) {
        coordinates[d] = index % dimensions[d];
        index /= dimensions[d];
    }
    return coordinates;
}

Fabric build(const Spec& spec, const TorusPlan& plan, const Placement& placement) {
    FabricBuilder builder(spec);
    std::vector<NodeIndex> switches;
    switches.reserve(plan.switches);
    for (std::uint32_t i = 0; i < plan.switches; ++i) {
        auto coordinates = coordinates_of(i, plan.dimensions);
        std::string name = fmt::format("sw{}", fmt::join(coordinates, "_"));
        switches.push_back(
            builder.add_switch(std::move(name), plan.ports, 0, std::move(coordinates)));
    }
    builder.cable_hcas(switches, placement);
    std::uint32_t stride = plan.switches;
    for (const std::uint32_t size : plan.dimensions) {
        stride /= size;
        for (std::uint32_t i = 0; i < plan.switches && size > 1; ++i) {
            // Each switch lays the cable to its successor; see the top for size 2.
            const std::uint32_t place = i / stride % size;
            if (place + 1 < size) {
                builder.cable(switches[i], switches[i + stride]);
            } else if (size > 2) {
                builder.cable(switches[i], switches[i - place * stride]);
            }
        }
    }
    return builder.take();
}

}  // namespace

std::expected<Fabric, Error> generate_torus(const Spec& spec) {
    TorusPlan plan;
    if (auto result = choose_size(spec, plan); !result) {
        return std::unexpected(result.error());
    }
    if (auto result = choose_ports(spec, plan); !result) {
        return std::unexpected(result.error());
    }
    return build(spec, plan, Placement(spec, plan.switches, plan.hcas_per_switch));
}

}  // namespace softib::topo
