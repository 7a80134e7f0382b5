// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// PortCounters: counters that stop at their largest value (IBA vol. 1, 16.1.3.5).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

/// Bits of CounterSelect: the counters that a Set() writes.
namespace port_counters_select {
inline constexpr std::uint16_t kSymbolErrorCounter = 1U << 0;
inline constexpr std::uint16_t kLinkErrorRecoveryCounter = 1U << 1;
inline constexpr std::uint16_t kLinkDownedCounter = 1U << 2;
inline constexpr std::uint16_t kPortRcvErrors = 1U << 3;
inline constexpr std::uint16_t kPortRcvRemotePhysicalErrors = 1U << 4;
inline constexpr std::uint16_t kPortRcvSwitchRelayErrors = 1U << 5;
inline constexpr std::uint16_t kPortXmitDiscards = 1U << 6;
inline constexpr std::uint16_t kPortXmitConstraintErrors = 1U << 7;
inline constexpr std::uint16_t kPortRcvConstraintErrors = 1U << 8;
inline constexpr std::uint16_t kLocalLinkIntegrityErrors = 1U << 9;
inline constexpr std::uint16_t kExcessiveBufferOverrunErrors = 1U << 10;
inline constexpr std::uint16_t kVL15Dropped = 1U << 11;
inline constexpr std::uint16_t kPortXmitData = 1U << 12;
inline constexpr std::uint16_t kPortRcvData = 1U << 13;
inline constexpr std::uint16_t kPortXmitPkts = 1U << 14;
inline constexpr std::uint16_t kPortRcvPkts = 1U << 15;
}  // namespace port_counters_select

/// Bits of CounterSelect2: further counters that a Set() writes.
namespace port_counters_select2 {
inline constexpr std::uint8_t kPortXmitWait = 1U << 0;
inline constexpr std::uint8_t kQP1Dropped = 1U << 1;
}  // namespace port_counters_select2

struct PortCounters {
    static constexpr std::size_t kBytes = 44;

    PortNum port_select{};
    std::uint16_t counter_select = 0;
    std::uint16_t symbol_error_counter = 0;
    std::uint8_t link_error_recovery_counter = 0;
    std::uint8_t link_downed_counter = 0;
    std::uint16_t port_rcv_errors = 0;
    std::uint16_t port_rcv_remote_physical_errors = 0;
    std::uint16_t port_rcv_switch_relay_errors = 0;
    std::uint16_t port_xmit_discards = 0;
    std::uint8_t port_xmit_constraint_errors = 0;
    std::uint8_t port_rcv_constraint_errors = 0;
    std::uint8_t counter_select2 = 0;
    std::uint8_t local_link_integrity_errors = 0;
    std::uint8_t excessive_buffer_overrun_errors = 0;
    std::uint16_t qp1_dropped = 0;
    std::uint16_t vl15_dropped = 0;
    std::uint32_t port_xmit_data = 0;  ///< In units of 4 bytes.
    std::uint32_t port_rcv_data = 0;   ///< In units of 4 bytes.
    std::uint32_t port_xmit_pkts = 0;
    std::uint32_t port_rcv_pkts = 0;
    std::uint32_t port_xmit_wait = 0;  ///< Ticks in which the port had data to send and no credits.

    static constexpr auto fields() {
        using T = PortCounters;
        return Fields{
            Field{&T::port_select, "PortSelect", 8, 8},
            Field{&T::counter_select, "CounterSelect", 16, 16}.hex(),
            Field{&T::symbol_error_counter, "SymbolErrorCounter", 32, 16},
            Field{&T::link_error_recovery_counter, "LinkErrorRecoveryCounter", 48, 8},
            Field{&T::link_downed_counter, "LinkDownedCounter", 56, 8},
            Field{&T::port_rcv_errors, "PortRcvErrors", 64, 16},
            Field{&T::port_rcv_remote_physical_errors, "PortRcvRemotePhysicalErrors", 80, 16},
            Field{&T::port_rcv_switch_relay_errors, "PortRcvSwitchRelayErrors", 96, 16},
            Field{&T::port_xmit_discards, "PortXmitDiscards", 112, 16},
            Field{&T::port_xmit_constraint_errors, "PortXmitConstraintErrors", 128, 8},
            Field{&T::port_rcv_constraint_errors, "PortRcvConstraintErrors", 136, 8},
            Field{&T::counter_select2, "CounterSelect2", 144, 8}.hex(),
            Field{&T::local_link_integrity_errors, "LocalLinkIntegrityErrors", 152, 4},
            Field{&T::excessive_buffer_overrun_errors, "ExcessiveBufferOverrunErrors", 156, 4},
            Field{&T::qp1_dropped, "QP1Dropped", 160, 16},
            Field{&T::vl15_dropped, "VL15Dropped", 176, 16},
            Field{&T::port_xmit_data, "PortXmitData", 192, 32},
            Field{&T::port_rcv_data, "PortRcvData", 224, 32},
            Field{&T::port_xmit_pkts, "PortXmitPkts", 256, 32},
            Field{&T::port_rcv_pkts, "PortRcvPkts", 288, 32},
            Field{&T::port_xmit_wait, "PortXmitWait", 320, 32},
        };
    }
    friend bool operator==(const PortCounters&, const PortCounters&) = default;
};
static_assert(layout_is_sound<PortCounters>());

}  // namespace softib::wire
