// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortXmitConCtrl: how long a port was congested (IBA vol. 1, annex A10).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct PortXmitConCtrl {
    static constexpr std::size_t kBytes = 8;

    PortNum port_select{};
    std::uint16_t counter_select = 0;
    std::uint32_t port_xmit_time_cong = 0;

    static constexpr auto fields() {
        using T = PortXmitConCtrl;
        return Fields{
            Field{&T::port_select, "PortSelect", 8, 8},
            Field{&T::counter_select, "CounterSelect", 16, 16}.hex(),
            Field{&T::port_xmit_time_cong, "PortXmitTimeCong", 32, 32},
        };
    }
    friend bool operator==(const PortXmitConCtrl&, const PortXmitConCtrl&) = default;
};
static_assert(layout_is_sound<PortXmitConCtrl>());

}  // namespace softib::wire
