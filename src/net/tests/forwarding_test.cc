// SPDX-License-Identifier: BSD-2-Clause
// Multicast, choice among ports, and how long a switch keeps a packet.
#include <gtest/gtest.h>

#include "net/tests/test_fabrics.h"

namespace softib::net {
namespace {

constexpr Lid kGroup{0xC001};

/// All hosts of a star get what one sends, and the sender does not.
TEST(Multicast, EveryPortOfTheMaskButTheOneItCameByGetsACopy) {
    const auto fabric = make_fabric(star(5), "minhop", {.multicast_lids = 4}, {.ack_bytes = 0});
    Engine& net = fabric->engine();
    const std::uint32_t sw = net.plant().node_of(net.plant().peer(fabric->port(0)));
    net.plant().set_multicast(sw, kGroup, {0b111110, 0, 0, 0});  // Ports 1 to 5.
    fabric->ends().start(net, fabric->port(2), fabric->lid(2), kGroup, 10 * 4096);
    fabric->net().run();
    EXPECT_EQ(fabric->ends().flows()[0].received, 40U);
    EXPECT_EQ(net.queues().packets().live(), 0U);
    for (std::uint32_t host = 0; host < 5; ++host) {
        const auto counts = net.counts(fabric->port(host));
        EXPECT_EQ(counts.rcv_packets, host == 2 ? 0U : 10U) << host;
    }
    EXPECT_EQ(net.counts(net.plant().peer(fabric->port(2))).multicast_rcv_packets, 10U);
    EXPECT_EQ(net.counts(net.plant().peer(fabric->port(0))).multicast_xmit_packets, 10U);
    expect_sound(*fabric);
}

TEST(Multicast, TheBufferIsFreeWhenTheLastCopyHasLeft) {
    const auto fabric =
        make_fabric(star(3), "minhop", {.data_vls = 1, .buffer_bytes = 8192, .multicast_lids = 4},
                    {.ack_bytes = 0});
    Engine& net = fabric->engine();
    net.plant().set_multicast(net.plant().node_of(net.plant().peer(fabric->port(0))), kGroup,
                              {0b1110, 0, 0, 0});
    net.ports().pause(fabric->port(1), 50'000'000);  // One of two receivers holds all up.
    fabric->ends().start(net, fabric->port(0), fabric->lid(0), kGroup, 100 * 4096);
    for (TimePs at = 1'000'000; at < 50'000'000; at += 7'000'000) {
        fabric->net().run(at);
        expect_sound(*fabric);
        EXPECT_LT(net.counts(fabric->port(2)).rcv_packets, 10U);
    }
    fabric->net().run();
    EXPECT_EQ(fabric->ends().flows()[0].received, 200U);
    expect_sound(*fabric);
}

TEST(Multicast, AGroupWithoutPortsIsARelayError) {
    const auto fabric = make_fabric(star(2), "minhop", {.multicast_lids = 4}, {.ack_bytes = 0});
    Engine& net = fabric->engine();
    fabric->ends().start(net, fabric->port(0), fabric->lid(0), kGroup, 4096);
    fabric->ends().start(net, fabric->port(0), fabric->lid(0), Lid{0xC0FF}, 4096);
    fabric->net().run();
    EXPECT_EQ(net.counts(net.plant().peer(fabric->port(0))).rcv_switch_relay_errors, 2U);
    expect_sound(*fabric);
}

/// Returns how many picoseconds all flows take.
TimePs shift_takes(bool adaptive, std::uint32_t shift) {
    // All hosts of a leaf send to hosts whose routes share uplinks.
    const auto fabric = make_fabric(tree(32, 8), "ftree", {},
                                    {.flags = adaptive ? packet_flag::kAdaptive : std::uint8_t{0}});
    EXPECT_TRUE(fabric->use_adaptive_routing());
    for (std::uint32_t i = 0; i < 32; ++i) {
        send(*fabric, i, (i * 4 + i / 8 + shift) % 32, 400'000);
    }
    fabric->net().run();
    EXPECT_EQ(fabric->ends().unfinished(), 0U);
    expect_sound(*fabric);
    TimePs last = 0;
    for (const auto& flow : fabric->ends().flows()) {
        last = std::max(last, flow.done_at);
    }
    return last;
}

TEST(Adaptive, SpreadsWhatTheTablesPutOnOneLink) {
    const TimePs by_table = shift_takes(false, 4);
    const TimePs by_load = shift_takes(true, 4);
    EXPECT_LT(by_load * 3, by_table * 2);
}

TEST(Adaptive, GoesAroundALinkThatIsDown) {
    const auto fabric = make_fabric(tree(32, 8), "ftree", {}, {.flags = packet_flag::kAdaptive});
    ASSERT_TRUE(fabric->use_adaptive_routing());
    Engine& net = fabric->engine();
    // An uplink of the first leaf: no packet that goes up needs just this one.
    const std::uint32_t leaf = net.plant().node_of(net.plant().peer(fabric->port(0)));
    std::uint32_t uplink = kNone;
    for (std::uint8_t number = 1; number < net.plant().ports_of(leaf) && uplink == kNone;
         ++number) {
        const std::uint32_t port = net.plant().port_of(leaf, number);
        if (net.plant().connected(port) &&
            net.plant().is_switch(net.plant().node_of(net.plant().peer(port)))) {
            uplink = port;
        }
    }
    ASSERT_NE(uplink, kNone);
    net.ports().set_link(uplink, false);
    for (std::uint32_t to = 8; to < 32; ++to) {
        fabric->ends().start(net, fabric->port(0), fabric->lid(0), fabric->lid(to), 8 * 4096);
    }
    fabric->net().run();
    EXPECT_EQ(net.counts(uplink).xmit_packets, 0U);
    EXPECT_EQ(net.counts(uplink).xmit_discards, 0U);
}

/// Returns a fabric in which a host sends to another that takes nothing for a long time.
std::unique_ptr<TestFabric> to_a_paused_host(PlantConfig config) {
    config.buffer_bytes = 8192;
    config.data_vls = 1;
    auto fabric = make_fabric(star(3), "minhop", config, {.ack_bytes = 0});
    fabric->engine().ports().pause(fabric->port(1), 2'000'000'000);
    send(*fabric, 0, 1, 50 * 4096);
    return fabric;
}

TEST(Limits, WithoutThemPacketsWait) {
    const auto fabric = to_a_paused_host({});
    fabric->net().run();
    EXPECT_EQ(fabric->ends().flows()[0].received, 50U);
    EXPECT_EQ(fabric->engine().stats().discarded, 0U);
}

TEST(Limits, ThePacketAtTheHeadIsDroppedAfterHoqLife) {
    const auto fabric = to_a_paused_host({.hoq_life = 4});  // 65.5 us.
    Engine& net = fabric->engine();
    const std::uint32_t out = net.plant().peer(fabric->port(1));
    fabric->net().run(60'000'000);
    EXPECT_EQ(net.plant().odd_counts(out).hoq_lifetime_discards, 0U);
    fabric->net().run(600'000'000);
    // Packets are dropped one after the other, each at its own time.
    EXPECT_EQ(net.plant().odd_counts(out).hoq_lifetime_discards, 9U);
    EXPECT_EQ(net.counts(out).xmit_discards, 9U);
    EXPECT_EQ(net.plant().odd_counts(out).lifetime_discards, 0U);
    expect_sound(*fabric);
    fabric->net().run();
    EXPECT_EQ(fabric->ends().flows()[0].received + net.stats().discarded, 50U);
    expect_sound(*fabric);
}

TEST(Limits, OnesThatNobodyCanReachAnyMoreKeepNobodyAwake) {
    const auto fabric = to_a_paused_host({.hoq_life = 19});  // 2.1 s: longer than the pause.
    Engine& net = fabric->engine();
    while (net.queues().packets().live() != 0) {
        EXPECT_FALSE(net.idle());
        fabric->net().run(net.now() + 100'000'000);
    }
    EXPECT_EQ(fabric->ends().flows()[0].received, 50U);
    EXPECT_TRUE(net.idle());
    fabric->net().run();
    EXPECT_TRUE(net.idle());
}

TEST(Limits, LifetimeCountsFromTheArrivalInTheSwitch) {
    const auto fabric = to_a_paused_host({.lifetime = 4});
    Engine& net = fabric->engine();
    const std::uint32_t out = net.plant().peer(fabric->port(1));
    fabric->net().run(67'000'000);
    // The two packets that fit into the switch came at about the same time, and are dropped
    // together.
    EXPECT_EQ(net.plant().odd_counts(out).lifetime_discards, 2U);
    EXPECT_EQ(net.plant().odd_counts(out).hoq_lifetime_discards, 0U);
    fabric->net().run();
    EXPECT_EQ(fabric->ends().flows()[0].received + net.stats().discarded, 50U);
    expect_sound(*fabric);
}

TEST(Limits, AStalledLaneDropsAtOnce) {
    const auto fabric = to_a_paused_host({.hoq_life = 4, .vl_stall_count = 3});
    fabric->net().run();
    Engine& net = fabric->engine();
    const std::uint32_t out = net.plant().peer(fabric->port(1));
    // Without the stall 30 drops would fit into two milliseconds.
    EXPECT_GT(net.plant().odd_counts(out).hoq_lifetime_discards, 40U);
    EXPECT_EQ(fabric->ends().flows()[0].received + net.stats().discarded, 50U);
    expect_sound(*fabric);
}

TEST(Limits, BreakADeadlock) {
    const auto fabric =
        make_fabric(ring(6), "minhop", {.buffer_bytes = 8192, .hoq_life = 4}, {.ack_bytes = 0});
    send_shift(*fabric, 2, 400'000);
    fabric->net().run();
    EXPECT_GT(fabric->engine().stats().discarded, 0U);
    EXPECT_EQ(fabric->engine().queues().packets().live(), 0U);
    EXPECT_FALSE(Inspector(fabric->engine()).find_deadlock().any());
    expect_sound(*fabric);
}

}  // namespace
}  // namespace softib::net
