// SPDX-License-Identifier: BSD-2-Clause
#include "core/sharp/small_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "core/base/prng.h"

namespace softib::sharp {
namespace {

TEST(SmallFloat, EveryHalfSurvivesAFloat) {
    for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const float value = from_f16(half);
        if (std::isnan(value)) {
            EXPECT_TRUE(std::isnan(from_f16(to_f16(value))));
        } else {
            ASSERT_EQ(to_f16(value), half);
        }
        const float brain = from_bf16(half);
        if (std::isnan(brain)) {
            EXPECT_TRUE(std::isnan(from_bf16(to_bf16(brain))));
        } else {
            ASSERT_EQ(to_bf16(brain), half);
        }
    }
}

TEST(SmallFloat, KnownHalvesHaveTheirValues) {
    EXPECT_EQ(from_f16(0x3C00), 1.0F);
    EXPECT_EQ(from_f16(0xC000), -2.0F);
    EXPECT_EQ(from_f16(0x7BFF), 65504.0F);
    EXPECT_EQ(from_f16(0x0001), 0x1p-24F);
    EXPECT_EQ(to_f16(65520.0F), 0x7C00);  // Half way to 65536, which is infinity here.
    EXPECT_EQ(to_f16(65519.0F), 0x7BFF);
    EXPECT_EQ(from_bf16(0x3F80), 1.0F);
}

/// Returns whether no neighbour of `got` is nearer, and `got` is even if a neighbour is as near.
template <typename From>
bool is_nearest(double exact, std::uint16_t got, From&& from) {
    const double error = std::abs(static_cast<double>(from(got)) - exact);
    for (const int step : {-1, 1}) {
        const auto next = static_cast<std::uint16_t>(got + step);
        const double other = std::abs(static_cast<double>(from(next)) - exact);
        if (other < error || (other == error && (next & 1) == 0 && (got & 1) != 0)) {
            return false;
        }
    }
    return true;
}

TEST(SmallFloat, RoundsToTheNearest) {
    Prng prng(7);
    for (int i = 0; i < 200000; ++i) {
        const double magnitude =
            std::ldexp(1.0 + static_cast<double>(prng.below(1 << 20)) / (1 << 20),
                       static_cast<int>(prng.below(30)) - 15);
        const auto value = static_cast<float>(magnitude);
        ASSERT_TRUE(is_nearest(value, to_f16(value), from_f16)) << value;
        ASSERT_TRUE(is_nearest(value, to_bf16(value), from_bf16)) << value;
    }
}

}  // namespace
}  // namespace softib::sharp
