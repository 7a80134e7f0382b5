// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed hash of 64 bits. Without the key, its values
// look random, and the value for another message cannot be computed.

#include <array>
#include <cstdint>
#include <span>

namespace softib {

using SipKey = std::array<std::uint8_t, 16>;

std::uint64_t siphash(const SipKey& key, std::span<const std::uint8_t> message);

}  // namespace softib
