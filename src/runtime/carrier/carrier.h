// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The process that moves a fabric's packets: all HCAs, cables and switches, in one thread. It is a
// member of the fabric like any program, so that whatever it touches of others is safe by the same
// rules. The network's time follows the wall clock and never runs ahead of it: links are as fast as
// they say, or as fast as this thread can work.

#include <expected>
#include <string>

#include "core/topo/fabric.h"
#include "spec/trunk_plan.h"

namespace softib::carrier {

struct CarrierOptions {
    std::string dir;     ///< The fabric's directory, with its daemon serving.
    double speed = 1.0;  ///< Speed of all links, as a part of what their generations say.
    spec::Trunks trunks{};
};

/// Attaches to the fabric and carries its packets until the process is killed. Returns only with
/// the reason why it could not begin.
std::expected<void, std::string> carry(const topo::Fabric& fabric, const CarrierOptions& options);

}  // namespace softib::carrier
