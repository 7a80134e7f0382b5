// SPDX-License-Identifier: BSD-2-Clause
#include "entries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/base/prng.h"
#include "core/base/test_effort.h"

namespace softib::fuzz {

namespace {

constexpr int kInputs = effort(3000, 500);

/// Returns random bytes. Half of the inputs are as long as a MAD, which is enough for every parser.
std::vector<std::uint8_t> random_input(Prng& prng) {
    std::vector<std::uint8_t> input(prng.chance(1, 2) ? 256 : prng.below(300));
    std::ranges::generate(input, [&] { return static_cast<std::uint8_t>(prng.next()); });
    return input;
}

}  // namespace

TEST(FuzzEntries, HoldOnRandomBytes) {
    for (const Entry& entry : entries()) {
        Prng prng(1);
        for (int i = 0; i < kInputs; ++i) {
            const auto input = random_input(prng);
            ASSERT_TRUE(entry.holds(input)) << entry.name << ", input " << i;
        }
    }
}

TEST(FuzzEntries, HoldOnBytesOfOneValue) {
    for (const Entry& entry : entries()) {
        for (const int byte : {0x00, 0x01, 0x7F, 0x80, 0xFF}) {
            for (std::size_t size = 0; size <= 300; size += effort(1, 4)) {
                const std::vector<std::uint8_t> input(size, static_cast<std::uint8_t>(byte));
                ASSERT_TRUE(entry.holds(input)) << entry.name << ", " << size << " bytes";
            }
        }
    }
}

TEST(FuzzEntries, HaveDifferentNames) {
    std::vector<std::string_view> names;
    std::ranges::transform(entries(), std::back_inserter(names), &Entry::name);
    std::ranges::sort(names);
    EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
    EXPECT_GT(names.size(), 90U);
}

}  // namespace softib::fuzz
