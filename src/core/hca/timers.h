// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The two times of a reliable connection that are encoded in five bits.

#include <cstdint>

namespace softib::hca {

inline constexpr std::uint64_t kTimeoutInfiniteNs = UINT64_MAX;

/// Returns how long a requester waits after an RNR NAK with this 5-bit code (IBA vol. 1, table 45).
/// Code 0 is the longest wait, not the shortest. Higher bits of the code are ignored.
std::uint64_t rnr_timer_ns(std::uint8_t code);

/// Returns the local ACK timeout of a 5-bit code: 4.096 µs times 2^code; kTimeoutInfiniteNs for
/// code 0 (IBA vol. 1, 9.7.6.1.3). Higher bits of the code are ignored.
std::uint64_t ack_timeout_ns(std::uint8_t code);

}  // namespace softib::hca
