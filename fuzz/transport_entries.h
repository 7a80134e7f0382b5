// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

namespace softib::fuzz {

/// Gives packets with any headers to an HCA that has a queue pair of every type, sending and
/// receiving. Returns whether the HCA sent only well-formed packets, completed only what was
/// posted, and wrote only to memory that is open to peers.
bool transport_holds(std::span<const std::uint8_t> input);

}  // namespace softib::fuzz
