// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The quick way through the long part of a packet: where the processor multiplies polynomials, 64
// or 256 bytes a step become 16 that have the same ICRC.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace softib::wire {

/// Shorter ones are not worth it.
inline constexpr std::size_t kFoldBytesMin = 128;

bool can_fold();

/// Takes as many bytes as it can from the front of `bytes` (at least kFoldBytesMin are there), with
/// the state of the sum before them. The state after them is that of zero after the result.
std::array<std::uint8_t, 16> fold(std::uint32_t state, std::span<const std::uint8_t>& bytes);

}  // namespace softib::wire
