// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Packet sequence numbers count modulo 2^24 (IBA vol. 1, 9.7.1), and so do message sequence
// numbers. Half of all numbers lie before a given one, half after it: a PSN that is at most 2^23
// before the expected one is a duplicate; any other is ahead of it.

#include <cstdint>

#include "core/base/ids.h"

namespace softib::hca {

inline constexpr std::uint32_t kPsnMask = 0xFFFFFF;
inline constexpr std::uint32_t kPsnHalf = 0x800000;

constexpr std::uint32_t add24(std::uint32_t a, std::uint32_t n) {
    return (a + n) & kPsnMask;
}

/// Returns a - b, from -2^23 to 2^23 - 1: positive if `a` comes after `b`.
constexpr std::int32_t diff24(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t d = (a - b) & kPsnMask;
    return d < kPsnHalf ? static_cast<std::int32_t>(d)
                        : static_cast<std::int32_t>(d) - static_cast<std::int32_t>(kPsnMask) - 1;
}

constexpr Psn operator+(Psn psn, std::uint32_t n) {
    return Psn{add24(psn.value, n)};
}
constexpr std::int32_t diff(Psn a, Psn b) {
    return diff24(a.value, b.value);
}
constexpr bool before(Psn a, Psn b) {
    return diff(a, b) < 0;
}
/// Returns how many PSNs there are from `from` on and before `to`; `to` must not be before `from`.
constexpr std::uint32_t distance(Psn from, Psn to) {
    return (to.value - from.value) & kPsnMask;
}

}  // namespace softib::hca
