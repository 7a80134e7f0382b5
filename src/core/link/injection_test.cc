// SPDX-License-Identifier: BSD-2-Clause
#include "core/link/injection.h"

#include <gtest/gtest.h>

namespace softib::link {
namespace {

constexpr InjectionRule kRule{.timer = 10, .increase = 4, .minimum = 1, .trigger = 6};
constexpr TimePs kStep = 10 * kCctiTimerUnit;

DelayTable linear() {
    DelayTable table;
    table.limit = 20;
    for (std::uint16_t i = 0; i <= table.limit; ++i) {
        table.entry[i] = {.shift = 1, .multiplier = i};
    }
    return table;
}

TEST(Injection, ABecnMovesTheIndexUpAsFarAsTheLimit) {
    Injection flow;
    const DelayTable table = linear();
    flow.handle_becn(kRule, table, 0);
    EXPECT_EQ(flow.index(kRule, 0), 5);
    for (int i = 0; i < 10; ++i) {
        flow.handle_becn(kRule, table, 0);
    }
    EXPECT_EQ(flow.index(kRule, 0), 20);
}

TEST(Injection, TheTimerMovesItDownByOneAsFarAsTheMinimum) {
    Injection flow;
    flow.handle_becn(kRule, linear(), 0);
    EXPECT_EQ(flow.index(kRule, kStep - 1), 5);
    EXPECT_EQ(flow.index(kRule, kStep), 4);
    EXPECT_EQ(flow.index(kRule, 3 * kStep + 1), 2);
    EXPECT_EQ(flow.index(kRule, 400 * kStep), 1);
}

TEST(Injection, LookingOftenDoesNotStopTheTimer) {
    Injection flow;
    flow.handle_becn(kRule, linear(), 0);
    for (TimePs at = 0; at <= 2 * kStep; at += kStep / 7) {
        flow.index(kRule, at);
    }
    EXPECT_EQ(flow.index(kRule, 2 * kStep), 3);
}

TEST(Injection, TheDelayIsInPartsOfThePacketsOwnTime) {
    Injection flow;
    flow.handle_becn(kRule, linear(), 0);
    EXPECT_EQ(flow.delay(kRule, linear(), 1000, 0), 2500U);  // 5, shifted by 1.
    EXPECT_EQ(flow.delay(kRule, linear(), 100, 0), 250U);
}

TEST(Injection, StepsDownDuringADelayMakeItShorter) {
    Injection flow;
    flow.handle_becn(kRule, linear(), 0);
    // The delay of index 5 is 5 / 2 of a step, that of 4 is over when it begins, at 2 steps.
    EXPECT_EQ(flow.delay(kRule, linear(), kStep, 0), 2 * kStep);
    EXPECT_EQ(flow.delay(kRule, linear(), kStep, kStep / 2), kStep * 3 / 2);
    EXPECT_EQ(flow.delay(kRule, linear(), kStep, 50 * kStep), kStep / 2) << "the minimum";
    constexpr InjectionRule kStays{.timer = 0, .increase = 4, .minimum = 1};
    Injection still;
    still.handle_becn(kStays, linear(), 0);
    EXPECT_EQ(still.delay(kStays, linear(), 100 * kStep, 0), 250 * kStep);
}

TEST(Injection, ReachingTheTriggerIsSaidOnce) {
    Injection flow;
    EXPECT_FALSE(flow.handle_becn(kRule, linear(), 0));
    EXPECT_TRUE(flow.handle_becn(kRule, linear(), 0));
    EXPECT_FALSE(flow.handle_becn(kRule, linear(), 0));
}

TEST(Injection, AGeometricTableSlowsByTheSamePartEachStep) {
    const DelayTable table = DelayTable::geometric(9, 10, 127);
    EXPECT_EQ(table.delay(0, 8000), 0U);
    // After 22 steps of nine tenths about a tenth of the rate is left: a delay of nine packets.
    EXPECT_NEAR(static_cast<double>(table.delay(22, 8000)), 9 * 8000, 1500);
    for (std::uint16_t i = 1; i <= table.limit; ++i) {
        EXPECT_GE(table.delay(i, 8000), table.delay(i - 1, 8000));
        EXPECT_LE(table.entry[i].multiplier, 0x3FFF);
    }
}

}  // namespace
}  // namespace softib::link
