// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/schedule.h"

#include <gtest/gtest.h>

#include <vector>

namespace softib::net {
namespace {

using Ends = Schedule::LinkEnds;

constexpr std::uint32_t kHca = WindowQueue::kNoBin;
constexpr TimePs kCable = 500'000;
constexpr unsigned kWidth = 10;

/// An HCA at switch 0, which is cabled to switch 1: links 0 and 1, 2 and 3; link 4 is the agent's.
constexpr Ends kLinks[] = {
    {kHca, 0, kCable}, {0, kHca, kCable}, {0, 1, kCable}, {1, 0, kCable}, {0, 0, kNever}};

struct WithWindows : Schedule {
    WithWindows() : Schedule(kWidth) { use_windows(kLinks, 2, 1, kCable); }

    /// Returns whether an event goes to a switch, which is then that one.
    bool waits_at(std::uint32_t bin, EventKind kind, std::uint32_t link) {
        const std::uint64_t before = windows().pending();
        post(kCable, link, kind);
        if (windows().pending() == before) {
            return false;
        }
        windows().advance(kCable);
        return windows().next_bin(0) == bin;
    }
};

TEST(Schedule, WithoutWindowsOneQueueHasAllEvents) {
    Schedule schedule(kWidth);
    schedule.post(300, 1, EventKind::kWake);
    schedule.post(200, 7, EventKind::kArrival, 5);
    EXPECT_EQ(schedule.pending(), 2U);
    EXPECT_LE(schedule.earliest(), 200U);
    ASSERT_TRUE(schedule.queue().due(1000));
    EXPECT_EQ(schedule.queue().pop().link(), 7U);
    EXPECT_EQ(schedule.now(), 200U);
    ASSERT_TRUE(schedule.queue().due(1000));
    EXPECT_EQ(schedule.queue().pop().link(), 1U);
    EXPECT_EQ(schedule.pending(), 0U);
    EXPECT_EQ(schedule.earliest(), kNever);
}

TEST(Schedule, AnArrivalWaitsAtTheReceiverAndAWakeAtTheSender) {
    EXPECT_TRUE(WithWindows().waits_at(0, EventKind::kArrival, 0));
    EXPECT_TRUE(WithWindows().waits_at(1, EventKind::kArrival, 2));
    EXPECT_TRUE(WithWindows().waits_at(0, EventKind::kRelease, 3));
    EXPECT_TRUE(WithWindows().waits_at(0, EventKind::kWake, 1));
    EXPECT_TRUE(WithWindows().waits_at(0, EventKind::kWake, 2));
    EXPECT_TRUE(WithWindows().waits_at(1, EventKind::kWake, 3));
}

TEST(Schedule, EventsOfHcasStayInTheOneQueue) {
    WithWindows schedule;
    schedule.post(kCable, 0, EventKind::kWake);
    schedule.post(kCable, 1, EventKind::kArrival, 3);
    EXPECT_EQ(schedule.queue().pending(), 2U);
    EXPECT_EQ(schedule.windows().pending(), 0U);
}

TEST(Schedule, ASwitchHasTheLinksThatEndOrBeginAtIt) {
    const WithWindows schedule;
    const auto links_of = [&](std::uint32_t bin) {
        const auto links = schedule.links_of(bin);
        return std::vector(links.begin(), links.end());
    };
    EXPECT_EQ(links_of(0), (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
    EXPECT_EQ(links_of(1), (std::vector<std::uint32_t>{2, 3}));
    EXPECT_EQ(schedule.at_sender(3).bin, 1U);
    EXPECT_EQ(schedule.at_sender(3).rank, 1U);
    EXPECT_EQ(schedule.at_receiver(3).bin, 0U);
    EXPECT_EQ(schedule.at_receiver(3).rank, 3U);
    EXPECT_EQ(schedule.at_sender(0).bin, kHca);
}

TEST(Schedule, OneShortCableKeepsOneQueue) {
    std::vector<Ends> links(std::begin(kLinks), std::end(kLinks));
    links[2].cable_ps = kCable - 1;
    Schedule schedule(kWidth);
    schedule.use_windows(links, 2, 1, kCable);
    EXPECT_FALSE(schedule.windows().on());
    schedule.use_windows(links, 2, 1, kCable - 1);
    EXPECT_TRUE(schedule.windows().on());
}

TEST(Schedule, WithWindowsNodesAreWhereTheLastOneIs) {
    WithWindows schedule;
    schedule.set_now(400);
    EXPECT_EQ(schedule.reached(), 0U);
    schedule.note_event();
    schedule.reach(300);
    EXPECT_EQ(schedule.reached(), 300U);
    EXPECT_EQ(schedule.last_event(), 400U);
    Schedule without(kWidth);
    without.set_now(400);
    EXPECT_EQ(without.reached(), 400U);
}

}  // namespace
}  // namespace softib::net
