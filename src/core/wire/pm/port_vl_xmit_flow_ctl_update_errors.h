// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortVLXmitFlowCtlUpdateErrors: errors of flow control updates, by lane (IBA vol. 1, 16.1.4.7).

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct PortVlXmitFlowCtlUpdateErrors {
    static constexpr std::size_t kBytes = 8;

    PortNum port_select{};
    std::uint16_t counter_select = 0;
    std::array<std::uint8_t, 16> port_vl_xmit_flow_ctl_update_errors{};

    static constexpr auto fields() {
        using T = PortVlXmitFlowCtlUpdateErrors;
        return Fields{
            Field{&T::port_select, "PortSelect", 8, 8},
            Field{&T::counter_select, "CounterSelect", 16, 16}.hex(),
            Field{&T::port_vl_xmit_flow_ctl_update_errors, "PortVLXmitFlowCtlUpdateErrors", 32, 2},
        };
    }
    friend bool operator==(const PortVlXmitFlowCtlUpdateErrors&,
                           const PortVlXmitFlowCtlUpdateErrors&) = default;
};
static_assert(layout_is_sound<PortVlXmitFlowCtlUpdateErrors>());

}  // namespace softib::wire
