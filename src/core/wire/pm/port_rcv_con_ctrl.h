// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortRcvConCtrl: packets received with FECN and with BECN (IBA vol. 1, annex A10).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct PortRcvConCtrl {
    static constexpr std::size_t kBytes = 12;

    PortNum port_select{};
    std::uint16_t counter_select = 0;
    std::uint32_t port_pkt_rcv_fecn = 0;
    std::uint32_t port_pkt_rcv_becn = 0;

    static constexpr auto fields() {
        using T = PortRcvConCtrl;
        return Fields{
            Field{&T::port_select, "PortSelect", 8, 8},
            Field{&T::counter_select, "CounterSelect", 16, 16}.hex(),
            Field{&T::port_pkt_rcv_fecn, "PortPktRcvFECN", 32, 32},
            Field{&T::port_pkt_rcv_becn, "PortPktRcvBECN", 64, 32},
        };
    }
    friend bool operator==(const PortRcvConCtrl&, const PortRcvConCtrl&) = default;
};
static_assert(layout_is_sound<PortRcvConCtrl>());

}  // namespace softib::wire
