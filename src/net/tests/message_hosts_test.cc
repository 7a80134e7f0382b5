// SPDX-License-Identifier: BSD-2-Clause
#include "net/hosts/message_hosts.h"

#include "net/sim/test_simulation.h"

namespace softib::net {
namespace {

constexpr TimePs kBlockPs = 1280;  ///< 64 bytes at 400 Gb/s.

TimePs wire(std::uint32_t bytes) {
    return link::transmit_time(bytes, kBlockPs);
}

SimulationOptions plain() {
    SimulationOptions options;
    options.plant.cable_ps = 25'000;
    options.plant.switch_ps = 200'000;
    return options;
}

TEST(MessageHosts, OneMessageTakesItsPacketsAndOneWay) {
    TestSimulation two(single_switch(2), plain());
    two.send({.from = 0, .to = 1, .bytes = 10'000});
    two.run();
    // Each packet has 26 bytes of headers, the first also a RETH; the last has 1,808 bytes.
    const TimePs last = wire(4096 + 26 + 16) + wire(4096 + 26) + wire(1808 + 26);
    EXPECT_EQ(two.outcome(0).delivered_at, 2 * 25'000 + 200'000 + last);
    EXPECT_EQ(two.outcome(0).acknowledged_at,
              two.outcome(0).delivered_at + 2 * 25'000 + 200'000 + wire(30));
    EXPECT_EQ(two.simulation().unfinished(), 0U);
    two.expect_sound();
}

TEST(MessageHosts, AMessageToOneselfIsThereAtOnce) {
    TestSimulation two(single_switch(2), plain());
    two.send({.from = 1, .to = 1, .bytes = 1 << 20}, 5000);
    two.run();
    EXPECT_EQ(two.outcome(0).acknowledged_at, 5000U);
    EXPECT_EQ(two.simulation().stats().hops, 0U);
}

TEST(MessageHosts, ManyMessagesOfOnePortTakeTurns) {
    TestSimulation star(single_switch(9), plain());
    for (std::uint32_t to = 1; to < 9; ++to) {
        star.send({.from = 0, .to = to, .bytes = 64 * 4096});
    }
    star.run();
    TimePs first = kNever;
    for (const TestSimulation::Outcome& each : star.outcomes()) {
        first = std::min(first, each.delivered_at);
    }
    EXPECT_GT(first, star.last_delivered() * 8 / 10);
    EXPECT_LT(star.last_delivered(), 8 * 64 * wire(4122) * 102 / 100);
    star.expect_sound();
}

TEST(MessageHosts, RecordsOfFinishedMessagesAreUsedAgain) {
    TestSimulation two(single_switch(2), plain());
    two.send({.from = 0, .to = 1, .bytes = 4096});
    two.run();
    const std::size_t bytes = two.simulation().bytes();
    for (int i = 0; i < 10'000; ++i) {
        two.send({.from = 0, .to = 1, .bytes = 4096}, two.simulation().now());
        two.run();
    }
    EXPECT_EQ(two.simulation().unfinished(), 0U);
    EXPECT_LT(two.simulation().bytes(), bytes + 1000);
}

TEST(MessageHosts, AWindowShorterThanTheRoundTripSlowsTheMessage) {
    const auto duration = [](std::uint32_t window) {
        SimulationOptions options = plain();
        options.plant.cable_ps = 500'000;
        options.plant.buffer_bytes = 131'072;
        options.hosts.ack_every = 1;
        options.hosts.window_packets = window;
        TestSimulation two(single_switch(2), options);
        two.send({.from = 0, .to = 1, .bytes = 200 * 4096});
        two.run();
        two.expect_sound();
        return two.outcome(0).delivered_at;
    };
    // A packet and its acknowledgement need 2 * (1000 + 200) ns and their transmission.
    const TimePs trip = 2 * 1'200'000 + wire(4122) + wire(30);
    const double per_packet = static_cast<double>(duration(4)) / 200;
    EXPECT_NEAR(per_packet, static_cast<double>(trip) / 4, 0.02 * static_cast<double>(trip));
    EXPECT_LT(duration(0), 200 * wire(4122) * 11 / 10);
}

TEST(MessageHosts, AnInjectionLimitIsKept) {
    SimulationOptions options = plain();
    options.hosts.inject_block_ps = 4 * kBlockPs;  // 100 Gb/s
    TestSimulation two(single_switch(2), options);
    two.send({.from = 0, .to = 1, .bytes = 100 * 4096});
    two.run();
    EXPECT_NEAR(static_cast<double>(two.outcome(0).delivered_at),
                static_cast<double>(4 * 100 * wire(4122)),
                0.02 * 400 * static_cast<double>(wire(4122)));
}

TEST(MessageHosts, AnAdapterBeginsNoMoreMessagesThanItsRateAllows) {
    const auto last = [](TimePs gap_ps, std::uint32_t senders) {
        SimulationOptions options = plain();
        options.hosts.message_gap_ps = gap_ps;
        TestSimulation many(single_switch(5), options);
        for (std::uint32_t i = 0; i < 1000; ++i) {
            many.send({.from = 1 + i % senders, .to = 0, .bytes = 64});
        }
        many.run();
        many.expect_sound();
        return many.last_delivered();
    };
    // The last message begins after 999 gaps, and then takes as long as the first.
    const TimePs gap_ps = 10'000;
    EXPECT_GT(last(gap_ps, 1), 999 * gap_ps);
    EXPECT_LT(last(gap_ps, 1), 1001 * gap_ps + 500'000);
    EXPECT_LT(last(0, 1), 300 * gap_ps);
    // Each HCA has a limit of its own.
    EXPECT_LT(last(gap_ps, 4), 251 * gap_ps + 500'000);
}

TEST(MessageHosts, ABusThatIsSlowLimitsWhatComesInToo) {
    SimulationOptions options = plain();
    options.hosts.pcie_block_ps = 2 * kBlockPs;
    TestSimulation three(single_switch(3), options);
    three.send({.from = 0, .to = 2, .bytes = 100 * 4096});
    three.send({.from = 1, .to = 2, .bytes = 100 * 4096});
    three.run();
    EXPECT_NEAR(static_cast<double>(three.last_delivered()),
                static_cast<double>(2 * 200 * wire(4122)),
                0.02 * 400 * static_cast<double>(wire(4122)));
    three.expect_sound();
}

TEST(MessageHosts, ConnectionsThatDoNotFitCostABusRoundTrip) {
    const auto run = [](std::uint32_t connections, std::uint32_t entries) {
        SimulationOptions options = plain();
        options.hosts.context_entries = entries;
        options.hosts.context_fetches = 1;
        TestSimulation two(single_switch(2), options);
        for (std::uint32_t i = 0; i < 2000; ++i) {
            two.send({.from = 0, .to = 1, .bytes = 64, .connection = i % connections});
        }
        two.run();
        EXPECT_EQ(two.simulation().unfinished(), 0U);
        return std::pair(two.simulation().stats().context_misses, two.last_delivered());
    };
    const auto [none, quick] = run(100, 100);
    const auto [some, slow] = run(100, 50);
    const auto [most, slowest] = run(1000, 50);
    EXPECT_EQ(none, 0U);
    // Half of the connections fit, at both ends.
    EXPECT_GT(some, 800U);
    EXPECT_LT(some, 2400U);
    EXPECT_GT(most, 3600U);
    EXPECT_GT(slow, 5 * quick);
    EXPECT_GT(slowest, slow);
}

TEST(MessageHosts, WhatACableLosesIsSentAgainAfterTheTimeout) {
    SimulationOptions options = plain();
    // The cable to host 1 fails while packets are on it.
    options.failures = {{.what = {2, 2}, .at = 400'000}};
    options.repair_ps = kNever;
    options.hosts.retries = 3;
    TestSimulation two(single_switch(2), options);
    const topo::Fabric& fabric = two.simulation().fabric();
    ASSERT_EQ(fabric.nodes[2].kind, topo::NodeKind::kSwitch);
    two.send({.from = 0, .to = 1, .bytes = 100 * 4096});
    two.run();
    EXPECT_EQ(two.outcome(0).delivered_at, kNever);
    ASSERT_NE(two.outcome(0).failed_at, kNever);
    EXPECT_GE(two.outcome(0).failed_at, 4 * options.hosts.timeout_ps);
    EXPECT_EQ(two.simulation().unfinished(), 0U);
}

}  // namespace
}  // namespace softib::net
