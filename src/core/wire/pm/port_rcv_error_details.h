// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortRcvErrorDetails: PortRcvErrors by cause (IBA vol. 1, 16.1.4.1). Bit n of CounterSelect is the
// n-th counter.

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct PortRcvErrorDetails {
    static constexpr std::size_t kBytes = 16;

    PortNum port_select{};
    std::uint16_t counter_select = 0;
    std::uint16_t port_local_physical_errors = 0;
    std::uint16_t port_malformed_packet_errors = 0;
    std::uint16_t port_buffer_overrun_errors = 0;
    std::uint16_t port_dlid_mapping_errors = 0;
    std::uint16_t port_vl_mapping_errors = 0;
    std::uint16_t port_looping_errors = 0;

    static constexpr auto fields() {
        using T = PortRcvErrorDetails;
        return Fields{
            Field{&T::port_select, "PortSelect", 8, 8},
            Field{&T::counter_select, "CounterSelect", 16, 16}.hex(),
            Field{&T::port_local_physical_errors, "PortLocalPhysicalErrors", 32, 16},
            Field{&T::port_malformed_packet_errors, "PortMalformedPacketErrors", 48, 16},
            Field{&T::port_buffer_overrun_errors, "PortBufferOverrunErrors", 64, 16},
            Field{&T::port_dlid_mapping_errors, "PortDLIDMappingErrors", 80, 16},
            Field{&T::port_vl_mapping_errors, "PortVLMappingErrors", 96, 16},
            Field{&T::port_looping_errors, "PortLoopingErrors", 112, 16},
        };
    }
    friend bool operator==(const PortRcvErrorDetails&, const PortRcvErrorDetails&) = default;
};
static_assert(layout_is_sound<PortRcvErrorDetails>());

}  // namespace softib::wire
