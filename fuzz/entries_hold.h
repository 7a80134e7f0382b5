// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What the unit tests of the fuzzers' entries share.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/prng.h"
#include "core/base/test_effort.h"
#include "entries.h"

namespace softib::fuzz {

/// Returns random bytes. Half of the inputs are as long as a MAD, which is enough for every parser.
inline std::vector<std::uint8_t> random_input(Prng& prng) {
    std::vector<std::uint8_t> input(prng.chance(1, 2) ? 256 : prng.below(300));
    std::ranges::generate(input, [&] { return static_cast<std::uint8_t>(prng.next()); });
    return input;
}

/// Checks that each entry of this program holds on random bytes.
inline void expect_random_bytes_hold() {
    for (const Entry& entry : entries()) {
        Prng prng(1);
        for (int i = 0; i < effort(3000, 150); ++i) {
            const auto input = random_input(prng);
            ASSERT_TRUE(entry.holds(input)) << entry.name << ", input " << i;
        }
    }
}

/// Checks that each entry of this program holds on bytes that are all the same.
inline void expect_bytes_of_one_value_hold() {
    for (const Entry& entry : entries()) {
        for (const int byte : {0x00, 0x01, 0x7F, 0x80, 0xFF}) {
            for (std::size_t size = 0; size <= 300; size += effort(1, 7)) {
                const std::vector<std::uint8_t> input(size, static_cast<std::uint8_t>(byte));
                ASSERT_TRUE(entry.holds(input)) << entry.name << ", " << size << " bytes";
            }
        }
    }
}

}  // namespace softib::fuzz
