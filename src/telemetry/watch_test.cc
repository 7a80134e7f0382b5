// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/watch.h"

#include <gtest/gtest.h>

#include "telemetry/collector.h"
#include "telemetry/test_fabric.h"

namespace softib::telemetry {
namespace {

class WatchTest : public testing::Test {
  protected:
    /// Returns the next reading, `seconds` after the first. A test changes it and then follows it.
    Snapshot& at(std::uint64_t seconds) {
        Snapshot fresh = test_snapshot(last_.number + 1, seconds, inventory_);
        fresh.sample.counts = last_.number == 0 ? fresh.sample.counts : last_.sample.counts;
        next_ = std::move(fresh);
        return next_;
    }
    void follow(const std::vector<Notice>& notices = {}) {
        if (last_.number != 0) {
            next_.rates = rates_between(*next_.inventory, last_.sample, next_.sample);
        }
        watch_.follow(last_, next_, notices, book_);
        last_ = next_;
    }
    std::vector<std::string> kinds() const {
        std::vector<std::string> found;
        for (const Event& event : book_.events()) {
            found.push_back(event.kind + " " + event.object);
        }
        return found;
    }

    std::shared_ptr<const Inventory> inventory_ =
        std::make_shared<const Inventory>(test_inventory());
    Watch watch_{built_in_rules()};
    EventBook book_;
    Snapshot last_;
    Snapshot next_;
};

TEST_F(WatchTest, APulledCableIsAnAlarmAtBothEndsAndTheHostIsDown) {
    at(0);
    follow();
    at(1).sample.states = {PortState::kDown, PortState::kActive, PortState::kDown,
                           PortState::kActive};
    follow();
    EXPECT_EQ(kinds(), (std::vector<std::string>{"node_down h0/mlx5_0", "link_down h0/mlx5_0:1",
                                                 "link_down sw0:1"}));
    EXPECT_EQ(book_.alarms().size(), 3U);
    at(2);
    follow();
    EXPECT_TRUE(book_.alarms().empty());
}

TEST_F(WatchTest, WhatWasDownFromTheBeginningIsAnAlarmToo) {
    at(0).sample.states[1] = PortState::kDown;
    follow();
    EXPECT_TRUE(book_.is_active("link_down", "h1/mlx5_0:1"));
    EXPECT_TRUE(book_.is_active("node_down", "h1/mlx5_0"));
    EXPECT_EQ(book_.alarms().size(), 2U);
    at(1).sample.states[1] = PortState::kDown;
    follow();
    EXPECT_EQ(book_.events().size(), 2U) << "nothing is told twice";
}

TEST_F(WatchTest, APortThatComesUpHasAReadingsTime) {
    at(0).sample.states[0] = PortState::kInit;
    follow();
    EXPECT_TRUE(book_.events().empty());
    at(1).sample.states[0] = PortState::kInit;
    follow();
    EXPECT_TRUE(book_.is_active("link_down", "h0/mlx5_0:1"));
}

TEST_F(WatchTest, AlarmsOfAnEarlierProcessEndWhenTheirCauseHas) {
    std::vector<Event> earlier;
    for (const auto& [kind, object] : {std::pair{"link_down", "sw0:1"},
                                       {"node_down", "of another fabric"},
                                       {"no_answer", "sw0"},
                                       {"slow_link", "sw7:1"}}) {
        Event& event = earlier.emplace_back();
        event.id = earlier.size();
        event.kind = kind;
        event.object = object;
        event.alarm = event.active = true;
    }
    book_.restore(std::move(earlier));
    ASSERT_EQ(book_.alarms().size(), 4U);
    at(0);
    follow();
    at(1);
    follow();
    EXPECT_TRUE(book_.alarms().empty());
}

TEST_F(WatchTest, AnInventoryThatIsNumberedAnewKeepsTheAlarmsThatAreTrue) {
    at(0).sample.states[1] = PortState::kDown;
    follow();
    Inventory more = test_inventory();
    more.revision = 2;
    more.nodes.push_back({.guid = Guid{0x40},
                          .system_guid = Guid{0x40},
                          .name = "sw1",
                          .kind = topo::NodeKind::kSwitch,
                          .lid = Lid{4}});
    inventory_ = std::make_shared<const Inventory>(more);
    at(1).sample.states[1] = PortState::kDown;
    follow();
    EXPECT_TRUE(book_.is_active("link_down", "h1/mlx5_0:1"));
    at(2);
    follow();
    EXPECT_TRUE(book_.alarms().empty());
}

TEST_F(WatchTest, ARuleMustBeBrokenForItsSeconds) {
    for (std::uint64_t second = 0; second <= 4; ++second) {
        at(second).sample.counts[2].xmit_wait += 6'250'000'000;  // Half of a second.
        follow();
        EXPECT_TRUE(book_.alarms().empty()) << second;
    }
    at(5).sample.counts[2].xmit_wait += 6'250'000'000;
    follow();
    ASSERT_EQ(book_.alarms().size(), 1U);
    EXPECT_EQ(book_.alarms()[0].kind, "congestion");
    EXPECT_EQ(book_.alarms()[0].object, "sw0:1");
    at(6);
    follow();
    EXPECT_TRUE(book_.alarms().empty());
}

TEST_F(WatchTest, ALinkBelowItsSpeedIsAnAlarm) {
    at(0);
    follow();
    Inventory slow = test_inventory();
    slow.ports[0].active_mbps = 100'000;
    inventory_ = std::make_shared<const Inventory>(slow);
    at(1);
    follow();
    ASSERT_EQ(book_.alarms().size(), 1U);
    EXPECT_EQ(book_.alarms()[0].kind, "slow_link");
}

TEST_F(WatchTest, ACableThatLosesEverythingOneWayIsAnAlarm) {
    at(0);
    follow();
    for (std::uint64_t second = 1; second <= 3; ++second) {
        at(second).sample.counts[0].xmit_packets += 1000;
        follow();
    }
    ASSERT_EQ(book_.alarms().size(), 1U);
    EXPECT_EQ(book_.alarms()[0].kind, "one_way_cable");
    EXPECT_TRUE(book_.alarms()[0].text.ends_with(" do not arrive")) << book_.alarms()[0].text;
    at(4).sample.counts[0].xmit_packets += 1000;
    next_.sample.counts[2].rcv_packets += 1000;
    follow();
    EXPECT_TRUE(book_.alarms().empty());
}

TEST_F(WatchTest, NodesThatDoNotAnswerAreNamedUntilTheyDo) {
    at(0).sample.silent = {"sw0"};
    follow();
    EXPECT_TRUE(book_.is_active("no_answer", "sw0"));
    at(1);
    follow();
    EXPECT_FALSE(book_.is_active("no_answer", "sw0"));
}

TEST_F(WatchTest, TrapsAreEventsOfTheirIssuer) {
    at(0);
    follow({{.kind = Notice::kTrap,
             .trap = 129,
             .lid = Lid{3},
             .guid = {},
             .time_us = 1,
             .text = "trap 129 from LID 3"}});
    ASSERT_EQ(book_.events().size(), 1U);
    EXPECT_EQ(book_.events()[0].kind, "link_integrity_trap");
    EXPECT_EQ(book_.events()[0].object, "sw0");
}

TEST_F(WatchTest, CablesThatMovedAreEvents) {
    at(0);
    follow();
    Inventory moved = test_inventory();
    std::swap(moved.ports[0].peer, moved.ports[1].peer);
    std::swap(moved.ports[2].peer, moved.ports[3].peer);
    moved.revision = 2;
    inventory_ = std::make_shared<const Inventory>(moved);
    at(1);
    follow();
    EXPECT_EQ(kinds()[0], "cable_changed h0/mlx5_0:1");
}

TEST(Collector, AClockThatIsSetBackIsAnEventAndLeavesRatesAlone) {
    auto source = std::make_unique<TestSource>();
    TestSource& told = *source;
    Collector collector(std::move(source), {});
    const auto inventory = std::make_shared<const Inventory>(test_inventory());
    const auto step = [&](std::uint64_t second, std::int64_t clock_us) {
        Snapshot snapshot = test_snapshot(1, second, inventory);
        snapshot.sample.wall_us += clock_us;
        snapshot.sample.counts[0].xmit_words = 100 * second;
        told.next = Reading{inventory, snapshot.sample, {}};
        return collector.step();
    };
    step(0, 0);
    step(1, 0);
    EXPECT_TRUE(collector.events().empty());
    const auto snapshot = step(2, -3'600'000'000);
    EXPECT_FLOAT_EQ(snapshot->rates[0].xmit_bytes, 400);
    ASSERT_EQ(collector.events().size(), 1U);
    EXPECT_EQ(collector.events()[0].kind, "clock_set");
    EXPECT_NE(collector.events()[0].text.find("back by 3600.0 s"), std::string::npos);
}

}  // namespace
}  // namespace softib::telemetry
