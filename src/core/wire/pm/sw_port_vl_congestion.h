// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SwPortVLCongestion: packets that a switch marked, by lane (IBA vol. 1, annex A10).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct SwPortVlCongestion {
    static constexpr std::size_t kBytes = 36;

    PortNum port_select{};
    std::uint16_t counter_select = 0;
    std::array<std::uint16_t, 16> sw_port_vl_congestion{};

    static constexpr auto fields() {
        using T = SwPortVlCongestion;
        return Fields{
            Field{&T::port_select, "PortSelect", 8, 8},
            Field{&T::counter_select, "CounterSelect", 16, 16}.hex(),
            Field{&T::sw_port_vl_congestion, "SWPortVLCongestion", 32, 16},
        };
    }
    friend bool operator==(const SwPortVlCongestion&, const SwPortVlCongestion&) = default;
};
static_assert(layout_is_sound<SwPortVlCongestion>());

}  // namespace softib::wire
