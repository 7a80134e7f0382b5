// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Numbers in network byte order, at any alignment. The caller has checked the length; these
// functions check nothing.

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace softib::wire {

static_assert(std::endian::native == std::endian::little, "load_be and store_be always swap");

template <std::unsigned_integral T>
constexpr T load_be(const std::uint8_t* at) {
    if consteval {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < sizeof(T); ++i) {
            value = value << 8 | at[i];
        }
        return static_cast<T>(value);
    } else {
        T value;
        std::memcpy(&value, at, sizeof(T));
        return std::byteswap(value);
    }
}

template <std::unsigned_integral T>
constexpr void store_be(std::uint8_t* at, T value) {
    if consteval {
        for (std::size_t i = 0; i < sizeof(T); ++i) {
            at[i] = static_cast<std::uint8_t>(std::uint64_t{value} >> (8 * (sizeof(T) - 1 - i)));
        }
    } else {
        const T swapped = std::byteswap(value);
        std::memcpy(at, &swapped, sizeof(T));
    }
}

}  // namespace softib::wire
