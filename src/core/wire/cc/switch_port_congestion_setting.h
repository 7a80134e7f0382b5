// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SwitchPortCongestionSetting: settings of single ports, which override SwitchCongestionSetting
// (IBA vol. 1, annex A10).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"

namespace softib::wire {

struct SwitchPortCongestionEntry {
    static constexpr std::size_t kBytes = 4;

    bool valid = false;
    /// The entry is for marking of packets (false) or for credit starvation (true).
    bool control_type = false;
    std::uint8_t threshold = 0;
    std::uint8_t packet_size = 0;
    std::uint16_t cong_parm_marking_rate = 0;

    static constexpr auto fields() {
        using T = SwitchPortCongestionEntry;
        return Fields{
            Field{&T::valid, "Valid", 0, 1},
            Field{&T::control_type, "Control_Type", 1, 1},
            Field{&T::threshold, "Threshold", 4, 4},
            Field{&T::packet_size, "Packet_Size", 8, 8},
            Field{&T::cong_parm_marking_rate, "Cong_Parm_Marking_Rate", 16, 16},
        };
    }
    friend bool operator==(const SwitchPortCongestionEntry&,
                           const SwitchPortCongestionEntry&) = default;
};
static_assert(layout_is_sound<SwitchPortCongestionEntry>());

/// The settings of a block of ports.
struct SwitchPortCongestionSetting {
    static constexpr std::size_t kBytes = 192;

    std::array<SwitchPortCongestionEntry, 48> entry{};

    static constexpr auto fields() {
        using T = SwitchPortCongestionSetting;
        return Fields{
            Field{&T::entry, "Entry", 0, 32},
        };
    }
    friend bool operator==(const SwitchPortCongestionSetting&,
                           const SwitchPortCongestionSetting&) = default;
};
static_assert(layout_is_sound<SwitchPortCongestionSetting>());

}  // namespace softib::wire
