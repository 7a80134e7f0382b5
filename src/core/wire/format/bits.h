// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Numbers of any width at any bit, as the fields of a format are. Offsets count bits from the first
// byte, the most significant bit of a byte first.

#include <cstddef>
#include <cstdint>

#include "core/wire/format/bytes.h"

namespace softib::wire::detail {

/// Returns the number of Width bits at bit Bit.
template <std::size_t Bit, std::size_t Width>
constexpr std::uint64_t load_bits(const std::uint8_t* at) {
    constexpr std::size_t kFirst = Bit / 8;
    constexpr std::size_t kLast = (Bit + Width - 1) / 8;
    constexpr std::size_t kSpan = kLast - kFirst + 1;
    constexpr std::size_t kShift = (kLast + 1) * 8 - (Bit + Width);
    static_assert(kSpan <= 8, "a number must not touch more than eight bytes");
    std::uint64_t value = 0;
    if constexpr (kSpan == 1) {
        value = at[kFirst];
    } else if constexpr (kSpan == 2) {
        value = load_be<std::uint16_t>(at + kFirst);
    } else if constexpr (kSpan == 4) {
        value = load_be<std::uint32_t>(at + kFirst);
    } else if constexpr (kSpan == 8) {
        value = load_be<std::uint64_t>(at + kFirst);
    } else {
        for (std::size_t i = kFirst; i <= kLast; ++i) {
            value = value << 8 | at[i];
        }
    }
    return value >> kShift & (~std::uint64_t{0} >> (64 - Width));
}

/// Stores a number of Width bits at bit Bit. The bits must be zero before.
template <std::size_t Bit, std::size_t Width>
constexpr void store_bits(std::uint8_t* at, std::uint64_t value) {
    constexpr std::size_t kFirst = Bit / 8;
    constexpr std::size_t kLast = (Bit + Width - 1) / 8;
    constexpr std::size_t kSpan = kLast - kFirst + 1;
    constexpr std::size_t kShift = (kLast + 1) * 8 - (Bit + Width);
    if constexpr (kSpan * 8 == Width && Width == 8) {
        at[kFirst] = static_cast<std::uint8_t>(value);
    } else if constexpr (kSpan * 8 == Width && Width == 16) {
        store_be(at + kFirst, static_cast<std::uint16_t>(value));
    } else if constexpr (kSpan * 8 == Width && Width == 32) {
        store_be(at + kFirst, static_cast<std::uint32_t>(value));
    } else if constexpr (kSpan * 8 == Width && Width == 64) {
        store_be(at + kFirst, value);
    } else {
        const std::uint64_t shifted = (value & (~std::uint64_t{0} >> (64 - Width))) << kShift;
        for (std::size_t i = kFirst; i <= kLast; ++i) {
            at[i] = static_cast<std::uint8_t>(at[i] | shifted >> (8 * (kLast - i)));
        }
    }
}

}  // namespace softib::wire::detail
