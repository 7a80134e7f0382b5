// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <array>

#include "core/switch/adaptive.h"
#include "core/switch/congestion.h"
#include "core/switch/lifetime.h"

namespace softib::sw {
namespace {

TEST(Lifetime, DoublesWithEachCodeAndEndsInForever) {
    EXPECT_EQ(lifetime_ps(0), 4'096'000U);
    EXPECT_EQ(lifetime_ps(19), 4'096'000ULL << 19);
    EXPECT_EQ(lifetime_ps(20), UINT64_MAX);
}

TEST(Lifetime, ALaneStallsAfterVlStallCountDropsInARow) {
    StallCounter lane;
    lane.dropped(3, 100, 10);
    lane.dropped(3, 110, 10);
    lane.sent();
    lane.dropped(3, 120, 10);
    lane.dropped(3, 130, 10);
    EXPECT_FALSE(lane.stalled(130));
    lane.dropped(3, 140, 10);
    EXPECT_TRUE(lane.stalled(140 + 79));
    EXPECT_FALSE(lane.stalled(140 + 80));
}

TEST(Lifetime, CountZeroNeverStalls) {
    StallCounter lane;
    for (int i = 0; i < 100; ++i) {
        lane.dropped(0, 5, 10);
    }
    EXPECT_FALSE(lane.stalled(5));
}

TEST(Adaptive, TakesTheLeastLoadedAndGoesRoundAmongEquals) {
    const std::array<std::uint8_t, 4> ports{1, 2, 3, 4};
    const std::array<std::uint64_t, 5> load{0, 7, 5, 5, 9};
    const auto load_of = [&](std::uint8_t port) { return load[port]; };
    EXPECT_EQ(least_loaded(ports, 0, 99, load_of), 2);
    EXPECT_EQ(least_loaded(ports, 2, 99, load_of), 3);
    EXPECT_EQ(least_loaded(ports, 3, 99, load_of), 2);
}

TEST(Adaptive, FollowsTheTableWhereNoPortIsEligible) {
    const std::array<std::uint8_t, 2> ports{1, 2};
    EXPECT_EQ(least_loaded(ports, 0, 7, [](std::uint8_t) { return kNotEligible; }), 7);
}

TEST(Marking, AHigherThresholdMarksSooner) {
    EXPECT_EQ(congested_from({.threshold = 15}, 1600), 100U);
    EXPECT_EQ(congested_from({.threshold = 1}, 1600), 1500U);
    EXPECT_EQ(congested_from({.threshold = 0}, 1600), UINT32_MAX);
}

TEST(Marking, OneInRatePlusOneIsMarked) {
    Marker marker;
    const MarkingRule rule{.threshold = 15, .marking_rate = 3};
    int marked = 0;
    for (int i = 0; i < 40; ++i) {
        marked += marker.marks(rule, 100, 1600, 66, true) ? 1 : 0;
    }
    EXPECT_EQ(marked, 10);
}

TEST(Marking, VictimsAndShortPacketsAreSpared) {
    Marker marker;
    MarkingRule rule{.threshold = 15, .packet_blocks = 4};
    EXPECT_FALSE(marker.marks(rule, 100, 1600, 66, false));
    EXPECT_FALSE(marker.marks(rule, 100, 1600, 3, true));
    EXPECT_FALSE(marker.marks(rule, 99, 1600, 66, true));
    EXPECT_TRUE(marker.marks(rule, 100, 1600, 4, true));
    rule.victims_mark = true;
    EXPECT_TRUE(marker.marks(rule, 100, 1600, 66, false));
}

}  // namespace
}  // namespace softib::sw
