// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortVLOpData: data of one opcode, by lane (IBA vol. 1, 16.1.4.6).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct PortVlOpData {
    static constexpr std::size_t kBytes = 68;

    std::uint8_t op_code = 0;
    PortNum port_select{};
    std::uint16_t counter_select = 0;
    std::array<std::uint32_t, 16> port_vl_op_data{};

    static constexpr auto fields() {
        using T = PortVlOpData;
        return Fields{
            Field{&T::op_code, "OpCode", 0, 8}.hex(),
            Field{&T::port_select, "PortSelect", 8, 8},
            Field{&T::counter_select, "CounterSelect", 16, 16}.hex(),
            Field{&T::port_vl_op_data, "PortVLOpData", 32, 32},
        };
    }
    friend bool operator==(const PortVlOpData&, const PortVlOpData&) = default;
};
static_assert(layout_is_sound<PortVlOpData>());

}  // namespace softib::wire
