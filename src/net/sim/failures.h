// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Cables and switches that are lost for good, before a simulation or at a time in it.

#include <cstdint>
#include <vector>

#include "core/topo/graph.h"
#include "net/model.h"

namespace softib::net {

struct Failure {
    Hop what = {};  ///< Port 0: the whole node; otherwise both directions of the cable at the port.
    TimePs at = 0;  ///< When it fails; 0: it was never there.
    friend bool operator==(const Failure&, const Failure&) = default;
};

/// Removes the cable, or all cables of the node, from a fabric.
void take_out(topo::Fabric& fabric, const Hop& what);

/// Returns the cables between switches, each named by the end that the fabric lists first.
std::vector<Hop> cables_between_switches(const topo::Fabric& fabric);

/// Returns the cables inside a fabric: those between switches, then those of routers between
/// subnets, which are named by the router's end.
std::vector<Hop> inner_cables(const topo::Fabric& fabric);

/// Returns `count` different inner cables at random, or all if there are no more than that.
std::vector<Hop> draw_cables(const topo::Fabric& fabric, std::uint32_t count, std::uint64_t seed);

}  // namespace softib::net
