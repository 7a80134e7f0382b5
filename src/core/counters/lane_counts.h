// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a port counts apart for each of its virtual lanes, or for each service level.

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
    kXmitWait,            ///< Ticks in which it had something to send, and did not.
    kCongestionDiscards,  ///< Packets that waited longer than a switch lets them.
    kTimeCongested,       ///< Ticks in which more waited than its threshold allows.
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
