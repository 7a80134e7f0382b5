// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "core/link/dcqcn.h"
#include "core/link/pause.h"

namespace softib::link {
namespace {

using Tell = PauseGate::Tell;

constexpr PauseRule kPauseRule{.xoff_blocks = 10, .xon_blocks = 6, .headroom_blocks = 5};

TEST(Pause, TellsOnceAboveXoffAndOnceAtXon) {
    PauseGate gate;
    EXPECT_EQ(gate.arrive(kPauseRule, 10), Tell::kNothing);
    EXPECT_EQ(gate.arrive(kPauseRule, 1), Tell::kPause);
    EXPECT_EQ(gate.arrive(kPauseRule, 2), Tell::kNothing);
    EXPECT_EQ(gate.leave(kPauseRule, 6), Tell::kNothing) << "7 are more than XON";
    EXPECT_EQ(gate.leave(kPauseRule, 1), Tell::kResume);
    EXPECT_EQ(gate.leave(kPauseRule, 1), Tell::kNothing);
}

TEST(Pause, HasRoomUpToTheEndOfTheHeadroom) {
    PauseGate gate;
    gate.arrive(kPauseRule, 12);
    EXPECT_TRUE(gate.has_room(kPauseRule, 3));
    EXPECT_FALSE(gate.has_room(kPauseRule, 4));
    EXPECT_TRUE(gate.has_room(PauseRule{}, 1000)) << "without pauses others say what is dropped";
}

TEST(Pause, HeadroomCoversCableAndPacketsUnderWay) {
    // 400 Gb/s: 64 bytes in 1.28 ns. 100 m of cable hold 390 blocks each way.
    EXPECT_EQ(headroom_blocks(1280, 500'000, 0, 4096), 782U + 2 * 64 + 1);
    EXPECT_EQ(headroom_blocks(1280, 500'000, 128'000, 4096), 782U + 100 + 2 * 64 + 1);
    EXPECT_EQ(headroom_blocks(1280, 500'000, 0, 1 << 17), 782U + 2 * 2048 + 1);
}

constexpr DcqcnRule kDcqcn{};
constexpr TimePs kUs = 1'000'000;

TEST(Dcqcn, TheFirstNotificationHalvesTheRate) {
    Dcqcn flow;
    EXPECT_EQ(flow.delay(kDcqcn, 4096, 80'000, 0), 0U);
    flow.handle_notification(kDcqcn, kUs);
    EXPECT_DOUBLE_EQ(flow.rate(), 0.5);
    EXPECT_EQ(flow.delay(kDcqcn, 4096, 80'000, kUs), 80'000U);
}

TEST(Dcqcn, AlphaDecaysWithoutNotificationsSoTheNextCutIsSmaller) {
    Dcqcn flow;
    flow.handle_notification(kDcqcn, 0);
    flow.delay(kDcqcn, 0, 1, 55 * kUs * 100);
    EXPECT_LT(flow.alpha(), 0.7);
    EXPECT_GT(flow.alpha(), 0.5);
}

TEST(Dcqcn, FastRecoveryComesHalfWayBackEachPeriod) {
    Dcqcn flow;
    flow.handle_notification(kDcqcn, 0);
    flow.handle_notification(kDcqcn, 0);  // The target is now 0.5.
    const double low = flow.rate();
    flow.delay(kDcqcn, 0, 1, 55 * kUs);
    EXPECT_DOUBLE_EQ(flow.rate(), (low + 0.5) / 2);
}

TEST(Dcqcn, TheTargetGrowsOnlyAfterFastRecovery) {
    Dcqcn flow;
    flow.handle_notification(kDcqcn, 0);
    flow.handle_notification(kDcqcn, 0);
    flow.delay(kDcqcn, 0, 1, 55 * kUs * 5);
    EXPECT_LT(flow.rate(), 0.5);
    flow.delay(kDcqcn, 0, 1, 55 * kUs * 40);
    EXPECT_GT(flow.rate(), 0.5);
}

TEST(Dcqcn, BytesSentSpeedRecoveryUp) {
    Dcqcn by_time;
    Dcqcn by_both;
    for (Dcqcn* flow : {&by_time, &by_both}) {
        flow->handle_notification(kDcqcn, 0);
        flow->handle_notification(kDcqcn, 0);
    }
    by_both.delay(kDcqcn, 10'000'000, 1, 54 * kUs);
    by_time.delay(kDcqcn, 0, 1, 54 * kUs);
    EXPECT_GT(by_both.rate(), by_time.rate());
}

TEST(Dcqcn, NeverFallsBelowTheLeast) {
    Dcqcn flow;
    for (int i = 0; i < 100; ++i) {
        flow.handle_notification(kDcqcn, 0);
    }
    EXPECT_DOUBLE_EQ(flow.rate(), kDcqcn.least);
}

TEST(Dcqcn, TwoFlowsThatShareALinkConvergeToTheSameRate) {
    // Both get a notification whenever they together send more than the link carries.
    DcqcnRule rule;
    rule.gain = 1.0 / 16;
    Dcqcn one;
    Dcqcn other;
    for (int i = 0; i < 3; ++i) {
        other.handle_notification(rule, 0);
    }
    ASSERT_LT(other.rate(), 0.2 * one.rate());
    double sum_one = 0;
    double sum_other = 0;
    constexpr int kSteps = 100'000;
    for (int step = 1; step <= kSteps; ++step) {
        const TimePs now = TimePs(step) * rule.notification_gap_ps;
        const bool full = one.rate() + other.rate() > 1;
        for (Dcqcn* flow : {&one, &other}) {
            flow->delay(rule, 0, 1, now);
            if (full) {
                flow->handle_notification(rule, now);
            }
        }
        sum_one += step > kSteps / 2 ? one.rate() : 0;
        sum_other += step > kSteps / 2 ? other.rate() : 0;
    }
    EXPECT_NEAR(sum_one / (kSteps / 2), 0.5, 0.05);
    EXPECT_NEAR(sum_other / (kSteps / 2), 0.5, 0.05);
}

TEST(Dcqcn, ReachesTheFullRateAgain) {
    Dcqcn flow;
    flow.handle_notification(kDcqcn, 0);
    flow.delay(kDcqcn, 0, 1, 55 * kUs * 1000);
    EXPECT_EQ(flow.delay(kDcqcn, 4096, 80'000, 55 * kUs * 1000), 0U);
}

}  // namespace
}  // namespace softib::link
