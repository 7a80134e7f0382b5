// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a fabric can do by its cables alone, whatever routes it gets.

#include <cstdint>

#include "core/topo/fabric.h"

namespace softib::topo {

/// The most cables between two switches that carry HCAs, by the shortest way; of switches that
/// reach each other.
std::uint32_t find_diameter(const Fabric& fabric);

struct Bisection {
    std::uint64_t mbps =
        0;  ///< What the cables carry from the first half of the hosts to the second.
    std::uint64_t full_mbps = 0;  ///< What the HCAs of one half can send.
};

/// The largest flow (and smallest cut) between the first and the second half of the hosts, as the
/// fabric lists them: with generated fabrics neighbours stand together, so that this is the cut
/// that hurts. Of an odd number of hosts the one in the middle is left out.
Bisection find_bisection(const Fabric& fabric);

}  // namespace softib::topo
