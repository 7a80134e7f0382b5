// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A request to the performance agent while the agent answers it. Only for the files of that agent.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "core/agent/pma.h"
#include "core/wire/pm/pm.h"

namespace softib::agent {

/// Returns a counter as a field of `bits` bits shows it, where it stops at the largest value.
template <typename T>
T saturated(std::uint64_t value, unsigned bits = std::numeric_limits<T>::digits) {
    const std::uint64_t most = ~std::uint64_t{0} >> (64 - bits);
    return static_cast<T>(std::min(value, most));
}

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

    /// Finds the ports that a PortSelect means. Returns false if there is no such port.
    bool ports(PortNum select, std::uint8_t& first, std::uint8_t& last) const {
        if (select.value == wire::kPmAllPorts) {
            first = 1;
            last = node.port_count();
            return true;
        }
        first = last = select.value;
        return select.value <= node.port_count() && (node.is_switch() || select.value != 0);
    }

    counters::PortCounts count(std::uint8_t port) const {
        counters::PortCounts counts = source.read(id, port);
        counts.link_downed = node.link_downed(port);
        counts.rcv_constraint_errors += node.constraint_errors(port).rcv;
        counts.xmit_constraint_errors += node.constraint_errors(port).xmit;
        return counts;
    }

    /// Returns the sum of the counters of ports `first` to `last`.
    counters::PortCounts count(std::uint8_t first, std::uint8_t last) const {
        counters::PortCounts sum;
        for (unsigned port = first; port <= last; ++port) {
            sum += count(static_cast<std::uint8_t>(port));
        }
        return sum;
    }

    template <wire::Attribute T>
    std::uint16_t put(const T& value) const {
        std::ranges::fill(data, std::uint8_t{0});
        wire::emit(value, data);
        return wire::mad_status::kOk;
    }

    /// Answers an attribute whose counters are of events that cannot happen here: they are zero,
    /// and a Set changes nothing.
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
