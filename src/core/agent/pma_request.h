// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A request to the performance agent while it is being answered. Only for the files of that agent.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "core/agent/pma.h"
#include "core/wire/pm.h"

namespace softib::agent {

/// A counter of a narrower attribute stops at its largest value.
template <typename T>
T saturated(std::uint64_t value, unsigned bits = std::numeric_limits<T>::digits) {
    const std::uint64_t most = (std::uint64_t{1} << bits) - 1;
    return static_cast<T>(std::min(value, most));
}

/// One counter in the common set, and which bit of an attribute's select field it has.
struct Counter {
    std::uint64_t PortCounts::* value;
    unsigned bit;
};

/// Every one of them.
inline constexpr std::uint64_t PortCounts::* kAllCounters[] = {
    &PortCounts::xmit_words,
    &PortCounts::rcv_words,
    &PortCounts::xmit_packets,
    &PortCounts::rcv_packets,
    &PortCounts::multicast_xmit_packets,
    &PortCounts::multicast_rcv_packets,
    &PortCounts::xmit_wait,
    &PortCounts::symbol_errors,
    &PortCounts::link_recoveries,
    &PortCounts::link_downed,
    &PortCounts::rcv_errors,
    &PortCounts::rcv_remote_physical_errors,
    &PortCounts::rcv_switch_relay_errors,
    &PortCounts::xmit_discards,
    &PortCounts::lifetime_discards,
    &PortCounts::hoq_lifetime_discards,
    &PortCounts::xmit_constraint_errors,
    &PortCounts::rcv_constraint_errors,
    &PortCounts::link_integrity_errors,
    &PortCounts::buffer_overruns,
    &PortCounts::vl15_dropped,
    &PortCounts::qp1_dropped,
    &PortCounts::rcv_fecn,
    &PortCounts::rcv_becn,
    &PortCounts::local_physical_errors,
    &PortCounts::malformed_packet_errors,
    &PortCounts::dlid_mapping_errors,
    &PortCounts::vl_mapping_errors,
    &PortCounts::looping_errors,
    &PortCounts::time_congested,
};
static_assert(sizeof(kAllCounters) / sizeof(kAllCounters[0]) * sizeof(std::uint64_t) ==
              sizeof(PortCounts));

inline std::uint64_t key_of(std::uint32_t node, std::uint8_t port) {
    return std::uint64_t{node} << 8 | port;
}

/// One request with everything that its handlers need.
struct PerfAgent::Request {
    const Node& node;
    std::uint32_t id;
    CounterSource& source;
    std::span<std::uint8_t, wire::kPmDataBytes> data;
    bool set;

    /// The ports that a PortSelect means; false: there is no such port.
    bool ports(PortNum select, std::uint8_t& first, std::uint8_t& last) const {
        if (select.value == wire::kPmAllPorts) {
            first = 1;
            last = node.port_count();
            return true;
        }
        first = last = select.value;
        return select.value <= node.port_count() && (node.is_switch() || select.value != 0);
    }

    PortCounts count(std::uint8_t port) const {
        PortCounts counts = source.read(id, port);
        counts.link_downed = node.link_downed(port);
        counts.rcv_constraint_errors += node.constraint_errors(port).rcv;
        counts.xmit_constraint_errors += node.constraint_errors(port).xmit;
        return counts;
    }

    PortCounts since(const Bases& bases, std::uint8_t first, std::uint8_t last) const {
        PortCounts sum;
        for (unsigned port = first; port <= last; ++port) {
            PortCounts counts = count(static_cast<std::uint8_t>(port));
            if (const auto base = bases.find(key_of(id, static_cast<std::uint8_t>(port)));
                base != bases.end()) {
                for (const auto counter : kAllCounters) {
                    counts.*counter -= base->second.*counter;
                }
            }
            sum += counts;
        }
        return sum;
    }

    template <std::size_t N>
    void reset(Bases& bases, std::uint8_t first, std::uint8_t last, std::uint32_t select,
               const Counter (&counters)[N], const PortCounts& wanted) const {
        for (unsigned port = first; port <= last; ++port) {
            const PortCounts now = count(static_cast<std::uint8_t>(port));
            PortCounts& base = bases[key_of(id, static_cast<std::uint8_t>(port))];
            for (const Counter& counter : counters) {
                if ((select >> counter.bit & 1) != 0) {
                    base.*counter.value = now.*counter.value - wanted.*counter.value;
                }
            }
        }
    }

    template <wire::Attribute T>
    std::uint16_t put(const T& value) const {
        std::ranges::fill(data, std::uint8_t{0});
        wire::emit(value, data);
        return wire::mad_status::kOk;
    }

    /// Counters of events that cannot happen here: zero, and a Set changes nothing.
    template <wire::Attribute T>
    std::uint16_t zeros() const {
        const auto asked = wire::parse<T>(data);
        std::uint8_t first = 0;
        std::uint8_t last = 0;
        if (!ports(asked.port_select, first, last)) {
            return wire::mad_status::kInvalidField;
        }
        T answer;
        answer.port_select = asked.port_select;
        answer.counter_select = asked.counter_select;
        return put(answer);
    }
};

}  // namespace softib::agent
