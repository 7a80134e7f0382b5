// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The process that moves a fabric's packets: all HCAs, cables and switches, in one thread. It
// attaches to the fabric like any program, so that the same rules make its accesses to other
// processes' memory safe. The network's time follows the wall clock and never runs ahead of it:
// links have their nominal speed, or the speed at which this thread can work.

#include <expected>
#include <string>

#include "core/topo/graph.h"
#include "spec/trunk_plan.h"

namespace softib::carrier {

struct CarrierOptions {
    std::string dir;     ///< The fabric's directory; its daemon must be running.
    double speed = 1.0;  ///< Speed of all links, as a fraction of their nominal speed.
    spec::Trunks trunks{};
};

/// Attaches to the fabric and moves its packets until the process is killed. Returns only if it
/// cannot begin; the error says why.
std::expected<void, std::string> carry(const topo::Fabric& fabric, const CarrierOptions& options);

}  // namespace softib::carrier
