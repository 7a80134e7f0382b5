// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The format of history in a database row. A row is for one counter, one slot of time and up to
// kChunkPorts ports. It has one number per port, or three: mean, minimum and maximum. A number has
// two bytes, the upper half of a 32-bit floating-point number without its sign, which is exact to a
// fifth of a percent. Ports whose numbers are all zero are left out if that makes the row shorter.
//
//     byte 0    1: all ports follow, in order; 0: each is preceded by its number (2 bytes)
//     byte 1    numbers per port, 1 or 3
//     then      the numbers, 2 bytes each, little-endian

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

/// Returns the row; empty if all numbers are zero. `with_range`: write three numbers per port.
std::string encode_chunk(std::span<const Range> ports, bool with_range);
/// Reads all ports of a row into `ports`. Returns false if the bytes are no row.
bool decode_chunk(std::string_view row, std::span<Range> ports);
/// Returns the numbers of one port in a row; zeros if the port is left out, std::nullopt if the
/// bytes are no row.
std::optional<Range> decode_port(std::string_view row, std::uint32_t port);

}  // namespace softib::telemetry
