// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortOpRcvCounters: packets and data received with one opcode (IBA vol. 1, 16.1.4.3).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct PortOpRcvCounters {
    static constexpr std::size_t kBytes = 12;

    std::uint8_t op_code = 0;
    PortNum port_select{};
    std::uint16_t counter_select = 0;
    std::uint32_t port_op_rcv_pkts = 0;
    std::uint32_t port_op_rcv_data = 0;

    static constexpr auto fields() {
        using T = PortOpRcvCounters;
        return Fields{
            Field{&T::op_code, "OpCode", 0, 8}.hex(),
            Field{&T::port_select, "PortSelect", 8, 8},
            Field{&T::counter_select, "CounterSelect", 16, 16}.hex(),
            Field{&T::port_op_rcv_pkts, "PortOpRcvPkts", 32, 32},
            Field{&T::port_op_rcv_data, "PortOpRcvData", 64, 32},
        };
    }
    friend bool operator==(const PortOpRcvCounters&, const PortOpRcvCounters&) = default;
};
static_assert(layout_is_sound<PortOpRcvCounters>());

}  // namespace softib::wire
