// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A manager's arbitration table, as links go by it.

#include <cstdint>
#include <span>

#include "core/link/arbiter.h"

namespace softib::net {

/// `blocks`: the four blocks of VLArbitrationTable. `high_limit`: PortInfo.VLHighLimit.
link::ArbitrationTable parse_arbitration(std::span<const std::uint8_t> blocks,
                                         std::uint8_t high_limit);

}  // namespace softib::net
