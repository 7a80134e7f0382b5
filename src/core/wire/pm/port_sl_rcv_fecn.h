// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortSLRcvFECN: packets received with FECN, by service level (IBA vol. 1, annex A10).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct PortSlRcvFecn {
    static constexpr std::size_t kBytes = 68;

    PortNum port_select{};
    std::uint16_t counter_select = 0;
    std::array<std::uint32_t, 16> port_sl_rcv_fecn{};

    static constexpr auto fields() {
        using T = PortSlRcvFecn;
        return Fields{
            Field{&T::port_select, "PortSelect", 8, 8},
            Field{&T::counter_select, "CounterSelect", 16, 16}.hex(),
            Field{&T::port_sl_rcv_fecn, "PortSLRcvFECN", 32, 32},
        };
    }
    friend bool operator==(const PortSlRcvFecn&, const PortSlRcvFecn&) = default;
};
static_assert(layout_is_sound<PortSlRcvFecn>());

}  // namespace softib::wire
