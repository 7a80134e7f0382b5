// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The counters of a port: a struct with a member for each counter, and a list with a row for each
// member, which has its names and where it is shown. The PMA's answers, the totals in the arena of
// a live fabric, the sysfs files and `softib status --json` all come from the list. To add a
// counter, add a member and a row.
//
// Counters only ever grow. When a performance manager resets one, the PMA stores what it subtracts
// from then on (core/agent/pma.h); the counter itself does not change.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/wire/pm/pm.h"

namespace softib::counters {

/// All counters of one port. A Cell is a plain number, or an atomic one in shared memory.
template <typename Cell>
struct PortCounterSet {
    Cell xmit_packets{};
    Cell xmit_words{};
    Cell rcv_packets{};
    Cell rcv_words{};
    Cell multicast_xmit_packets{};
    Cell multicast_rcv_packets{};
    Cell xmit_wait{};  ///< Ticks in which the port had something to send and no credits for it.
    Cell symbol_errors{};
    Cell link_recoveries{};
    Cell link_downed{};
    Cell rcv_errors{};
    Cell rcv_remote_physical_errors{};
    Cell rcv_switch_relay_errors{};
    Cell xmit_discards{};
    Cell xmit_constraint_errors{};  ///< Packets not sent: the switch port is not in the partition.
    Cell rcv_constraint_errors{};   ///< Packets refused: the switch port is not in the partition.
    Cell link_integrity_errors{};
    Cell buffer_overruns{};
    Cell vl15_dropped{};
    Cell qp1_dropped{};
    // Parts of xmit_discards.
    Cell inactive_discards{};      ///< Packets dropped because the port was not active.
    Cell lifetime_discards{};      ///< Packets longer in the switch than SwitchInfo.LifeTimeValue.
    Cell hoq_lifetime_discards{};  ///< Packets longer at a queue's head than PortInfo.HOQLife.
    // Parts of rcv_errors.
    Cell local_physical_errors{};
    Cell malformed_packet_errors{};
    // Parts of rcv_switch_relay_errors.
    Cell dlid_mapping_errors{};
    Cell vl_mapping_errors{};
    Cell looping_errors{};
    // Congestion.
    Cell rcv_fecn{};
    Cell rcv_becn{};
    Cell time_congested{};  ///< Ticks in which one lane or more was congested.
    // Requests that an HCA refused.
    Cell pkey_violations{};
    Cell qkey_violations{};
    Cell access_violations{};  ///< Requests that an R_Key, its bounds or its rights do not allow.
};

using PortCounts = PortCounterSet<std::uint64_t>;

enum class Unit : std::uint8_t {
    kPackets,
    kWords,  ///< Words of four bytes, as PortXmitData counts (IBA vol. 1, 16.1.3.5).
    kTicks,  ///< Ticks: the time that four bytes take on the port's wire.
    kEvents,
};

/// The part of softib that counts a counter.
enum class Origin : std::uint8_t {
    kDataPath,  ///< The data path or packet engine, which moves packets.
    kAgent,     ///< The port's SMA, which sees the link come up and go down.
    kDerived,   ///< No part: the counter is `value` minus `less`, and has no cell of its own.
};

/// The directory of a sysfs file, below /sys/class/infiniband/DEVICE/ports/PORT.
enum class SysfsDirectory : std::uint8_t { kNone, kCounters, kHwCounters };

/// A field of a performance management attribute, and the number of its bit in CounterSelect. The
/// bits of CounterSelect2 have the numbers from 16 on.
struct AttributeField {
    wire::PmAttribute attribute{};
    std::string_view name;
    std::uint8_t select = 0;
};

inline constexpr std::size_t kFieldsPerCounter = 3;

/// A row of the list of counters. Its functions return a copy of the row with one thing changed.
template <typename Cell>
struct PortCounter {
    Cell PortCounterSet<Cell>::* value;
    std::string_view name;  ///< The counter's name in JSON.
    Unit unit;
    Origin origin = Origin::kDataPath;
    Cell PortCounterSet<Cell>::* less = nullptr;
    SysfsDirectory sysfs_directory = SysfsDirectory::kNone;
    std::string_view sysfs_file{};
    std::array<AttributeField, kFieldsPerCounter> fields{};  ///< Unused ones have no name.

    constexpr bool is_stored() const { return origin != Origin::kDerived; }

    constexpr PortCounter file(std::string_view wanted) const {
        PortCounter copy = *this;
        copy.sysfs_directory = SysfsDirectory::kCounters;
        copy.sysfs_file = wanted;
        return copy;
    }
    constexpr PortCounter hw_file(std::string_view wanted) const {
        PortCounter copy = *this;
        copy.sysfs_directory = SysfsDirectory::kHwCounters;
        copy.sysfs_file = wanted;
        return copy;
    }
    constexpr PortCounter in(wire::PmAttribute attribute, std::string_view field,
                             std::uint8_t select) const {
        PortCounter copy = *this;
        std::size_t i = 0;
        while (!copy.fields[i].name.empty()) {
            ++i;
        }
        copy.fields[i] = {attribute, field, select};
        return copy;
    }
    /// Adds the field to PortCounters and to PortCountersExtended.
    constexpr PortCounter in_both(std::string_view field, std::uint8_t select,
                                  std::uint8_t extended_select) const {
        return in(wire::PmAttribute::kPortCounters, field, select)
            .in(wire::PmAttribute::kPortCountersExtended, field, extended_select);
    }
    constexpr PortCounter by_agent() const {
        PortCounter copy = *this;
        copy.origin = Origin::kAgent;
        return copy;
    }
    constexpr PortCounter without(Cell PortCounterSet<Cell>::* other) const {
        PortCounter copy = *this;
        copy.origin = Origin::kDerived;
        copy.less = other;
        return copy;
    }
};

/// Returns the rows of what a port has sent and received, and how long it waited to send.
template <typename Cell>
consteval auto make_traffic_counters() {
    using T = PortCounterSet<Cell>;
    using Row = PortCounter<Cell>;
    using enum wire::PmAttribute;
    using enum Unit;
    return std::array{
        Row{&T::xmit_packets, "xmit_packets", kPackets}
            .file("port_xmit_packets")
            .in_both("PortXmitPkts", 14, 2),
        Row{&T::xmit_words, "xmit_words", kWords}
            .file("port_xmit_data")
            .in_both("PortXmitData", 12, 0),
        Row{&T::rcv_packets, "rcv_packets", kPackets}
            .file("port_rcv_packets")
            .in_both("PortRcvPkts", 15, 3),
        Row{&T::rcv_words, "rcv_words", kWords}.file("port_rcv_data").in_both("PortRcvData", 13, 1),
        Row{&T::xmit_packets, "unicast_xmit_packets", kPackets}
            .without(&T::multicast_xmit_packets)
            .file("unicast_xmit_packets")
            .in(kPortCountersExtended, "PortUnicastXmitPkts", 4),
        Row{&T::rcv_packets, "unicast_rcv_packets", kPackets}
            .without(&T::multicast_rcv_packets)
            .file("unicast_rcv_packets")
            .in(kPortCountersExtended, "PortUnicastRcvPkts", 5),
        Row{&T::multicast_xmit_packets, "multicast_xmit_packets", kPackets}
            .file("multicast_xmit_packets")
            .in(kPortCountersExtended, "PortMulticastXmitPkts", 6),
        Row{&T::multicast_rcv_packets, "multicast_rcv_packets", kPackets}
            .file("multicast_rcv_packets")
            .in(kPortCountersExtended, "PortMulticastRcvPkts", 7),
        Row{&T::xmit_wait, "xmit_wait", kTicks}
            .file("port_xmit_wait")
            .in_both("PortXmitWait", 16, 28),
    };
}

/// Returns the rows of the errors that PortCounters and PortCountersExtended show.
template <typename Cell>
consteval auto make_error_counters() {
    using T = PortCounterSet<Cell>;
    using Row = PortCounter<Cell>;
    using enum wire::PmAttribute;
    using enum Unit;
    return std::array{
        Row{&T::symbol_errors, "symbol_errors", kEvents}
            .file("symbol_error")
            .in_both("SymbolErrorCounter", 0, 16),
        Row{&T::link_recoveries, "link_recoveries", kEvents}
            .file("link_error_recovery")
            .in_both("LinkErrorRecoveryCounter", 1, 17),
        Row{&T::link_downed, "link_downed", kEvents}
            .by_agent()
            .file("link_downed")
            .in_both("LinkDownedCounter", 2, 18),
        Row{&T::rcv_errors, "rcv_errors", kPackets}
            .file("port_rcv_errors")
            .in_both("PortRcvErrors", 3, 19),
        Row{&T::rcv_remote_physical_errors, "rcv_remote_physical_errors", kPackets}
            .file("port_rcv_remote_physical_errors")
            .in_both("PortRcvRemotePhysicalErrors", 4, 20),
        Row{&T::rcv_switch_relay_errors, "rcv_switch_relay_errors", kPackets}
            .file("port_rcv_switch_relay_errors")
            .in_both("PortRcvSwitchRelayErrors", 5, 21),
        Row{&T::xmit_discards, "xmit_discards", kPackets}
            .file("port_xmit_discards")
            .in_both("PortXmitDiscards", 6, 22),
        Row{&T::xmit_constraint_errors, "xmit_constraint_errors", kPackets}
            .file("port_xmit_constraint_errors")
            .in_both("PortXmitConstraintErrors", 7, 23),
        Row{&T::rcv_constraint_errors, "rcv_constraint_errors", kPackets}
            .file("port_rcv_constraint_errors")
            .in_both("PortRcvConstraintErrors", 8, 24),
        Row{&T::link_integrity_errors, "link_integrity_errors", kEvents}
            .file("local_link_integrity_errors")
            .in_both("LocalLinkIntegrityErrors", 9, 25),
        Row{&T::buffer_overruns, "buffer_overruns", kEvents}
            .file("excessive_buffer_overrun_errors")
            .in_both("ExcessiveBufferOverrunErrors", 10, 26)
            .in(kPortRcvErrorDetails, "PortBufferOverrunErrors", 2),
        Row{&T::vl15_dropped, "vl15_dropped", kPackets}
            .file("VL15_dropped")
            .in_both("VL15Dropped", 11, 27),
        Row{&T::qp1_dropped, "qp1_dropped", kPackets}.in_both("QP1Dropped", 17, 29),
    };
}

/// Returns the rows of errors by cause, of congestion, and of requests that an HCA refused.
template <typename Cell>
consteval auto make_detail_counters() {
    using T = PortCounterSet<Cell>;
    using Row = PortCounter<Cell>;
    using enum wire::PmAttribute;
    using enum Unit;
    return std::array{
        Row{&T::inactive_discards, "inactive_discards", kPackets}.in(kPortXmitDiscardDetails,
                                                                     "PortInactiveDiscards", 0),
        Row{&T::lifetime_discards, "lifetime_discards", kPackets}.in(
            kPortXmitDiscardDetails, "PortSwLifetimeLimitDiscards", 2),
        Row{&T::hoq_lifetime_discards, "hoq_lifetime_discards", kPackets}.in(
            kPortXmitDiscardDetails, "PortSwHOQLifetimeLimitDiscards", 3),
        Row{&T::local_physical_errors, "local_physical_errors", kPackets}.in(
            kPortRcvErrorDetails, "PortLocalPhysicalErrors", 0),
        Row{&T::malformed_packet_errors, "malformed_packet_errors", kPackets}.in(
            kPortRcvErrorDetails, "PortMalformedPacketErrors", 1),
        Row{&T::dlid_mapping_errors, "dlid_mapping_errors", kPackets}.in(
            kPortRcvErrorDetails, "PortDLIDMappingErrors", 3),
        Row{&T::vl_mapping_errors, "vl_mapping_errors", kPackets}.in(kPortRcvErrorDetails,
                                                                     "PortVLMappingErrors", 4),
        Row{&T::looping_errors, "looping_errors", kPackets}.in(kPortRcvErrorDetails,
                                                               "PortLoopingErrors", 5),
        Row{&T::rcv_fecn, "rcv_fecn", kPackets}.in(kPortRcvConCtrl, "PortPktRcvFECN", 0),
        Row{&T::rcv_becn, "rcv_becn", kPackets}.in(kPortRcvConCtrl, "PortPktRcvBECN", 1),
        Row{&T::time_congested, "time_congested", kTicks}.in(kPortXmitConCtrl, "PortXmitTimeCong",
                                                             0),
        Row{&T::pkey_violations, "pkey_violations", kPackets}.hw_file("pkey_violations"),
        Row{&T::qkey_violations, "qkey_violations", kPackets}.hw_file("qkey_violations"),
        Row{&T::access_violations, "access_violations", kPackets}.hw_file(
            "resp_remote_access_errors"),
    };
}

/// Returns the rows of all parts, in order.
template <typename Row, std::size_t... Sizes>
consteval auto joined(const std::array<Row, Sizes>&... parts) {
    std::array<Row, (Sizes + ...)> rows{};
    auto next = rows.begin();
    ((next = std::copy(parts.begin(), parts.end(), next)), ...);
    return rows;
}

/// Returns the whole list. It has the same rows for every kind of cell.
template <typename Cell>
consteval auto make_port_counters() {
    return joined(make_traffic_counters<Cell>(), make_error_counters<Cell>(),
                  make_detail_counters<Cell>());
}

template <typename Cell>
inline constexpr auto kPortCountersOf = make_port_counters<Cell>();

inline constexpr auto kPortCounters = kPortCountersOf<std::uint64_t>;

/// Calls fn once for each counter that has a cell, with its rows for cells of type Here and There.
template <typename Here, typename There, typename Fn>
constexpr void for_each_stored(Fn&& fn) {
    for (std::size_t i = 0; i < kPortCountersOf<Here>.size(); ++i) {
        if (kPortCountersOf<Here>[i].is_stored()) {
            fn(kPortCountersOf<Here>[i], kPortCountersOf<There>[i]);
        }
    }
}

/// Returns the value of the counter of a row.
constexpr std::uint64_t value_of(const PortCounter<std::uint64_t>& row, const PortCounts& counts) {
    const std::uint64_t less = row.less == nullptr ? 0 : counts.*row.less;
    return counts.*row.value - (less < counts.*row.value ? less : counts.*row.value);
}

constexpr PortCounts& operator+=(PortCounts& sum, const PortCounts& more) {
    for (const auto& row : kPortCounters) {
        if (row.is_stored()) {
            sum.*row.value += more.*row.value;
        }
    }
    return sum;
}

/// Returns whether every member has exactly one row.
consteval bool every_counter_has_its_row() {
    PortCounts counted;
    std::size_t rows = 0;
    for (const auto& row : kPortCounters) {
        if (row.is_stored()) {
            ++rows;
            if (++(counted.*row.value) != 1) {
                return false;
            }
        }
    }
    return rows * sizeof(std::uint64_t) == sizeof(PortCounts);
}
static_assert(every_counter_has_its_row());

}  // namespace softib::counters
