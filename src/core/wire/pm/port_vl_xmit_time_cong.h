// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortVLXmitTimeCong: PortXmitTimeCong by lane (IBA vol. 1, annex A10).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct PortVlXmitTimeCong {
    static constexpr std::size_t kBytes = 64;

    PortNum port_select{};
    std::uint16_t counter_select = 0;
    std::array<std::uint32_t, 15> port_vl_xmit_time_cong{};

    static constexpr auto fields() {
        using T = PortVlXmitTimeCong;
        return Fields{
            Field{&T::port_select, "PortSelect", 8, 8},
            Field{&T::counter_select, "CounterSelect", 16, 16}.hex(),
            Field{&T::port_vl_xmit_time_cong, "PortVLXmitTimeCong", 32, 32},
        };
    }
    friend bool operator==(const PortVlXmitTimeCong&, const PortVlXmitTimeCong&) = default;
};
static_assert(layout_is_sound<PortVlXmitTimeCong>());

}  // namespace softib::wire
