// SPDX-License-Identifier: BSD-2-Clause
// What ports count by lane and service level.
#include <gtest/gtest.h>

#include <numeric>

#include "net/tests/test_fabrics.h"

namespace softib::net {
namespace {

using enum counters::PerLane;

std::uint64_t sum(const std::array<std::uint64_t, 16>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

void send_on(TestFabric& fabric, std::uint32_t from, std::uint32_t to, std::uint64_t bytes,
             std::uint8_t sl) {
    fabric.ends().start(fabric.engine(), fabric.port(from), fabric.lid(from), fabric.lid(to), bytes,
                        sl);
}

TEST(LaneCounts, LevelsAddUpToThePort) {
    const auto fabric = make_fabric(tree(16, 8), "ftree", {.data_vls = 4});
    Engine& net = fabric->engine();
    net.count_lanes();
    for (std::uint32_t i = 0; i < fabric->host_count(); ++i) {
        for (std::uint8_t sl = 0; sl < 8; ++sl) {
            send_on(*fabric, i, (i + 3 + sl) % fabric->host_count(), 10'000U * (sl + 1U), sl);
        }
    }
    fabric->net().run();
    expect_sound(*fabric);
    for (std::uint32_t port = 0; port < net.plant().port_count(); ++port) {
        const counters::LaneCounts lanes = net.lane_counts(port);
        const counters::PortCounts all = net.counts(port);
        EXPECT_EQ(sum(lanes[kXmitWords]), all.xmit_words);
        EXPECT_EQ(sum(lanes[kRcvWords]), all.rcv_words);
    }
    const counters::LaneCounts sent = net.lane_counts(fabric->port(0));
    EXPECT_GT(sent[kXmitWords][7], 6 * sent[kXmitWords][0]);
    EXPECT_EQ(sent[kXmitWords][8], 0U);
}

TEST(LaneCounts, CountingChangesNoRun) {
    const auto run = [](bool counted) {
        const auto fabric = make_fabric(tree(16, 8), "ftree", {.data_vls = 4});
        if (counted) {
            fabric->engine().count_lanes();
        }
        send_shift(*fabric, 5, 100'000);
        fabric->net().run();
        return fabric->engine().stats().log_hash;
    };
    EXPECT_EQ(run(true), run(false));
}

/// One of two lanes of a cable waits while the other sends, but not while it sends itself.
TEST(LaneCounts, ALaneWaitsForTheOthers) {
    const auto fabric = make_fabric(star(3), "minhop", {.data_vls = 2}, {.ack_bytes = 0});
    Engine& net = fabric->engine();
    net.count_lanes();
    constexpr std::uint64_t kBytes = 409'600;
    send_on(*fabric, 0, 2, kBytes, 0);
    send_on(*fabric, 1, 2, kBytes, 1);
    fabric->net().run();
    const std::uint32_t out = net.plant().peer(fabric->port(2));
    const counters::LaneCounts lanes = net.lane_counts(out);
    const std::uint64_t words = net.counts(out).xmit_words / 2;  // A tick is a word.
    for (const std::size_t vl : {0U, 1U}) {
        EXPECT_GT(lanes[kXmitWait][vl], words / 2) << vl;
        EXPECT_LE(lanes[kXmitWait][vl], words * 11 / 10) << vl;
    }
    EXPECT_EQ(lanes[kXmitWait][2], 0U);
    // The hosts' ports have one lane each, which waits for credits only.
    EXPECT_LE(net.lane_counts(fabric->port(0))[kXmitWait][0],
              net.counts(fabric->port(0)).xmit_wait + 100);
}

TEST(LaneCounts, OneLaneAloneDoesNotWait) {
    const auto fabric = make_fabric(star(2), "minhop", {.data_vls = 2}, {.ack_bytes = 0});
    fabric->engine().count_lanes();
    send_on(*fabric, 0, 1, 409'600, 0);
    fabric->net().run();
    const std::uint32_t out = fabric->engine().plant().peer(fabric->port(1));
    // A wait of up to 1,024 ps each time a packet comes to the head is not counted.
    EXPECT_LE(fabric->engine().lane_counts(out)[kXmitWait][0], 100 * 13U);
    EXPECT_EQ(fabric->engine().lane_counts(out)[kTimeCongested][0], 0U);
}

TEST(LaneCounts, ALaneIsCongestedAsLongAsMuchWaits) {
    const auto fabric = make_fabric(star(4), "minhop", {.data_vls = 2});
    Engine& net = fabric->engine();
    net.count_lanes();
    const std::uint32_t out = net.plant().peer(fabric->port(0));
    net.plant().set_marking(net.plant().node_of(out), {.threshold = 15});
    for (std::uint32_t i = 1; i < 4; ++i) {
        send_on(*fabric, i, 0, 1'000'000, 1);
    }
    fabric->net().run();
    const counters::LaneCounts lanes = net.lane_counts(out);
    const std::uint64_t words = net.counts(out).xmit_words;
    EXPECT_GT(lanes[kTimeCongested][1], words / 2);
    EXPECT_LT(lanes[kTimeCongested][1], words * 11 / 10);
    EXPECT_EQ(lanes[kTimeCongested][0], 0U);
    EXPECT_EQ(net.counts(out).time_congested, lanes[kTimeCongested][1]);
    EXPECT_EQ(net.lane_counts(fabric->port(0))[kRcvFecn][1], net.plant().odd_counts(out).marked);
    EXPECT_GT(net.plant().odd_counts(out).marked, 0U);
}

TEST(LaneCounts, WhatWaitsTooLongIsCountedAtItsLane) {
    const auto fabric =
        make_fabric(star(3), "minhop", {.data_vls = 2, .lifetime = 3, .hoq_life = 1});
    Engine& net = fabric->engine();
    net.count_lanes();
    net.ports().pause(fabric->port(2), 400'000'000);
    send_on(*fabric, 0, 2, 1'000'000, 1);
    fabric->net().run(300'000'000);
    const std::uint32_t out = net.plant().peer(fabric->port(2));
    const counters::LaneCounts lanes = net.lane_counts(out);
    EXPECT_GT(lanes[kCongestionDiscards][1], 0U);
    EXPECT_EQ(lanes[kCongestionDiscards][0], 0U);
    EXPECT_EQ(lanes[kCongestionDiscards][1], net.counts(out).xmit_discards);
}

TEST(LaneCounts, APacketThatWouldGoBackIsALoop) {
    const auto fabric = make_fabric(star(2), "minhop");
    Engine& net = fabric->engine();
    const std::uint32_t in = net.plant().peer(fabric->port(0));
    net.plant().set_route(net.plant().node_of(in), fabric->lid(1), net.plant().number_of(in));
    send(*fabric, 0, 1, 4096);
    fabric->net().run();
    EXPECT_EQ(net.plant().odd_counts(in).looping_errors, 1U);
    EXPECT_EQ(net.counts(in).rcv_switch_relay_errors, 1U);
    EXPECT_EQ(net.counts(in).looping_errors, 1U);
    expect_sound(*fabric);
}

}  // namespace
}  // namespace softib::net
