// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/choice.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace softib::net {
namespace {

constexpr std::array<std::uint8_t, 3> kNear{4, 5, 6};

TEST(Choice, TakesThePortWithTheLeastToDo) {
    Choice choice(1);
    sw::AdaptiveTable::Choice ports{};
    ports.near = kNear;
    EXPECT_EQ(
        choice.choose(0, ports, 4, 1, 100, [](std::uint8_t port) { return port == 5 ? 1U : 9U; }),
        5);
}

TEST(Choice, SpreadsOverPortsThatAreEqual) {
    Choice choice(1);
    sw::AdaptiveTable::Choice ports{};
    ports.near = kNear;
    std::set<std::uint8_t> taken;
    for (int i = 0; i < 60; ++i) {
        taken.insert(choice.choose(0, ports, 4, 1, 100, [](std::uint8_t) { return 3U; }));
    }
    EXPECT_EQ(taken.size(), kNear.size());
}

TEST(Choice, InTurnEachPortComesOnceInARound) {
    Choice choice(2);
    EXPECT_EQ(choice.next_in_turn(0, kNear), 4);
    EXPECT_EQ(choice.next_in_turn(1, kNear), 4) << "each switch has turns of its own";
    EXPECT_EQ(choice.next_in_turn(0, kNear), 5);
    EXPECT_EQ(choice.next_in_turn(0, kNear), 6);
    EXPECT_EQ(choice.next_in_turn(0, kNear), 4);
}

}  // namespace
}  // namespace softib::net
