// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortFlowCtlCounters (IBA vol. 1, 16.1.4.4).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct PortFlowCtlCounters {
    static constexpr std::size_t kBytes = 12;

    PortNum port_select{};
    std::uint16_t counter_select = 0;
    std::uint32_t port_xmit_flow_pkts = 0;
    std::uint32_t port_rcv_flow_pkts = 0;

    static constexpr auto fields() {
        using T = PortFlowCtlCounters;
        return Fields{
            Field{&T::port_select, "PortSelect", 8, 8},
            Field{&T::counter_select, "CounterSelect", 16, 16}.hex(),
            Field{&T::port_xmit_flow_pkts, "PortXmitFlowPkts", 32, 32},
            Field{&T::port_rcv_flow_pkts, "PortRcvFlowPkts", 64, 32},
        };
    }
    friend bool operator==(const PortFlowCtlCounters&, const PortFlowCtlCounters&) = default;
};
static_assert(layout_is_sound<PortFlowCtlCounters>());

}  // namespace softib::wire
