// SPDX-License-Identifier: BSD-2-Clause
#include "net/flow/calendar.h"

#include <gtest/gtest.h>

namespace softib::net::flow {
namespace {

TEST(Calendar, StretchesComeInOrderAndTheirEventsAsTheyWerePutIn) {
    Calendar calendar(100);
    calendar.push(350, 1);
    calendar.push(120, 2);
    calendar.push(390, 3);
    calendar.push(301, 4);
    std::vector<std::uint32_t> events;
    EXPECT_EQ(calendar.next(), 120U);
    EXPECT_EQ(calendar.pop(events).first, 120U);
    EXPECT_EQ(calendar.next(), 301U);
    EXPECT_EQ(events, std::vector<std::uint32_t>({2}));
    const Calendar::Taken taken = calendar.pop(events);
    EXPECT_EQ(taken.first, 301U);
    EXPECT_TRUE(taken.has(399));
    EXPECT_FALSE(taken.has(400));
    EXPECT_EQ(events, std::vector<std::uint32_t>({1, 3, 4}));
    EXPECT_TRUE(calendar.empty());
    EXPECT_EQ(calendar.next(), kNever);
}

TEST(Calendar, AStretchThatWasTakenCanBeginAgain) {
    Calendar calendar(100);
    std::vector<std::uint32_t> events;
    calendar.push(10, 1);
    calendar.push(250, 2);
    calendar.pop(events);
    calendar.push(20, 3);
    calendar.push(30, 4);
    EXPECT_EQ(calendar.pop(events).first, 20U);
    EXPECT_EQ(events, std::vector<std::uint32_t>({3, 4}));
    EXPECT_EQ(calendar.pop(events).first, 250U);
    EXPECT_TRUE(calendar.empty());
}

}  // namespace
}  // namespace softib::net::flow
