// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How long bytes take on a link, from its data rate after line code and error correction, and how
// long they take along a cable. Times are integer picoseconds.

#include <cstdint>

#include "core/topo/graph.h"

namespace softib::link {

using TimePs = std::uint64_t;
inline constexpr TimePs kNever = UINT64_MAX;
inline constexpr TimePs kPsPerNs = 1000;

/// The delay of a metre of cable: light in glass and signals in copper have about two thirds of c.
inline constexpr TimePs kPsPerMetre = 5000;

struct LaneRate {
    std::uint64_t signalling_kbps;  ///< The rate on the wire, before line code and FEC.
    std::uint32_t code_payload;     ///< Data bits in each code_total bits of the line code.
    std::uint32_t code_total;
    /// Data symbols in each fec_total symbols of the error correction; 1 of 1: there is none.
    std::uint32_t fec_payload;
    std::uint32_t fec_total;
};

/// Returns the rate of one lane (1X) of a generation.
LaneRate lane_rate(topo::Generation generation);

/// Returns the picoseconds that 64 bytes of data take, rounded to the nearest.
std::uint32_t ps_per_block(topo::Generation generation, topo::Width width);

constexpr TimePs transmit_time(std::uint32_t bytes, std::uint32_t ps_per_64_bytes) {
    return (std::uint64_t{bytes} * ps_per_64_bytes) >> 6;
}

}  // namespace softib::link
