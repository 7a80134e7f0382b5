// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/waits.h"

#include <gtest/gtest.h>

namespace softib::net {
namespace {

constexpr std::uint8_t kNoLimit = 20;

std::uint32_t units(TimePs at) {
    return static_cast<std::uint32_t>(at >> Lane::kUnitShift);
}

TEST(Waits, APacketWithoutLimitWaitsForEver) {
    const Waits waits({kNoLimit, kNoLimit, 0}, 1);
    EXPECT_EQ(waits.deadline(0, Lane{}, 0, 1'000'000).at, kNever);
    EXPECT_EQ(waits.deadline_of_next(0, 1'000'000), kNever);
}

TEST(Waits, TheEarlierOfBothLimitsEndsTheWait) {
    Waits waits({kNoLimit, kNoLimit, 0}, 2);
    waits.set(1, {3, 2, 0});
    const TimePs now = 100'000'000;
    Lane lane;
    lane.head_since_units = units(now);
    const Waits::Deadline fresh = waits.deadline(1, lane, units(now), now);
    EXPECT_TRUE(fresh.of_head);
    EXPECT_NEAR(static_cast<double>(fresh.at - now), static_cast<double>(sw::lifetime_ps(2)), 1024);
    // The packet has been in the switch for so long that its lifetime ends first.
    const auto since = units(now) - units(sw::lifetime_ps(3)) + 10;
    const Waits::Deadline old = waits.deadline(1, lane, since, now);
    EXPECT_FALSE(old.of_head);
    EXPECT_LT(old.at, now + 20'000);
    EXPECT_EQ(waits.of(0).lifetime, kNoLimit) << "another port keeps its limits";
}

TEST(Waits, ALaneStallsAfterSomePacketsWereDroppedAtItsHead) {
    Waits waits({kNoLimit, 2, 2}, 1);
    EXPECT_FALSE(waits.any_stalls());
    waits.dropped_head(0, 3, 4, 1000);
    EXPECT_FALSE(waits.stalled(3, 1000));
    waits.dropped_head(0, 3, 4, 1000);
    EXPECT_TRUE(waits.stalled(3, 1000));
    EXPECT_FALSE(waits.stalled(2, 1000)) << "another lane";
}

}  // namespace
}  // namespace softib::net
