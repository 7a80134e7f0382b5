// SPDX-License-Identifier: BSD-2-Clause
#include "core/switch/forward.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <utility>
#include <vector>

namespace softib::sw {
namespace {

struct ToyPlace {
    std::uint32_t node = 0;
    std::uint8_t port = 0;
};

struct ToyPort {
    bool active = true;
    bool enforced = false;
    std::vector<PKey> keys;
    ToyPlace peer{};
};

struct ToySwitch {
    std::array<ToyPort, 5> ports;
    std::array<std::uint8_t, 16> lft{};
    std::uint64_t group = 0;  ///< The ports of the only multicast LID.
};

class ToyView {
  public:
    ToyView(const ToySwitch& sw, std::uint32_t index) : sw_(&sw), index_(index) {}

    std::uint32_t index() const { return index_; }
    bool is_active(std::uint8_t port) const { return sw_->ports[port].active; }
    bool lets_in(std::uint8_t port, PKey pkey) const { return lets_out(port, pkey); }
    bool lets_out(std::uint8_t port, PKey pkey) const {
        return lets_pass(sw_->ports[port].enforced, sw_->ports[port].keys, pkey);
    }
    std::uint8_t out_port(Lid dlid) const { return sw_->lft[dlid.value]; }
    std::uint32_t multicast_words() const { return 1; }
    std::uint64_t multicast_ports(Lid, std::uint32_t) const { return sw_->group; }
    std::optional<ToyPlace> cross(std::uint8_t, std::uint8_t out) const {
        return sw_->ports[out].peer;
    }

  private:
    const ToySwitch* sw_;
    std::uint32_t index_;
};

/// Two switches, joined by their ports 3. Hosts 10 and 11 are at ports 1 and 2 of the first one,
/// host 12 is at port 1 of the second one. Host n has LID n.
struct ToyFabric {
    using Place = ToyPlace;

    ToyFabric() {
        switches[0].ports[1].peer = {10, 1};
        switches[0].ports[2].peer = {11, 1};
        switches[0].ports[3].peer = {1, 3};
        switches[1].ports[1].peer = {12, 1};
        switches[1].ports[3].peer = {0, 3};
        for (ToySwitch& sw : switches) {
            sw.lft.fill(kNoPath);
        }
        switches[0].lft[10] = 1;
        switches[0].lft[11] = 2;
        switches[0].lft[12] = 3;
        switches[1].lft[10] = switches[1].lft[11] = 3;
        switches[1].lft[12] = 1;
    }

    std::optional<ToyView> switch_at(const Place& at) const {
        return at.node < 2 ? std::optional(ToyView(switches[at.node], at.node)) : std::nullopt;
    }
    std::uint32_t switch_count() const { return 2; }

    std::array<ToySwitch, 2> switches;
};

using Seen = std::vector<std::pair<std::pair<std::uint32_t, int>, Step>>;

/// Follows a packet that host 10 sends, from port 1 of the first switch on.
std::optional<ToyPlace> follow(const ToyFabric& fabric, Lid dlid, Seen& seen,
                               std::optional<PKey> pkey = kPKeyDefaultFull) {
    return follow_unicast(fabric, {0, 1}, dlid, pkey,
                          [&](const ToyView& sw, std::uint8_t port, Step step) {
                              seen.push_back({{sw.index(), port}, step});
                          });
}

TEST(Forward, APacketFollowsTheTables) {
    const ToyFabric fabric;
    Seen seen;
    const auto end = follow(fabric, Lid{12}, seen);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->node, 12U);
    const Seen expected{
        {{0, 1}, Step::kIn}, {{0, 3}, Step::kOut}, {{1, 3}, Step::kIn}, {{1, 1}, Step::kOut}};
    EXPECT_EQ(seen, expected);
}

TEST(Forward, TheTablesEntryZeroIsTheSwitchItself) {
    ToyFabric fabric;
    fabric.switches[1].lft[12] = 0;
    Seen seen;
    const auto end = follow(fabric, Lid{12}, seen);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->node, 1U);
    EXPECT_EQ(end->port, 0);
}

TEST(Forward, WhatTheTableDoesNotKnowIsLost) {
    const ToyFabric fabric;
    Seen seen;
    EXPECT_FALSE(follow(fabric, Lid{13}, seen));
    EXPECT_EQ(seen.back().second, Step::kUnknown);
}

TEST(Forward, NoPacketLeavesByThePortByWhichItCame) {
    ToyFabric fabric;
    fabric.switches[1].lft[12] = 3;
    Seen seen;
    EXPECT_FALSE(follow(fabric, Lid{12}, seen));
    EXPECT_EQ(seen.back(), (Seen::value_type{{1, 3}, Step::kLooping}));
    EXPECT_EQ(relay(0, 0), Relay::kOn) << "an agent may speak to its own switch";
}

TEST(Forward, APortThatIsNotActiveDiscards) {
    ToyFabric fabric;
    fabric.switches[1].ports[1].active = false;
    Seen seen;
    EXPECT_FALSE(follow(fabric, Lid{12}, seen));
    EXPECT_EQ(seen.back(), (Seen::value_type{{1, 1}, Step::kDiscarded}));
}

TEST(Forward, APortRefusesOtherPartitionsOnlyWhereItEnforcesThem) {
    EXPECT_TRUE(lets_pass(false, std::vector<PKey>{}, PKey{0x8005}));
    EXPECT_FALSE(lets_pass(true, std::vector<PKey>{}, PKey{0x8005}));
    EXPECT_TRUE(lets_pass(true, std::vector{PKey{1}, PKey{5}}, PKey{0x8005}))
        << "full or limited is between the ends";
    EXPECT_FALSE(lets_pass(true, std::vector{PKey{0x8000}}, PKey{0x8000})) << "no partition";

    ToyFabric fabric;
    fabric.switches[1].ports[1].enforced = true;
    fabric.switches[1].ports[1].keys = {PKey{0x8001}};
    Seen seen;
    EXPECT_FALSE(follow(fabric, Lid{12}, seen));
    EXPECT_EQ(seen.back(), (Seen::value_type{{1, 1}, Step::kRefusedOut}));
    fabric.switches[0].ports[1].enforced = true;
    EXPECT_FALSE(follow(fabric, Lid{12}, seen));
    EXPECT_EQ(seen.back(), (Seen::value_type{{0, 1}, Step::kRefusedIn}));
    EXPECT_TRUE(follow(fabric, Lid{12}, seen, std::nullopt)) << "nobody looks at VL15";
}

TEST(Forward, CopiesLeaveByAllPortsOfTheGroupButTheOneTheyCameBy) {
    std::vector<int> ports;
    const std::array<std::uint64_t, 2> words{0b1011, 0b1};
    EXPECT_TRUE(for_each_copy(
        2, [&](std::uint32_t word) { return words[word]; }, 3,
        [&](std::uint8_t port) { ports.push_back(port); }));
    EXPECT_EQ(ports, (std::vector{0, 1, 64}));
    EXPECT_FALSE(for_each_copy(
        1, [](std::uint32_t) { return std::uint64_t{0}; }, 3, [](std::uint8_t) { FAIL(); }));
}

std::multiset<std::uint32_t> spread(const ToyFabric& fabric, Seen& seen) {
    std::multiset<std::uint32_t> ends;
    follow_multicast(
        fabric, {0, 1}, kLidMulticastMin, kPKeyDefaultFull,
        [&](const ToyView& sw, std::uint8_t port, Step step) {
            seen.push_back({{sw.index(), port}, step});
        },
        [&](const ToyPlace& at) { ends.insert(at.node); });
    return ends;
}

TEST(Forward, AMulticastReachesEveryMemberOnce) {
    ToyFabric fabric;
    fabric.switches[0].group = 0b1110;
    fabric.switches[1].group = 0b1010;
    Seen seen;
    EXPECT_EQ(spread(fabric, seen), (std::multiset<std::uint32_t>{11, 12}));
}

TEST(Forward, AMulticastToNobodyIsLostAtTheFirstSwitch) {
    const ToyFabric fabric;
    Seen seen;
    EXPECT_TRUE(spread(fabric, seen).empty());
    EXPECT_EQ(seen.back(), (Seen::value_type{{0, 1}, Step::kUnknown}));
}

TEST(Forward, TablesThatMakeALoopEndAWalk) {
    ToyFabric fabric;
    // A second cable, by which the second switch sends packets back to the first.
    fabric.switches[0].ports[4].peer = {1, 4};
    fabric.switches[1].ports[4].peer = {0, 4};
    fabric.switches[1].lft[12] = 4;
    Seen seen;
    EXPECT_FALSE(follow(fabric, Lid{12}, seen));
    EXPECT_EQ(seen.size(), 2 * kHopsMax) << "a packet comes in and goes out at each switch";
    fabric.switches[0].group = fabric.switches[1].group = 0b11000;
    seen.clear();
    EXPECT_TRUE(spread(fabric, seen).empty());
}

}  // namespace
}  // namespace softib::sw
