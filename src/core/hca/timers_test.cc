// SPDX-License-Identifier: BSD-2-Clause
#include "core/hca/timers.h"

#include <gtest/gtest.h>

namespace softib::hca {
namespace {

TEST(RnrTimer, ZeroIsTheLongest) {
    EXPECT_EQ(rnr_timer_ns(0), 655'360'000U);
    for (std::uint8_t code = 1; code < 32; ++code) {
        EXPECT_LT(rnr_timer_ns(code), rnr_timer_ns(0));
    }
}

TEST(RnrTimer, ValuesOfTheTable) {
    EXPECT_EQ(rnr_timer_ns(1), 10'000U);
    EXPECT_EQ(rnr_timer_ns(5), 60'000U);
    EXPECT_EQ(rnr_timer_ns(12), 640'000U);
    EXPECT_EQ(rnr_timer_ns(14), 1'280'000U);
    EXPECT_EQ(rnr_timer_ns(20), 10'240'000U);
    EXPECT_EQ(rnr_timer_ns(31), 491'520'000U);
}

TEST(RnrTimer, EverySecondEntryDoubles) {
    for (std::uint8_t code = 4; code < 32; ++code) {
        const auto before = static_cast<std::uint8_t>(code - 2);
        EXPECT_EQ(rnr_timer_ns(code), 2 * rnr_timer_ns(before)) << int{code};
    }
}

TEST(RnrTimer, OnlyFiveBitsCount) {
    EXPECT_EQ(rnr_timer_ns(0xE1), rnr_timer_ns(1));
}

TEST(AckTimeout, ZeroIsInfinite) {
    EXPECT_EQ(ack_timeout_ns(0), kTimeoutInfiniteNs);
}

TEST(AckTimeout, FourMicrosecondsTimesPowerOfTwo) {
    EXPECT_EQ(ack_timeout_ns(1), 8'192U);
    EXPECT_EQ(ack_timeout_ns(14), 67'108'864U);
    EXPECT_EQ(ack_timeout_ns(31), 8'796'093'022'208U);
}

}  // namespace
}  // namespace softib::hca
