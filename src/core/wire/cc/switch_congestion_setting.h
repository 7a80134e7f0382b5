// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SwitchCongestionSetting: when a switch marks packets (IBA vol. 1, annex A10).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"

namespace softib::wire {

/// Bits of Control_Map: the fields that the switch must use.
namespace switch_control_map {
inline constexpr std::uint32_t kVictimMask = 1U << 0;
inline constexpr std::uint32_t kCreditMask = 1U << 1;
inline constexpr std::uint32_t kThresholdAndPacketSize = 1U << 2;
inline constexpr std::uint32_t kCreditStarvation = 1U << 3;
inline constexpr std::uint32_t kMarkingRate = 1U << 4;
}  // namespace switch_control_map

struct SwitchCongestionSetting {
    static constexpr std::size_t kBytes = 76;

    std::uint32_t control_map = 0;
    std::array<std::uint8_t, 32> victim_mask{};
    std::array<std::uint8_t, 32> credit_mask{};
    std::uint8_t threshold = 0;    ///< 0: never marks; 15: marks soonest.
    std::uint8_t packet_size = 0;  ///< In units of 64 bytes; shorter packets are not marked.
    std::uint8_t cs_threshold = 0;
    std::uint16_t cs_return_delay = 0;  ///< Coded like a CongestionControlTableEntry.
    std::uint16_t marking_rate = 0;     ///< The number of packets between two marked ones.

    static constexpr auto fields() {
        using T = SwitchCongestionSetting;
        return Fields{
            Field{&T::control_map, "Control_Map", 0, 32}.hex(),
            Field{&T::victim_mask, "Victim_Mask", 32, 8}.hex(),
            Field{&T::credit_mask, "Credit_Mask", 288, 8}.hex(),
            Field{&T::threshold, "Threshold", 544, 4},
            Field{&T::packet_size, "Packet_Size", 552, 8},
            Field{&T::cs_threshold, "CS_Threshold", 560, 4},
            Field{&T::cs_return_delay, "CS_ReturnDelay", 576, 16}.hex(),
            Field{&T::marking_rate, "Marking_Rate", 592, 16},
        };
    }
    friend bool operator==(const SwitchCongestionSetting&,
                           const SwitchCongestionSetting&) = default;
};
static_assert(layout_is_sound<SwitchCongestionSetting>());

}  // namespace softib::wire
