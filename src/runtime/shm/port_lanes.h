// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The virtual lanes of a port: the tables and limits that managers wrote, and the counters of the
// lanes. Only the packet path uses them; on the direct path their pages are never touched.

#include <atomic>
#include <cstdint>

#include "core/counters/lane_counts.h"

namespace softib::shm {

/// Size of the four blocks of VLArbitrationTable.
inline constexpr std::uint32_t kArbitrationBytes = 256;

/// When the port of a switch marks packets (sw::MarkingRule): SwitchCongestionSetting, or what
/// SwitchPortCongestionSetting says of this port instead.
struct Marking {
    std::atomic<std::uint8_t> threshold;
    std::atomic<std::uint8_t> packet_blocks;
    std::atomic<std::uint8_t> victims_mark;
    std::atomic<std::uint16_t> marking_rate;
};

/// CACongestionSetting and CongestionControlTable of an HCA (link::InjectionControl).
struct Injection {
    static constexpr std::uint32_t kEntries = 128;
    std::atomic<std::uint32_t> generation;  ///< Grows after each change; 0: nothing was written.
    std::atomic<std::uint16_t> limit;       ///< CCTI_Limit
    struct {
        std::atomic<std::uint16_t> timer;
        std::atomic<std::uint8_t> increase;
        std::atomic<std::uint8_t> minimum;
        std::atomic<std::uint8_t> trigger;
    } rules[16];
    /// Entries of the table: the multiplier in 14 bits, and the shift above it.
    std::atomic<std::uint16_t> delays[kEntries];
};

/// Adaptive routing of a switch (sw::AdaptiveTable).
struct AdaptiveRecord {
    static constexpr std::uint32_t kGroups = 1025;
    static constexpr std::uint32_t kLids = 0xC000;
    std::atomic<std::uint32_t> generation;  ///< Grows after each change; 0: it was never on.
    std::atomic<std::uint32_t> lids;        ///< LIDs below this one have a group; 0: it is off.
    std::atomic<std::uint64_t> ports[kGroups][4];  ///< A bit for each port. Group 0 has none.
    std::atomic<std::uint16_t> group_of[kLids];
};

/// The virtual lanes of one port.
struct PortLanes {
    /// Grows after each change of the port's SLtoVL rows or of the members below, except `counts`.
    std::atomic<std::uint32_t> generation;
    std::atomic<std::uint8_t> operational_vls;  ///< PortInfo.OperationalVLs; 0: not written yet.
    std::atomic<std::uint8_t> high_limit;       ///< PortInfo.VLHighLimit
    std::atomic<std::uint8_t> has_rows;         ///< 0: the SLtoVL table is as at power-up.
    std::atomic<std::uint8_t> has_arbitration;  ///< 0: VL arbitration is as at power-up.
    std::atomic<std::uint8_t> physical_errors_max;  ///< PortInfo.LocalPhyErrors
    // Only for ports of switches:
    std::atomic<std::uint8_t> lifetime;        ///< SwitchInfo.LifeTimeValue
    std::atomic<std::uint8_t> hoq_life;        ///< PortInfo.HOQLife
    std::atomic<std::uint8_t> vl_stall_count;  ///< PortInfo.VLStallCount
    std::atomic<std::uint8_t> has_limits;      ///< 0: the three limits above were not written yet.
    Marking marking;
    std::atomic<std::uint8_t> arbitration[kArbitrationBytes];
    /// Counters of the lanes, as in counters::LaneCounts.
    std::atomic<std::uint64_t> counts[counters::kPerLaneKinds][16];
};

/// A row of an SLtoVL table: the lane of each service level in four bits, service level 0 lowest.
using SlRow = std::atomic<std::uint64_t>;

}  // namespace softib::shm
