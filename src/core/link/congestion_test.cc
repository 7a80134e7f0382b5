// SPDX-License-Identifier: BSD-2-Clause
#include "core/link/congestion.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "core/link/cca.h"
#include "core/link/congestion_algorithms.h"

namespace softib::link {
namespace {

constexpr TimePs kMicro = 1'000'000;
/// A window of 20 packets fills the empty path.
constexpr FlowFacts kPath{.packet_ps = 100'000, .round_trip_ps = 2 * kMicro};

Acknowledged after(TimePs round_trip, TimePs now, std::uint32_t packets = 1) {
    return {.packets = packets, .round_trip_ps = round_trip, .now = now};
}

/// A rule without flow scaling, so that the target is 4 us on kPath.
constexpr SwiftRule kSwift{.scaling_ps = 0};

TEST(Swift, AFlowBeginsWithWhatFillsTheEmptyPath) {
    const SwiftController flow(kSwift, kPath);
    EXPECT_DOUBLE_EQ(flow.window(), 20);
    EXPECT_EQ(flow.target(), 4 * kMicro);
}

TEST(Swift, BelowTheTargetAWindowGrowsByOnePacketInARoundTrip) {
    SwiftController flow(kSwift, kPath);
    flow.handle_ack(after(4 * kMicro - 1, kMicro, 20));
    EXPECT_DOUBLE_EQ(flow.window(), 21);
    flow.handle_ack(after(2 * kMicro, kMicro));
    EXPECT_DOUBLE_EQ(flow.window(), 21 + 1.0 / 21);
}

TEST(Swift, AboveTheTargetAWindowShrinksInProportionToTheExcess) {
    SwiftController flow(kSwift, kPath);
    flow.handle_ack(after(5 * kMicro, 10 * kMicro));
    EXPECT_DOUBLE_EQ(flow.window(), 20 * (1 - 0.8 * 1 / 5));
}

TEST(Swift, OneDecreaseIsBounded) {
    SwiftController flow(kSwift, kPath);
    flow.handle_ack(after(400 * kMicro, 1000 * kMicro));
    EXPECT_DOUBLE_EQ(flow.window(), 10);
}

TEST(Swift, AWindowShrinksOnceInARoundTrip) {
    SwiftController flow(kSwift, kPath);
    flow.handle_ack(after(400 * kMicro, 1000 * kMicro));
    flow.handle_ack(after(400 * kMicro, 1399 * kMicro));
    flow.handle_loss(1399 * kMicro);
    EXPECT_DOUBLE_EQ(flow.window(), 10);
    flow.handle_ack(after(400 * kMicro, 1400 * kMicro));
    EXPECT_DOUBLE_EQ(flow.window(), 5);
}

TEST(Swift, ALossHalvesAndManyTimeoutsInARowLeaveTheLeastWindow) {
    SwiftController flow(kSwift, kPath);
    flow.handle_loss(0);
    EXPECT_DOUBLE_EQ(flow.window(), 10);
    for (TimePs i = 1; i < kSwift.reset_timeouts; ++i) {
        flow.handle_timeout(i * 1000 * kMicro);
        EXPECT_GT(flow.window(), 0.5);
    }
    flow.handle_timeout(9000 * kMicro);
    EXPECT_DOUBLE_EQ(flow.window(), kSwift.least);
}

TEST(Swift, AWindowBelowOnePacketIsAPause) {
    constexpr SwiftRule kSlow{.additive = 0.5, .scaling_ps = 0};
    SwiftController flow(kSlow, kPath);
    EXPECT_EQ(flow.delay(4096, kPath.packet_ps, 0), 0U);
    for (TimePs now = 0; flow.window() >= 1; now += 10 * kMicro) {
        flow.handle_ack(after(8 * kMicro, now));
    }
    const double window = flow.window();
    EXPECT_EQ(flow.delay(4096, kPath.packet_ps, 0),
              static_cast<TimePs>(8.0 * kMicro / window) - kPath.packet_ps);
    flow.handle_ack(after(2 * kMicro, 5000 * kMicro));
    EXPECT_DOUBLE_EQ(flow.window(), window + 0.5) << "grows by packets acknowledged";
}

TEST(Swift, FlowScalingGivesSmallWindowsALaterTarget) {
    constexpr SwiftRule kScaled{.scaling_ps = 3 * kMicro};
    SwiftController flow(kScaled, kPath);
    const TimePs wide = flow.target();
    EXPECT_GT(wide, 4 * kMicro);
    for (TimePs now = 0; now < 100 * 20 * kMicro; now += 20 * kMicro) {
        flow.handle_ack(after(20 * kMicro, now));
    }
    EXPECT_GT(flow.target(), wide);
    EXPECT_LE(flow.target(), 7 * kMicro);
}

TEST(Swift, AWindowNeverExceedsWhatTheTargetHasRoomFor) {
    SwiftController flow(kSwift, kPath);
    for (int i = 0; i < 10'000; ++i) {
        flow.handle_ack(after(2 * kMicro, kMicro));
    }
    EXPECT_DOUBLE_EQ(flow.window(), 40);
}

TEST(Cca, AFlowPausesByTheTableOfItsPort) {
    InjectionControl control;
    control.table = DelayTable::geometric(1, 2, 10);
    control.rules[3] = {.timer = 1, .increase = 2};
    const InjectionControl* settings = &control;
    CcaController flow({.injection = &settings, .sl = 3});
    EXPECT_EQ(flow.delay(4096, 80'000, 0), 0U);
    EXPECT_EQ(flow.window(), Controller::kNoWindow);
    flow.handle_notification(0);
    EXPECT_EQ(flow.delay(4096, 80'000, 0), 3 * 80'000U) << "a quarter of the rate";
    EXPECT_EQ(flow.delay(4096, 80'000, kCctiTimerUnit), 80'000U) << "half of it after CCTI_Timer";
    EXPECT_EQ(flow.delay(4096, 80'000, 2 * kCctiTimerUnit), 0U);
    InjectionControl slow = control;
    slow.rules[3].minimum = 1;
    settings = &slow;
    EXPECT_EQ(flow.delay(4096, 80'000, 3 * kCctiTimerUnit), 80'000U) << "what was written since";
}

TEST(CongestionAlgorithms, EveryRowIsWholeAndItsKeysAreItsOwn) {
    std::set<std::string_view> names;
    const InjectionControl control;
    const InjectionControl* const settings = &control;
    CongestionRules rules;
    for (const CongestionAlgorithm& algorithm : congestion_algorithms()) {
        EXPECT_TRUE(names.insert(algorithm.name).second) << algorithm.name;
        EXPECT_FALSE(algorithm.title.empty());
        EXPECT_EQ(find_congestion_algorithm(algorithm.name), &algorithm);
        FlowFacts facts = kPath;
        facts.injection = &settings;
        const auto flow = algorithm.make(rules, facts);
        EXPECT_EQ(flow->delay(4096, 80'000, 0), 0U) << algorithm.name << " begins at full rate";
        for (const CongestionParameter& parameter : algorithm.parameters) {
            EXPECT_TRUE(parameter.key.starts_with(algorithm.name)) << parameter.key;
            EXPECT_TRUE(names.insert(parameter.key).second) << parameter.key;
        }
    }
    EXPECT_EQ(find_congestion_algorithm("cubic"), nullptr);
}

}  // namespace
}  // namespace softib::link
