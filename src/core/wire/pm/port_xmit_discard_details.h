// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortXmitDiscardDetails: PortXmitDiscards by cause (IBA vol. 1, 16.1.4.2). Bit n of CounterSelect
// is the n-th counter.

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct PortXmitDiscardDetails {
    static constexpr std::size_t kBytes = 12;

    PortNum port_select{};
    std::uint16_t counter_select = 0;
    std::uint16_t port_inactive_discards = 0;
    std::uint16_t port_neighbor_mtu_discards = 0;
    std::uint16_t port_sw_lifetime_limit_discards = 0;
    std::uint16_t port_sw_hoq_lifetime_limit_discards = 0;

    static constexpr auto fields() {
        using T = PortXmitDiscardDetails;
        return Fields{
            Field{&T::port_select, "PortSelect", 8, 8},
            Field{&T::counter_select, "CounterSelect", 16, 16}.hex(),
            Field{&T::port_inactive_discards, "PortInactiveDiscards", 32, 16},
            Field{&T::port_neighbor_mtu_discards, "PortNeighborMTUDiscards", 48, 16},
            Field{&T::port_sw_lifetime_limit_discards, "PortSwLifetimeLimitDiscards", 64, 16},
            Field{&T::port_sw_hoq_lifetime_limit_discards, "PortSwHOQLifetimeLimitDiscards", 80,
                  16},
        };
    }
    friend bool operator==(const PortXmitDiscardDetails&, const PortXmitDiscardDetails&) = default;
};
static_assert(layout_is_sound<PortXmitDiscardDetails>());

}  // namespace softib::wire
