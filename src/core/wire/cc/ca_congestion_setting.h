// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// CACongestionSetting: how an HCA slows down after notifications of congestion (IBA vol. 1, annex
// A10).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"

namespace softib::wire {

/// The bit of Port_Control by which flows are service levels; otherwise they are queue pairs.
inline constexpr std::uint16_t kCongestionPortControlSl = 1;

struct CaCongestionEntry {
    static constexpr std::size_t kBytes = 8;

    std::uint16_t ccti_timer = 0;  ///< In units of 1.024 us.
    std::uint8_t ccti_increase = 0;
    std::uint8_t trigger_threshold = 0;
    std::uint8_t ccti_min = 0;

    static constexpr auto fields() {
        using T = CaCongestionEntry;
        return Fields{
            Field{&T::ccti_timer, "CCTI_Timer", 0, 16},
            Field{&T::ccti_increase, "CCTI_Increase", 16, 8},
            Field{&T::trigger_threshold, "Trigger_Threshold", 24, 8},
            Field{&T::ccti_min, "CCTI_Min", 32, 8},
        };
    }
    friend bool operator==(const CaCongestionEntry&, const CaCongestionEntry&) = default;
};
static_assert(layout_is_sound<CaCongestionEntry>());

struct CaCongestionSetting {
    static constexpr std::size_t kBytes = 132;

    std::uint16_t port_control = 0;
    std::uint16_t control_map = 0;
    std::array<CaCongestionEntry, 16> entry{};  ///< By SL.

    static constexpr auto fields() {
        using T = CaCongestionSetting;
        return Fields{
            Field{&T::port_control, "Port_Control", 0, 16}.hex(),
            Field{&T::control_map, "Control_Map", 16, 16}.hex(),
            Field{&T::entry, "Entry", 32, 64},
        };
    }
    friend bool operator==(const CaCongestionSetting&, const CaCongestionSetting&) = default;
};
static_assert(layout_is_sound<CaCongestionSetting>());

}  // namespace softib::wire
