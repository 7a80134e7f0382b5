// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How history stands in a database row: one number per port, or mean, minimum and maximum, of up to
// kChunkPorts ports, for one counter and one slot of time. Numbers are the upper halves of 32-bit
// floating-point numbers without their sign (a fifth of a percent); ports whose numbers are all
// zero are left out where that is shorter.
//
//     byte 0    1: all ports follow, in order; 0: each is preceded by its number (2 bytes)
//     byte 1    numbers per port, 1 or 3
//     then      numbers of 2 bytes, the lower first

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace softib::telemetry {

inline constexpr std::uint32_t kChunkPorts = 1024;

struct Range {
    float mean = 0;
    float min = 0;
    float max = 0;
    bool operator==(const Range&) const = default;
};

std::uint16_t pack(float value);  ///< Negative numbers and NaN become 0.
float unpack(std::uint16_t packed);

/// Returns the row; empty if all numbers are zero, which is a row too. `with_range`: three numbers
/// per port.
std::string encode_chunk(std::span<const Range> ports, bool with_range);
/// Reads all ports of a row into `ports`. Returns false for bytes that are no row.
bool decode_chunk(std::string_view row, std::span<Range> ports);
/// Reads one port of a row; zeros where it is left out.
std::optional<Range> decode_port(std::string_view row, std::uint32_t port);

}  // namespace softib::telemetry
