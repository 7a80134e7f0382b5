// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Numbers in network byte order, at any alignment. A view has checked its length before it comes
// here; these check nothing.

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace softib::wire {

template <std::unsigned_integral T>
constexpr T load_be(const std::uint8_t* at) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        value = value << 8 | at[i];
    }
    return static_cast<T>(value);
}

template <std::unsigned_integral T>
constexpr void store_be(std::uint8_t* at, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        at[i] = static_cast<std::uint8_t>(std::uint64_t{value} >> (8 * (sizeof(T) - 1 - i)));
    }
}

}  // namespace softib::wire
