// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The lanes of a port: what managers wrote of them, and of its cable, and what they carried. On the
// packet path only; elsewhere nobody looks, and the pages are never made.

#include <atomic>
#include <cstdint>

#include "core/agent/lane_counts.h"

namespace softib::live {

inline constexpr std::uint32_t kArbitrationBytes = 256;  ///< Four blocks of VLArbitrationTable.

struct PortLanes {
    /// Moves after each change of what follows, up to the counts, and of the port's SLtoVL rows.
    std::atomic<std::uint32_t> generation;
    std::atomic<std::uint8_t> operational_vls;      ///< PortInfo's code; 0: not said yet.
    std::atomic<std::uint8_t> high_limit;           ///< PortInfo.VLHighLimit
    std::atomic<std::uint8_t> has_rows;             ///< 0: SLtoVL is as at power-up.
    std::atomic<std::uint8_t> has_arbitration;      ///< 0: the same.
    std::atomic<std::uint8_t> physical_errors_max;  ///< PortInfo.LocalPhyErrors
    std::atomic<std::uint8_t> arbitration[kArbitrationBytes];
    /// As agent::LaneCounts.
    std::atomic<std::uint64_t> counts[agent::kPerLaneKinds][16];
};

/// Sixteen lanes of four bits each, that of service level 0 lowest.
using SlRow = std::atomic<std::uint64_t>;

}  // namespace softib::live
