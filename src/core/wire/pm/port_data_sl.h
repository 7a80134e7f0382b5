// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortXmitDataSL and PortRcvDataSL: traffic by service level, in units of 4 bytes (IBA vol. 1,
// annex A13).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct PortXmitDataSl {
    static constexpr std::size_t kBytes = 68;

    PortNum port_select{};
    std::uint16_t counter_select = 0;
    std::array<std::uint32_t, 16> port_xmit_data_sl{};

    static constexpr auto fields() {
        using T = PortXmitDataSl;
        return Fields{
            Field{&T::port_select, "PortSelect", 8, 8},
            Field{&T::counter_select, "CounterSelect", 16, 16}.hex(),
            Field{&T::port_xmit_data_sl, "PortXmitDataSL", 32, 32},
        };
    }
    friend bool operator==(const PortXmitDataSl&, const PortXmitDataSl&) = default;
};
static_assert(layout_is_sound<PortXmitDataSl>());

struct PortRcvDataSl {
    static constexpr std::size_t kBytes = 68;

    PortNum port_select{};
    std::uint16_t counter_select = 0;
    std::array<std::uint32_t, 16> port_rcv_data_sl{};

    static constexpr auto fields() {
        using T = PortRcvDataSl;
        return Fields{
            Field{&T::port_select, "PortSelect", 8, 8},
            Field{&T::counter_select, "CounterSelect", 16, 16}.hex(),
            Field{&T::port_rcv_data_sl, "PortRcvDataSL", 32, 32},
        };
    }
    friend bool operator==(const PortRcvDataSl&, const PortRcvDataSl&) = default;
};
static_assert(layout_is_sound<PortRcvDataSl>());

}  // namespace softib::wire
