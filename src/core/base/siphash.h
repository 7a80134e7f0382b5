// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed hash of 64 bits. Who does not have the key
// can neither tell its values from chance nor make one for a message of his own.

#include <array>
#include <cstdint>
#include <span>

namespace softib {

using SipKey = std::array<std::uint8_t, 16>;

std::uint64_t siphash(const SipKey& key, std::span<const std::uint8_t> message);

}  // namespace softib
