// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/watch.h"

#include <gtest/gtest.h>

#include "telemetry/collector.h"
#include "telemetry/health.h"
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

TEST_F(WatchTest, APulledCableIsOneAlarm) {
    at(0);
    follow();
    at(1).sample.states = {PortState::kDown, PortState::kActive, PortState::kDown,
                           PortState::kActive};
    follow();
    EXPECT_EQ(kinds(), (std::vector<std::string>{"link_down h0/mlx5_0:1"}));
    ASSERT_EQ(book_.alarms().size(), 1U);
    EXPECT_EQ(book_.alarms()[0].text, "the cable to sw0:1 is down; h0/mlx5_0 has no other");
    EXPECT_EQ(watch_.outage().lost, (std::vector<std::string>{"h0/mlx5_0"}));
    EXPECT_EQ(watch_.outage().broken, (std::vector<std::string>{"h0/mlx5_0:1 - sw0:1"}));
    at(2);
    follow();
    EXPECT_TRUE(book_.alarms().empty());
    EXPECT_EQ(kinds().back(), "link_up h0/mlx5_0:1");
}

TEST_F(WatchTest, WhatWasDownFromTheBeginningIsAnAlarmToo) {
    at(0).sample.states[1] = PortState::kDown;
    follow();
    EXPECT_TRUE(book_.is_active("link_down", "h1/mlx5_0:1"));
    EXPECT_EQ(book_.alarms().size(), 1U);
    at(1).sample.states[1] = PortState::kDown;
    follow();
    EXPECT_EQ(book_.events().size(), 1U) << "nothing is told twice";
}

TEST_F(WatchTest, ALostSwitchIsOneAlarmAndTakesItsCablesWithIt) {
    at(0);
    follow();
    at(1).sample.states.assign(4, PortState::kDown);
    follow();
    ASSERT_EQ(book_.alarms().size(), 1U);
    EXPECT_EQ(book_.alarms()[0].kind, "node_down");
    EXPECT_EQ(book_.alarms()[0].object, "sw0");
    EXPECT_EQ(book_.alarms()[0].text, "none of its 2 cables is up; 2 hosts are lost with it");
    EXPECT_EQ(kinds(), (std::vector<std::string>{"node_down sw0", "link_down h0/mlx5_0:1",
                                                 "link_down h1/mlx5_0:1"}));
    // The switch is back without one of its cables, which is an alarm of its own now.
    at(2).sample.states[1] = PortState::kDown;
    follow();
    ASSERT_EQ(book_.alarms().size(), 1U);
    EXPECT_EQ(book_.alarms()[0].object, "h1/mlx5_0:1");
    EXPECT_EQ(book_.alarms()[0].text, "the cable to sw0:2 is down; h1/mlx5_0 has no other");
    at(3);
    follow();
    EXPECT_TRUE(book_.alarms().empty());
}

TEST_F(WatchTest, WhatASourceFindsNoMoreIsMissingUntilTheChangeIsAccepted) {
    at(0);
    follow();
    Inventory fewer;
    fewer.revision = 2;
    fewer.nodes = {test_inventory().nodes[0]};
    fewer.nodes[0].port_count = 0;
    inventory_ = std::make_shared<const Inventory>(fewer);
    for (std::uint64_t second = 1; second <= 2; ++second) {
        at(second).sample.counts.clear();
        follow();
        ASSERT_EQ(book_.alarms().size(), 1U);
        EXPECT_EQ(book_.alarms()[0].kind, "node_down");
        EXPECT_EQ(book_.alarms()[0].object, "sw0");
        EXPECT_EQ(book_.alarms()[0].text, "none of its 2 cables is up; 2 hosts are lost with it");
        EXPECT_EQ(watch_.outage().nodes, 3U);
        EXPECT_EQ(watch_.outage().cables, 2U);
    }
    Watch& watch = watch_;
    watch.accept();
    at(3).sample.counts.clear();
    follow();
    EXPECT_TRUE(book_.alarms().empty());
    EXPECT_EQ(watch_.outage().nodes, 1U);
}

TEST_F(WatchTest, WhatIsMissingIsNoAlarmOnceItIsBack) {
    at(0);
    follow();
    const auto whole = inventory_;
    Inventory fewer = test_inventory();
    fewer.revision = 2;
    fewer.nodes.erase(fewer.nodes.begin() + 1);
    fewer.nodes[1].port_first = 1;
    fewer.nodes[1].port_count = 1;
    fewer.ports = {fewer.ports[0], fewer.ports[2]};
    fewer.ports[0].peer = 1;
    fewer.ports[1].node = 1;
    inventory_ = std::make_shared<const Inventory>(fewer);
    at(1).sample.counts.clear();
    next_.sample.counts.resize(2);
    follow();
    ASSERT_EQ(book_.alarms().size(), 1U);
    EXPECT_EQ(book_.alarms()[0].object, "h1/mlx5_0:1");
    inventory_ = whole;
    at(2).sample.counts.clear();
    next_.sample.counts.resize(4);
    follow();
    EXPECT_TRUE(book_.alarms().empty());
    EXPECT_EQ(watch_.outage().nodes, 3U);
}

TEST_F(WatchTest, AFabricThatWasStartedAnewMissesNothing) {
    at(0);
    follow();
    Inventory other;
    other.revision = 2;
    other.nodes = {test_inventory().nodes[0]};
    other.nodes[0].port_count = 0;
    inventory_ = std::make_shared<const Inventory>(other);
    at(1).instance = 7;
    next_.sample.counts.clear();
    follow();
    EXPECT_TRUE(book_.alarms().empty());
}

TEST_F(WatchTest, AMovedCableIsNotMissing) {
    at(0);
    follow();
    Inventory moved = test_inventory();
    moved.revision = 2;
    moved.ports[3].number = 9;  // From port 2 of the switch to its port 9.
    inventory_ = std::make_shared<const Inventory>(moved);
    at(1);
    follow();
    EXPECT_TRUE(book_.alarms().empty());
    EXPECT_EQ(watch_.outage().cables, 2U);
}

TEST_F(WatchTest, ACableThatFlapsBetweenReadingsIsAnAlarm) {
    at(0);
    follow();
    for (std::uint64_t second = 1; second <= 2; ++second) {
        at(second).sample.counts[1].link_downed += 1;
        next_.sample.counts[3].link_downed += 1;
        follow();
        EXPECT_TRUE(book_.alarms().empty()) << second;
    }
    at(3).sample.counts[1].link_downed += 5;
    next_.sample.counts[3].link_downed += 4;
    follow();
    ASSERT_EQ(book_.alarms().size(), 1U);
    EXPECT_EQ(book_.alarms()[0].kind, "flapping");
    EXPECT_EQ(book_.alarms()[0].object, "h1/mlx5_0:1");
    EXPECT_EQ(book_.alarms()[0].text, "the cable to sw0:2 went down 7 times in 3 s");
    at(200);
    follow();
    EXPECT_EQ(book_.alarms().size(), 1U) << "an alarm stays for a while";
    at(400);
    follow();
    EXPECT_TRUE(book_.alarms().empty());
}

TEST_F(WatchTest, APortThatIsDownIsNotSlow) {
    Inventory slow = test_inventory();
    slow.ports[0].active_mbps = slow.ports[2].active_mbps = 100'000;
    inventory_ = std::make_shared<const Inventory>(slow);
    for (std::uint64_t second = 0; second < 3; ++second) {
        at(second).sample.states[0] = PortState::kDown;
        next_.sample.states[2] = PortState::kDown;
        follow();
    }
    ASSERT_EQ(book_.alarms().size(), 1U);
    EXPECT_EQ(book_.alarms()[0].kind, "link_down");
    for (const Check& check : check_health(last_, {})) {
        EXPECT_TRUE(check.name != "speed" || check.ok());
    }
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
