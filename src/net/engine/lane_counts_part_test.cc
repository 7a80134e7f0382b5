// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "net/engine/lane_counts.h"

namespace softib::net {
namespace {

using enum counters::PerLane;

TEST(LaneCountsPart, CountsNothingBeforeItIsStarted) {
    LaneCounts counts(2);
    counts.late(0);
    counters::LaneCounts shown;
    counts.add_levels(shown, 0);
    counts.add_lane(shown, 0, 0, Lane{}, 1, 100);
    EXPECT_EQ(shown[kCongestionDiscards][0], 0U);
    EXPECT_EQ(counts.time_congested(0, 100), 0U);
}

TEST(LaneCountsPart, APortIsCongestedWhileAnyOfItsLanesIs) {
    LaneCounts counts(2);
    counts.start(4);  // Two lanes at each of two ports: lanes 1 and 3 are at port 1.
    counts.congested(1, 1000);
    counts.congested(3, 2000);
    Lane lane;
    lane.queued_blocks = lane.head_blocks = 4;
    counts.pop(1, lane, 2, 3000);
    EXPECT_EQ(counts.time_congested(1, 4000), 3000U) << "lane 3 still is";
    counts.pop(3, lane, 2, 5000);
    EXPECT_EQ(counts.time_congested(1, 9000), 4000U);
    EXPECT_EQ(counts.time_congested(0, 9000), 0U);
}

TEST(LaneCountsPart, APacketsServiceLevelCountsItsWords) {
    LaneCounts counts(1);
    counts.start(1);
    counts.sent(0, 0, {.bytes = 400, .sl = 3}, 10);
    counts.received(0, {.bytes = 800, .sl = 5, .flags = packet_flag::kBecn});
    counters::LaneCounts shown;
    counts.add_levels(shown, 0);
    EXPECT_EQ(shown[kXmitWords][3], 100U);
    EXPECT_EQ(shown[kRcvWords][5], 200U);
    EXPECT_EQ(shown[kRcvBecn][5], 1U);
}

}  // namespace
}  // namespace softib::net
