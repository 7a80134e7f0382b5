// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Parses and prints quantities as people write them: sizes ("2MB" is 2,000,000 bytes, "2MiB"
// 2,097,152), times ("50us") and rates ("100Gb/s", "12.5GB/s"). Errors continue the name of what is
// parsed: "must be ...".

#include <cstdint>
#include <expected>
#include <limits>
#include <string>
#include <string_view>

#include "net/model.h"

namespace softib::plan {

using net::kNever;
using net::TimePs;

/// A figure that a run has not shown, as the rate of messages of which none was delivered: not a
/// number. Tables show "-", JSON null, and comma-separated values nothing.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

std::expected<std::uint64_t, std::string> parse_size(std::string_view text);
std::expected<TimePs, std::string> parse_time(std::string_view text);
/// Returns bits per second.
std::expected<double, std::string> parse_rate(std::string_view text);
/// Parses "0.3" or "30%" to a number from 0 to 1.
std::expected<double, std::string> parse_part(std::string_view text);
/// Parses "200M" or "5000000" messages per second.
std::expected<double, std::string> parse_message_rate(std::string_view text);
std::expected<std::uint64_t, std::string> parse_count(std::string_view text);

std::string show_size(std::uint64_t bytes);  ///< "2.10 MB"
std::string show_time(TimePs time);          ///< "41.3 us"
std::string show_rate(double gbps);          ///< "397.2 Gb/s"; "-" if it is unknown
std::string show_us(double us);              ///< show_time() of microseconds; "-" if unknown

/// Returns a number with a noun, in the plural if need be: "1 host", "2 hosts", "2 switches".
std::string counted(std::uint64_t count, std::string_view what);

/// Returns the picoseconds that 64 bytes take at this rate.
std::uint32_t block_ps(double bits_per_second);

}  // namespace softib::plan
