// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Rules that make alarms of numbers. A rule has a quantity, a limit, how long the quantity must be
// above it, and a severity:
//
//   [[rule]]
//   name = "congestion"
//   quantity = "xmit_wait_share"
//   above = 0.2
//   for = 5                       # seconds in a row
//   severity = "warning"          # info, warning, minor or critical
//
// A quantity is a counter of core/counters (its growth per second), or one of those of
// kOwnQuantities. A file replaces the built-in rules. Errors are sentences that begin with
// FILE:LINE:COLUMN.

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/events.h"
#include "telemetry/rates.h"

namespace softib::telemetry {

/// load: busier direction as a part of the port's speed. errors: of all kinds, per second. ber:
/// symbol errors per bit that the wire carries. speed_share: the speed as a part of what the port
/// could have; it is the only one whose alarm is for falling below: its rules have `below`.
inline constexpr std::array<std::string_view, 5> kOwnQuantities{"load", "errors", "ber",
                                                                "xmit_wait_share", "speed_share"};

struct Rule {
    std::string name;
    std::string quantity;
    double limit = 0;
    bool is_below = false;  ///< The alarm is for values below the limit.
    std::uint32_t seconds = 1;
    Severity severity = Severity::kWarning;
    std::size_t counter = SIZE_MAX;  ///< Into kPortCounters; SIZE_MAX: one of ours.
};

std::vector<Rule> built_in_rules();
std::expected<std::vector<Rule>, std::string> parse_rules(std::string_view text,
                                                          const std::string& file);

/// Returns the value of a rule's quantity at a port.
double value_of(const Rule& rule, const Port& port, const PortRate& rate, const PortCounts& before,
                const PortCounts& now, double seconds);

}  // namespace softib::telemetry
