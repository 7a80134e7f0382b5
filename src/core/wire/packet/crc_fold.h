// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A fast computation of the ICRC of long packets, on processors that have an instruction for
// multiplying polynomials: each step reduces 64 or 256 bytes, and the result is 16 bytes with the
// same ICRC.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace softib::wire {

/// The fewest bytes for fold(); for fewer it would not be faster.
inline constexpr std::size_t kFoldBytesMin = 128;

/// Returns whether the processor has the instructions for fold().
bool can_fold();

/// Removes as many bytes as it can from the front of `bytes`, which must have at least
/// kFoldBytesMin. `state` is the state of the CRC before them. The state after them is that of a
/// CRC which begins with state 0 and takes the 16 bytes returned.
std::array<std::uint8_t, 16> fold(std::uint32_t state, std::span<const std::uint8_t>& bytes);

}  // namespace softib::wire
