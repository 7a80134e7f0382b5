// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How long bytes take: what a link carries after its line code and error correction, and how long a
// cable is. All in integer picoseconds.

#include <cstdint>

#include "core/topo/fabric.h"

namespace softib::link {

using TimePs = std::uint64_t;
inline constexpr TimePs kNever = UINT64_MAX;
inline constexpr TimePs kPsPerNs = 1000;

/// Light in glass and signals in copper: about two thirds of c.
inline constexpr TimePs kPsPerMetre = 5000;

struct LaneRate {
    std::uint64_t signalling_kbps;  ///< On the wire.
    std::uint32_t code_payload;     ///< Bits that carry data, out of each code_total.
    std::uint32_t code_total;
    std::uint32_t fec_payload;  ///< 1 of 1: none.
    std::uint32_t fec_total;
};

/// Returns the rate of one lane (1X) of a generation.
LaneRate lane_rate(topo::Generation generation);

/// Picoseconds for 64 bytes of data, rounded to the nearest.
std::uint32_t ps_per_block(topo::Generation generation, topo::Width width);

constexpr TimePs transmit_time(std::uint32_t bytes, std::uint32_t ps_per_64_bytes) {
    return (std::uint64_t{bytes} * ps_per_64_bytes) >> 6;
}

}  // namespace softib::link
