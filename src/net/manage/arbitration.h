// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Turns the VLArbitrationTable that a manager wrote into the table that the links of a plant use.

#include <cstdint>
#include <span>

#include "core/link/arbiter.h"

namespace softib::net {

/// Returns the arbitration table of a port. `blocks`: the four blocks of VLArbitrationTable.
/// `high_limit`: PortInfo.VLHighLimit.
link::ArbitrationTable parse_arbitration(std::span<const std::uint8_t> blocks,
                                         std::uint8_t high_limit);

}  // namespace softib::net
