// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Rules that raise an alarm when a number is too large (or too small). A rule has a quantity, a
// limit, the time that the quantity must be above the limit, and a severity:
//
//   [[rule]]
//   name = "congestion"
//   quantity = "xmit_wait_share"
//   above = 0.2
//   for = 5                       # seconds in a row
//   severity = "warning"          # info, warning, minor or critical
//
// A quantity is a counter of core/counters (its growth per second), or one of kOwnQuantities. A
// file replaces the built-in rules. Errors are sentences that begin with FILE:LINE:COLUMN.

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/events.h"
#include "telemetry/rates.h"

namespace softib::telemetry {

/// The quantities that are no counters:
/// - load: the busier direction's data rate as a part of the port's speed
/// - errors: errors of all kinds, per second
/// - ber: symbol errors per bit on the wire
/// - xmit_wait_share: the part of the time that the port had data and no credits
/// - speed_share: the port's speed as a part of the best that it supports; its rules have `below`
///   in place of `above`, and raise an alarm when it is too small
inline constexpr std::array<std::string_view, 5> kOwnQuantities{"load", "errors", "ber",
                                                                "xmit_wait_share", "speed_share"};

struct Rule {
    std::string name;
    std::string quantity;
    double limit = 0;
    bool is_below = false;  ///< Whether the alarm is for values below the limit.
    std::uint32_t seconds = 1;
    Severity severity = Severity::kWarning;
    /// Index in kPortCounters; SIZE_MAX if the quantity is one of kOwnQuantities.
    std::size_t counter = SIZE_MAX;
};

std::vector<Rule> built_in_rules();
std::expected<std::vector<Rule>, std::string> parse_rules(std::string_view text,
                                                          const std::string& file);

/// Returns the value of a rule's quantity at a port.
double value_of(const Rule& rule, const Port& port, const PortRate& rate, const PortCounts& before,
                const PortCounts& now, double seconds);

}  // namespace softib::telemetry
