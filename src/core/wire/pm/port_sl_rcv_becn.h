// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortSLRcvBECN: packets received with BECN, by service level (IBA vol. 1, annex A10).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct PortSlRcvBecn {
    static constexpr std::size_t kBytes = 68;

    PortNum port_select{};
    std::uint16_t counter_select = 0;
    std::array<std::uint32_t, 16> port_sl_rcv_becn{};

    static constexpr auto fields() {
        using T = PortSlRcvBecn;
        return Fields{
            Field{&T::port_select, "PortSelect", 8, 8},
            Field{&T::counter_select, "CounterSelect", 16, 16}.hex(),
            Field{&T::port_sl_rcv_becn, "PortSLRcvBECN", 32, 32},
        };
    }
    friend bool operator==(const PortSlRcvBecn&, const PortSlRcvBecn&) = default;
};
static_assert(layout_is_sound<PortSlRcvBecn>());

}  // namespace softib::wire
