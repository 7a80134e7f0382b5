// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Rates of ports between two samples: traffic, errors, and the share of time that a port waited for
// credits. A counter that went back (a reset, a node that was restarted) is taken to count from
// zero again.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "telemetry/source.h"

namespace softib::telemetry {

/// The counters of the list that count errors.
inline constexpr auto kErrorCounters = counters::make_error_counters<std::uint64_t>();

/// What a port did, per second unless a field says otherwise.
struct PortRate {
    float xmit_bytes = 0;
    float rcv_bytes = 0;
    float xmit_packets = 0;
    float rcv_packets = 0;
    float wait_share = 0;  ///< Part of the time that the port had data and no credits, 0 to 1.
    float errors = 0;      ///< Errors of all kinds that are its own cable's.
};

/// Returns the rates of all ports, in the order of the inventory; zero for a port that did not
/// answer.
std::vector<PortRate> rates_between(const Inventory& inventory, const Sample& before,
                                    const Sample& now);

/// Returns by how much a counter grew.
constexpr std::uint64_t growth(std::uint64_t before, std::uint64_t now) {
    return now >= before ? now - before : now;
}

/// Returns the part of the time that a port waited, from the ticks of XmitWait in a second.
float wait_share(const Port& port, double ticks_per_second);

/// Returns the load of the direction that a port sends in, as a part of its speed.
float sent_load_of(const Port& port, const PortRate& rate);
/// Returns the load of a port's busier direction as a part of its speed.
float load_of(const Port& port, const PortRate& rate);

}  // namespace softib::telemetry
