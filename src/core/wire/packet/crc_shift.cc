// SPDX-License-Identifier: BSD-2-Clause
#include "core/wire/packet/crc_shift.h"

#include <bit>

namespace softib::wire {

namespace {

/// The number of different powers of x: all numbers but zero, since the polynomial is primitive.
constexpr std::uint64_t kPowers = 0xFFFFFFFF;
constexpr std::size_t kLengthBits = 17;

/// The powers x^(-8 * 2^k), by k.
constexpr auto kBack = [] {
    std::array<std::uint32_t, kLengthBits> table{};
    for (std::size_t k = 0; k < table.size(); ++k) {
        table[k] = icrc_power(kPowers - (std::uint64_t{8} << k));
    }
    return table;
}();

}  // namespace

std::uint32_t icrc_cause(std::uint32_t difference, std::size_t bytes) {
    std::uint32_t state = std::byteswap(difference);
    for (std::size_t k = 0; k < kLengthBits; ++k) {
        if ((bytes >> k & 1) != 0) {
            state = icrc_multiply(state, kBack[k]);
        }
    }
    return state;
}

}  // namespace softib::wire
