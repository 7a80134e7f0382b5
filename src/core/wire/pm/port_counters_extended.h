// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortCountersExtended: counters of 64 bits, which go on at 0 after their largest value (IBA vol.
// 1, 16.1.4.11).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

/// Bits of CounterSelect: the counters that a Set() writes.
namespace port_counters_extended_select {
inline constexpr std::uint16_t kPortXmitData = 1U << 0;
inline constexpr std::uint16_t kPortRcvData = 1U << 1;
inline constexpr std::uint16_t kPortXmitPkts = 1U << 2;
inline constexpr std::uint16_t kPortRcvPkts = 1U << 3;
inline constexpr std::uint16_t kPortUnicastXmitPkts = 1U << 4;
inline constexpr std::uint16_t kPortUnicastRcvPkts = 1U << 5;
inline constexpr std::uint16_t kPortMulticastXmitPkts = 1U << 6;
inline constexpr std::uint16_t kPortMulticastRcvPkts = 1U << 7;
}  // namespace port_counters_extended_select

/// Bits of CounterSelect2: further counters that a Set() writes.
namespace port_counters_extended_select2 {
inline constexpr std::uint32_t kSymbolErrorCounter = 1U << 0;
inline constexpr std::uint32_t kLinkErrorRecoveryCounter = 1U << 1;
inline constexpr std::uint32_t kLinkDownedCounter = 1U << 2;
inline constexpr std::uint32_t kPortRcvErrors = 1U << 3;
inline constexpr std::uint32_t kPortRcvRemotePhysicalErrors = 1U << 4;
inline constexpr std::uint32_t kPortRcvSwitchRelayErrors = 1U << 5;
inline constexpr std::uint32_t kPortXmitDiscards = 1U << 6;
inline constexpr std::uint32_t kPortXmitConstraintErrors = 1U << 7;
inline constexpr std::uint32_t kPortRcvConstraintErrors = 1U << 8;
inline constexpr std::uint32_t kLocalLinkIntegrityErrors = 1U << 9;
inline constexpr std::uint32_t kExcessiveBufferOverrunErrors = 1U << 10;
inline constexpr std::uint32_t kVL15Dropped = 1U << 11;
inline constexpr std::uint32_t kPortXmitWait = 1U << 12;
inline constexpr std::uint32_t kQP1Dropped = 1U << 13;
}  // namespace port_counters_extended_select2

struct PortCountersExtended {
    static constexpr std::size_t kBytes = 184;

    PortNum port_select{};
    std::uint16_t counter_select = 0;
    std::uint32_t counter_select2 = 0;
    std::uint64_t port_xmit_data = 0;  ///< In units of 4 bytes.
    std::uint64_t port_rcv_data = 0;   ///< In units of 4 bytes.
    std::uint64_t port_xmit_pkts = 0;
    std::uint64_t port_rcv_pkts = 0;
    std::uint64_t port_unicast_xmit_pkts = 0;
    std::uint64_t port_unicast_rcv_pkts = 0;
    std::uint64_t port_multicast_xmit_pkts = 0;
    std::uint64_t port_multicast_rcv_pkts = 0;
    std::uint64_t symbol_error_counter = 0;
    std::uint64_t link_error_recovery_counter = 0;
    std::uint64_t link_downed_counter = 0;
    std::uint64_t port_rcv_errors = 0;
    std::uint64_t port_rcv_remote_physical_errors = 0;
    std::uint64_t port_rcv_switch_relay_errors = 0;
    std::uint64_t port_xmit_discards = 0;
    std::uint64_t port_xmit_constraint_errors = 0;
    std::uint64_t port_rcv_constraint_errors = 0;
    std::uint64_t local_link_integrity_errors = 0;
    std::uint64_t excessive_buffer_overrun_errors = 0;
    std::uint64_t vl15_dropped = 0;
    std::uint64_t port_xmit_wait = 0;
    std::uint64_t qp1_dropped = 0;

    static constexpr auto fields() {
        using T = PortCountersExtended;
        return Fields{
            Field{&T::port_select, "PortSelect", 8, 8},
            Field{&T::counter_select, "CounterSelect", 16, 16}.hex(),
            Field{&T::counter_select2, "CounterSelect2", 32, 32}.hex(),
            Field{&T::port_xmit_data, "PortXmitData", 64, 64},
            Field{&T::port_rcv_data, "PortRcvData", 128, 64},
            Field{&T::port_xmit_pkts, "PortXmitPkts", 192, 64},
            Field{&T::port_rcv_pkts, "PortRcvPkts", 256, 64},
            Field{&T::port_unicast_xmit_pkts, "PortUnicastXmitPkts", 320, 64},
            Field{&T::port_unicast_rcv_pkts, "PortUnicastRcvPkts", 384, 64},
            Field{&T::port_multicast_xmit_pkts, "PortMulticastXmitPkts", 448, 64},
            Field{&T::port_multicast_rcv_pkts, "PortMulticastRcvPkts", 512, 64},
            Field{&T::symbol_error_counter, "SymbolErrorCounter", 576, 64},
            Field{&T::link_error_recovery_counter, "LinkErrorRecoveryCounter", 640, 64},
            Field{&T::link_downed_counter, "LinkDownedCounter", 704, 64},
            Field{&T::port_rcv_errors, "PortRcvErrors", 768, 64},
            Field{&T::port_rcv_remote_physical_errors, "PortRcvRemotePhysicalErrors", 832, 64},
            Field{&T::port_rcv_switch_relay_errors, "PortRcvSwitchRelayErrors", 896, 64},
            Field{&T::port_xmit_discards, "PortXmitDiscards", 960, 64},
            Field{&T::port_xmit_constraint_errors, "PortXmitConstraintErrors", 1024, 64},
            Field{&T::port_rcv_constraint_errors, "PortRcvConstraintErrors", 1088, 64},
            Field{&T::local_link_integrity_errors, "LocalLinkIntegrityErrors", 1152, 64},
            Field{&T::excessive_buffer_overrun_errors, "ExcessiveBufferOverrunErrors", 1216, 64},
            Field{&T::vl15_dropped, "VL15Dropped", 1280, 64},
            Field{&T::port_xmit_wait, "PortXmitWait", 1344, 64},
            Field{&T::qp1_dropped, "QP1Dropped", 1408, 64},
        };
    }
    friend bool operator==(const PortCountersExtended&, const PortCountersExtended&) = default;
};
static_assert(layout_is_sound<PortCountersExtended>());

}  // namespace softib::wire
