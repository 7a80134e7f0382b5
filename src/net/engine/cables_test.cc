// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/cables.h"

#include <gtest/gtest.h>

namespace softib::net {
namespace {

TEST(Cables, SpoilPacketsAtTheirRatesWhateverTheOrderOfDraws) {
    Cables cables(2);
    EXPECT_EQ(cables.fate(0, 1, 0), Cables::Fate::kFine);
    cables.set_errors(0, {.lost_ppm = 100'000, .broken_ppm = 200'000, .inside_ppm = 300'000});
    std::uint32_t seen[4] = {};
    for (std::uint64_t number = 0; number < 100'000; ++number) {
        ++seen[static_cast<int>(cables.fate(0, number, 7))];
        EXPECT_EQ(cables.fate(0, number, 7), cables.fate(0, number, 7));
        EXPECT_EQ(cables.fate(1, number, 7), Cables::Fate::kFine) << "another port";
    }
    EXPECT_NEAR(seen[static_cast<int>(Cables::Fate::kLost)], 10'000, 500);
    EXPECT_NEAR(seen[static_cast<int>(Cables::Fate::kBroken)], 20'000, 700);
    EXPECT_NEAR(seen[static_cast<int>(Cables::Fate::kBrokenInside)], 30'000, 800);
}

TEST(Cables, LoseTheirIntegrityWhenBrokenPacketsOutnumberGoodOnes) {
    Cables cables(1);
    EXPECT_FALSE(cables.count_broken(0, 0)) << "no limit was set";
    cables.set_error_limit(0, 2);
    EXPECT_FALSE(cables.count_broken(0, 100));
    EXPECT_FALSE(cables.count_broken(0, 101));
    EXPECT_TRUE(cables.count_broken(0, 102)) << "the third in a row";
    EXPECT_FALSE(cables.count_broken(0, 200)) << "good packets have made up for them";
}

TEST(Cables, ATrainingThatAnotherHasOvertakenChangesNothing) {
    Cables cables(1);
    cables.state(0).handle_lost();
    cables.state(0).handle_other_end_found();
    const std::uint32_t first = cables.begin_training(0);
    const std::uint32_t second = cables.begin_training(0);
    EXPECT_FALSE(cables.end_training(0, first));
    EXPECT_FALSE(cables.link_up(0));
    EXPECT_TRUE(cables.end_training(0, second));
    EXPECT_TRUE(cables.link_up(0));
    EXPECT_EQ(cables.state(0).logical(), PortState::kActive) << "no manager moves ports on";
}

TEST(Cables, AfterInitializeAPortWaitsForItsManager) {
    Cables cables(1);
    cables.initialize(0);
    EXPECT_EQ(cables.state(0).logical(), PortState::kInit);
    cables.state(0).handle_lost();
    cables.state(0).handle_other_end_found();
    EXPECT_TRUE(cables.end_training(0, cables.begin_training(0)));
    EXPECT_EQ(cables.state(0).logical(), PortState::kInit);
}

TEST(Cables, WhatWasOnTheCableWhenItWentDownIsLost) {
    Cables cables(1);
    cables.cut_off(0, 1000);
    EXPECT_TRUE(cables.was_on(0, 1000));
    EXPECT_FALSE(cables.was_on(0, 1001));
}

TEST(Cables, ASlowHcaHandlesPacketsOneAfterTheOther) {
    Cables cables(1);
    cables.set_slow(0, 1000);
    EXPECT_EQ(cables.handled_at(0, 64, 5000), 6000U);
    EXPECT_EQ(cables.handled_at(0, 64, 5000), 7000U);
    cables.set_slow(0, 0);
    EXPECT_EQ(cables.handled_at(0, 64, 5000), 7001U) << "none overtakes those that wait";
    cables.pause(0, 20'000);
    EXPECT_EQ(cables.handled_at(0, 64, 8000), 20'001U);
}

TEST(Cables, ADelayReplacesTheOneBefore) {
    Cables cables(1);
    std::uint32_t total = 0;
    total += cables.change_delay(0, 500);
    total += cables.change_delay(0, 200);
    EXPECT_EQ(total, 200U);
}

}  // namespace
}  // namespace softib::net
