// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/network.h"

#include <gtest/gtest.h>

#include <string>

#include "core/topo/spec.h"
#include "net/tests/test_fabrics.h"

namespace softib::net {
namespace {

TEST(Network, APacketTakesCablesSwitchAndOneTransmission) {
    // Cut-through: of two links, the packet's length counts once.
    const auto fabric = make_fabric(star(2), "minhop", {.cable_ps = 25'000, .switch_ps = 200'000},
                                    {.packet_bytes = 4096, .ack_bytes = 0});
    send(*fabric, 0, 1, 4096);
    fabric->net().run();
    EXPECT_EQ(fabric->ends().flows()[0].done_at, 2 * 25'000U + 200'000U + 81'920U);
    EXPECT_EQ(fabric->engine().stats().hops, 2U);
}

TEST(Network, AStreamRunsAtTheRateOfTheLink) {
    const auto fabric = make_fabric(
        star(2), "minhop", {.buffer_bytes = 98'304, .cable_ps = 500'000}, {.ack_bytes = 0});
    send(*fabric, 0, 1, 4096 * 1000);
    fabric->net().run();
    // The first packet takes as long as a lone one; each further one comes a transmission later.
    EXPECT_EQ(fabric->ends().flows()[0].done_at, 2 * 500'000U + 200'000U + 1000 * 81'920U);
}

TEST(Network, ABufferShorterThanTheRoundTripSlowsTheStream) {
    const auto fabric = make_fabric(star(2), "minhop", {.buffer_bytes = 8192, .cable_ps = 500'000},
                                    {.ack_bytes = 0});
    send(*fabric, 0, 1, 4096 * 100);
    fabric->net().run();
    EXPECT_EQ(fabric->ends().flows()[0].received, 100U);
    EXPECT_GT(fabric->ends().flows()[0].done_at, 2 * 100 * 81'920U);
    EXPECT_GT(fabric->engine().counts(fabric->port(0)).xmit_wait, 0U);
    expect_sound(*fabric);
}

TEST(Network, EveryCableHasItsOwnLength) {
    const auto fabric = make_fabric(star(3), "minhop", {}, {.ack_bytes = 0});
    Engine& net = fabric->engine();
    net.plant().set_cable(fabric->port(1), 100 * link::kPsPerMetre);
    send(*fabric, 0, 1, 4096);
    fabric->net().run();
    EXPECT_EQ(fabric->ends().flows()[0].done_at, 25'000U + 500'000U + 200'000U + 81'920U);
    expect_sound(*fabric);
}

TEST(Network, AMixOfSpeedsNeverSendsFasterThanItReceives) {
    topo::Spec spec = star(2);
    auto topology = topo::generate(spec);
    // Host 0 on HDR, host 1 on NDR.
    for (topo::Node& node : topology->nodes) {
        for (topo::PortLink& link : node.ports) {
            if (node.name == "h0/mlx5_0" ||
                (link.peer != topo::kNoNode && topology->node(link.peer).name == "h0/mlx5_0")) {
                link.generation = topo::Generation::kHdr;
            }
        }
    }
    auto routed = Routed::make(*topology, "minhop", 1);
    TestFabric fabric(*std::move(routed), {.data_vls = 1}, 0, ScaleConfig{.ack_bytes = 0});
    send(fabric, 0, 1, 4096);
    fabric.net().run();
    // The last bit leaves the switch no earlier than it came in, by the switch's HDR port.
    EXPECT_EQ(fabric.ends().flows()[0].done_at, 2 * 25'000U + 130'000U + 163'840U);
}

TEST(Network, IncastLosesNothingAndSendersWait) {
    const auto fabric = make_fabric(star(33), "minhop", {}, {});
    for (std::uint32_t i = 1; i <= 32; ++i) {
        send(*fabric, i, 0, 40 * 4096);
    }
    fabric->net().run();
    EXPECT_EQ(fabric->ends().unfinished(), 0U);
    EXPECT_EQ(fabric->engine().stats().discarded, 0U);
    EXPECT_EQ(fabric->engine().queues().packets().live(), 0U);
    TimePs first = kNever;
    TimePs last = 0;
    for (std::uint32_t i = 1; i <= 32; ++i) {
        const counters::PortCounts counts = fabric->engine().counts(fabric->port(i));
        EXPECT_EQ(counts.xmit_discards, 0U);
        EXPECT_GT(counts.xmit_wait, 0U) << "host " << i;
        EXPECT_EQ(counts.xmit_packets, 40U);
        EXPECT_EQ(counts.rcv_packets, 40U);
        first = std::min(first, fabric->ends().flows()[i - 1].done_at);
        last = std::max(last, fabric->ends().flows()[i - 1].done_at);
    }
    EXPECT_EQ(fabric->engine().counts(fabric->port(0)).rcv_packets, 32U * 40U);
    // The receiver's link is never idle, and all senders get the same of it.
    EXPECT_LT(last, TimePs{32} * 40 * 81'920 * 102 / 100);
    EXPECT_GT(first, last * 9 / 10);
    expect_sound(*fabric);
}

TEST(Network, CreditsAndCountersAddUpAtAnyMoment) {
    const auto fabric = make_fabric(tree(32, 8), "ftree", {.buffer_bytes = 16'384});
    send_shift(*fabric, 5, 60'000);
    for (std::uint32_t i = 0; i < 16; ++i) {
        send(*fabric, i, 31, 30'000);
    }
    for (TimePs at = 100'000; !fabric->engine().idle(); at += 137'000) {
        fabric->net().run(at);
        expect_sound(*fabric);
    }
    EXPECT_EQ(fabric->ends().unfinished(), 0U);
}

TEST(Network, SameRunSameHashAlsoTwiceInOneProcessAndWithOtherBuckets) {
    const auto hash = [](unsigned width, std::uint32_t shift) {
        const auto fabric = make_fabric(tree(32, 8), "ftree", {}, {}, width);
        send_shift(*fabric, shift, 100'000);
        for (std::uint32_t i = 1; i < 32; i += 3) {
            send(*fabric, i, 0, 100'000);
        }
        fabric->net().run();
        EXPECT_EQ(fabric->ends().unfinished(), 0U);
        return fabric->engine().stats().log_hash;
    };
    const std::uint64_t first = hash(0, 7);
    EXPECT_EQ(hash(0, 7), first);
    EXPECT_EQ(hash(5, 7), first);
    EXPECT_EQ(hash(13, 7), first);
    EXPECT_NE(hash(0, 8), first);
    RecordProperty("log_hash", std::to_string(first));
}

TEST(Network, LanesOfOnePortShareByTheTable) {
    // Hosts 1 and 2 send to host 0 on lanes 0 and 1, which share the link as 1 to 3.
    const auto fabric = make_fabric(star(3), "minhop", {.data_vls = 2}, {.ack_bytes = 0});
    link::ArbitrationTable table;
    table.low_count = 2;
    table.low[0] = {.vl = 0, .weight = 64};
    table.low[1] = {.vl = 1, .weight = 192};
    Engine& net = fabric->engine();
    net.ports().set_arbitration(net.plant().peer(fabric->port(0)), table);
    for (std::uint32_t i = 1; i <= 2; ++i) {
        fabric->ends().start(net, fabric->port(i), fabric->lid(i), fabric->lid(0), 4'000'000,
                             static_cast<std::uint8_t>(i - 1));
    }
    fabric->net().run(40'000'000);
    const double slow = fabric->ends().flows()[0].received;
    const double fast = fabric->ends().flows()[1].received;
    EXPECT_NEAR(fast / slow, 3, 0.1);
    expect_sound(*fabric);
}

TEST(Network, ALaneInNoListNeverSendsEvenAlone) {
    const auto fabric = make_fabric(star(3), "minhop", {.data_vls = 2}, {.ack_bytes = 0});
    link::ArbitrationTable table;
    table.low_count = 1;
    table.low[0] = {.vl = 0, .weight = 64};
    Engine& net = fabric->engine();
    net.ports().set_arbitration(net.plant().peer(fabric->port(0)), table);
    for (std::uint32_t i = 1; i <= 2; ++i) {
        fabric->ends().start(net, fabric->port(i), fabric->lid(i), fabric->lid(0), 400'000,
                             static_cast<std::uint8_t>(i - 1));
    }
    fabric->net().run();
    EXPECT_EQ(fabric->ends().flows()[0].unacked, 0U);
    EXPECT_EQ(fabric->ends().flows()[1].received, 0U);
    EXPECT_FALSE(Inspector(net).find_deadlock().any());  // No lane lacks credits.
    expect_sound(*fabric);
}

TEST(Network, AWaitThatLastsIsCountedToo) {
    const auto fabric =
        make_fabric(star(2), "minhop", {.data_vls = 1, .buffer_bytes = 8192}, {.ack_bytes = 0});
    Engine& net = fabric->engine();
    net.ports().pause(fabric->port(1), 1'000'000'000);
    send(*fabric, 0, 1, 50 * 4096);
    fabric->net().run(500'000'000);
    const std::uint64_t half = net.counts(fabric->port(0)).xmit_wait;
    fabric->net().run(900'000'000);
    // A tick is 80 ps at this rate.
    EXPECT_EQ(net.counts(fabric->port(0)).xmit_wait - half, 400'000'000U / 80);
}

TEST(Network, WhatBeginsBetweenTwoStepsIsNotLost) {
    const auto fabric = make_fabric(star(3), "minhop", {.buffer_bytes = 8192}, {.ack_bytes = 0});
    Engine& net = fabric->engine();
    net.ports().pause(fabric->port(1), 50'000'000);  // So that some events are far away.
    send(*fabric, 0, 1, 100 * 4096);
    for (TimePs until = 1'000'000; until < 100'000'000; until += 1'000'000) {
        while (!fabric->net().run_some(until, 1)) {
            if (fabric->ends().flows().size() < 200) {
                send(*fabric, 2, 1, 256);
            }
        }
        EXPECT_EQ(net.now(), until);
    }
    fabric->net().run();
    ASSERT_EQ(fabric->ends().flows().size(), 200U);
    EXPECT_EQ(net.stats().discarded, 0U);
    EXPECT_EQ(fabric->ends().flows()[0].received, 100U);
    for (const auto& flow : fabric->ends().flows()) {
        EXPECT_NE(flow.done_at, kNever);
    }
    expect_sound(*fabric);
}

TEST(Network, APacketWithoutARouteIsDroppedAndCounted) {
    const auto fabric = make_fabric(star(2), "minhop", {}, {.ack_bytes = 0});
    const std::uint32_t sw =
        fabric->engine().plant().node_of(fabric->engine().plant().peer(fabric->port(0)));
    fabric->engine().plant().set_route(sw, fabric->lid(1), kNoPath);
    send(*fabric, 0, 1, 4096);
    fabric->net().run();
    EXPECT_EQ(fabric->engine().stats().discarded, 1U);
    EXPECT_EQ(fabric->engine()
                  .counts(fabric->engine().plant().peer(fabric->port(0)))
                  .rcv_switch_relay_errors,
              1U);
    expect_sound(*fabric);
}

}  // namespace
}  // namespace softib::net
