// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// NH, the hash of UMAC (Black, Halevi, Krawczyk, Krovetz and Rogaway, 1999): the sum of the
// products of neighbouring 32-bit words, each with a secret word added. Two blocks of one length
// that differ have equal hashes with a probability of 2^-32, over the secret words.

#include <cstdint>
#include <span>

namespace softib::trunk {

/// Returns the NH of a block. Words are read with the lowest byte first; a block whose last pair of
/// words is not complete is padded with zeros. `secret` has at least two words for each pair.
std::uint64_t nh(std::span<const std::uint8_t> block, std::span<const std::uint32_t> secret);

}  // namespace softib::trunk
