// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortVLXmitWaitCounters: ticks of waiting to send, by lane (IBA vol. 1, 16.1.4.8).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct PortVlXmitWaitCounters {
    static constexpr std::size_t kBytes = 36;

    PortNum port_select{};
    std::uint16_t counter_select = 0;
    std::array<std::uint16_t, 16> port_vl_xmit_wait{};

    static constexpr auto fields() {
        using T = PortVlXmitWaitCounters;
        return Fields{
            Field{&T::port_select, "PortSelect", 8, 8},
            Field{&T::counter_select, "CounterSelect", 16, 16}.hex(),
            Field{&T::port_vl_xmit_wait, "PortVLXmitWait", 32, 16},
        };
    }
    friend bool operator==(const PortVlXmitWaitCounters&, const PortVlXmitWaitCounters&) = default;
};
static_assert(layout_is_sound<PortVlXmitWaitCounters>());

}  // namespace softib::wire
