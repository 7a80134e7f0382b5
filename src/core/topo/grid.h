// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The parts that tori and HyperX share: switches in a grid of 1 to 5 dimensions with HCAs on each.
// Internal to this folder.

#include <cstdint>
#include <expected>
#include <vector>

#include "core/topo/builder.h"
#include "core/topo/graph.h"
#include "core/topo/spec.h"

namespace softib::topo {

struct GridPlan {
    std::vector<std::uint32_t> dimensions;
    std::uint32_t switches = 1;
    std::uint32_t hcas_per_switch = 0;
    std::uint32_t ports = 0;
};

/// Sets the plan to the dimensions that the user asked for, with as many HCAs per switch as needed.
std::expected<void, Error> take_dimensions(const Spec& spec, GridPlan& plan);
/// Sets the plan to dimensions that the generator chose.
void set_dimensions(std::vector<std::uint32_t> dimensions, GridPlan& plan);

/// Checks that the HCAs fit the switches, and that there are enough LIDs.
std::expected<void, Error> check_grid(const Spec& spec, const GridPlan& plan);
/// Sets the number of ports of a switch that has `cables` cables to other switches.
std::expected<void, Error> choose_grid_ports(const Spec& spec, std::uint32_t cables,
                                             GridPlan& plan);

/// Adds the switches and the cables to HCAs. The last coordinate counts up first: sw0_0, sw0_1, …
std::vector<NodeIndex> add_grid(FabricBuilder& builder, const Spec& spec, const GridPlan& plan);

}  // namespace softib::topo
