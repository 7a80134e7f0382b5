// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Measures of a fabric that follow from its cables alone, whatever the routes are.

#include <cstdint>

#include "core/topo/graph.h"

namespace softib::topo {

/// Returns the diameter: the length in cables of the longest shortest path between two switches
/// that have HCAs. Pairs of switches that no path joins do not count.
std::uint32_t find_diameter(const Fabric& fabric);

struct Bisection {
    std::uint64_t mbps = 0;       ///< The rate that the cables allow from one half to the other.
    std::uint64_t full_mbps = 0;  ///< The rate that the HCAs of one half can send.
};

/// Returns the largest flow (which is the smallest cut) from the first half of the hosts to the
/// second, in the order of Fabric::hosts. In generated fabrics neighbours are next to each other in
/// this order, so that it is the worst cut. With an odd number of hosts the middle one is left out.
Bisection find_bisection(const Fabric& fabric);

}  // namespace softib::topo
