// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The counters that a port has for each virtual lane, or for each service level.

#include <array>
#include <cstddef>
#include <cstdint>

namespace softib::counters {

enum class PerLane : std::uint8_t {
    // By service level.
    kXmitWords,
    kRcvWords,
    kRcvFecn,
    kRcvBecn,
    // By lane.
    kXmitWait,            ///< Ticks in which the lane had something to send and did not send.
    kCongestionDiscards,  ///< Packets dropped because they waited longer than the switch allows.
    kTimeCongested,       ///< Ticks in which the lane's queue was longer than its threshold.
};
inline constexpr std::size_t kPerLaneKinds = 7;

struct LaneCounts {
    std::array<std::array<std::uint64_t, 16>, kPerLaneKinds> of{};

    std::array<std::uint64_t, 16>& operator[](PerLane kind) {
        return of[static_cast<std::size_t>(kind)];
    }
    const std::array<std::uint64_t, 16>& operator[](PerLane kind) const {
        return of[static_cast<std::size_t>(kind)];
    }
};

}  // namespace softib::counters
