// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortVLOpPackets: packets of one opcode, by lane (IBA vol. 1, 16.1.4.5).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct PortVlOpPackets {
    static constexpr std::size_t kBytes = 36;

    std::uint8_t op_code = 0;
    PortNum port_select{};
    std::uint16_t counter_select = 0;
    std::array<std::uint16_t, 16> port_vl_op_packets{};

    static constexpr auto fields() {
        using T = PortVlOpPackets;
        return Fields{
            Field{&T::op_code, "OpCode", 0, 8}.hex(),
            Field{&T::port_select, "PortSelect", 8, 8},
            Field{&T::counter_select, "CounterSelect", 16, 16}.hex(),
            Field{&T::port_vl_op_packets, "PortVLOpPackets", 32, 16},
        };
    }
    friend bool operator==(const PortVlOpPackets&, const PortVlOpPackets&) = default;
};
static_assert(layout_is_sound<PortVlOpPackets>());

}  // namespace softib::wire
