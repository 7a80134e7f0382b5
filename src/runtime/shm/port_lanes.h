// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The lanes of a port: the tables and limits that managers wrote, and what the lanes carried. Only
// the packet path uses it; elsewhere its pages are never touched.

#include <atomic>
#include <cstdint>

#include "core/counters/lane_counts.h"

namespace softib::live {

inline constexpr std::uint32_t kArbitrationBytes = 256;  ///< Four blocks of VLArbitrationTable.

/// SwitchCongestionSetting, the same at all ports of a switch (sw::MarkingRule).
struct Marking {
    std::atomic<std::uint8_t> threshold;
    std::atomic<std::uint8_t> packet_blocks;
    std::atomic<std::uint8_t> victims_mark;
    std::atomic<std::uint16_t> marking_rate;
};

/// CACongestionSetting and CongestionControlTable of an HCA (link::InjectionControl).
struct Injection {
    static constexpr std::uint32_t kEntries = 128;
    std::atomic<std::uint32_t> generation;  ///< Moves after each change; 0: nothing was written.
    std::atomic<std::uint16_t> limit;       ///< CCTI_Limit
    struct {
        std::atomic<std::uint16_t> timer;
        std::atomic<std::uint8_t> increase;
        std::atomic<std::uint8_t> minimum;
        std::atomic<std::uint8_t> trigger;
    } rules[16];
    /// Multiplier, and the shift above its 14 bits.
    std::atomic<std::uint16_t> delays[kEntries];
};

/// Adaptive routing of a switch (sw::AdaptiveTable).
struct AdaptiveRecord {
    static constexpr std::uint32_t kGroups = 1025;
    static constexpr std::uint32_t kLids = 0xC000;
    std::atomic<std::uint32_t> generation;         ///< Moves after each change; 0: it was never on.
    std::atomic<std::uint32_t> lids;               ///< Below this one; 0: it is off.
    std::atomic<std::uint64_t> ports[kGroups][4];  ///< Bit n of all: port n. Group 0 has none.
    std::atomic<std::uint16_t> group_of[kLids];
};

struct PortLanes {
    /// Moves after each change of what follows, up to the counts, and of the port's SLtoVL rows.
    std::atomic<std::uint32_t> generation;
    std::atomic<std::uint8_t> operational_vls;      ///< PortInfo's code; 0: not said yet.
    std::atomic<std::uint8_t> high_limit;           ///< PortInfo.VLHighLimit
    std::atomic<std::uint8_t> has_rows;             ///< 0: SLtoVL is as at power-up.
    std::atomic<std::uint8_t> has_arbitration;      ///< 0: the same.
    std::atomic<std::uint8_t> physical_errors_max;  ///< PortInfo.LocalPhyErrors
    // Only in a switch's port:
    std::atomic<std::uint8_t> lifetime;        ///< SwitchInfo.LifeTimeValue
    std::atomic<std::uint8_t> hoq_life;        ///< PortInfo.HOQLife
    std::atomic<std::uint8_t> vl_stall_count;  ///< PortInfo.VLStallCount
    std::atomic<std::uint8_t> has_limits;      ///< 0: they were not brought here yet.
    Marking marking;
    std::atomic<std::uint8_t> arbitration[kArbitrationBytes];
    /// As counters::LaneCounts.
    std::atomic<std::uint64_t> counts[counters::kPerLaneKinds][16];
};

/// Sixteen lanes of four bits each, that of service level 0 lowest.
using SlRow = std::atomic<std::uint64_t>;

}  // namespace softib::live
