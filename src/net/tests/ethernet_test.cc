// SPDX-License-Identifier: BSD-2-Clause
// The packet engine with Ethernet links: pauses, drops, marks by chance, ECMP.
#include <gtest/gtest.h>

#include "net/tests/test_fabrics.h"
#include "net/tests/test_incast.h"

namespace softib::net {
namespace {

using Spread = EthernetRules::Spread;

struct Totals {
    std::uint64_t overflows = 0;
    std::uint64_t pauses = 0;
    std::uint64_t marked = 0;
};

Totals totals(const Engine& net) {
    Totals sum;
    for (std::uint32_t port = 0; port < net.plant().port_count(); ++port) {
        const Odd odd = net.plant().odd_counts(port);
        sum.overflows += odd.overflows;
        sum.pauses += odd.pauses;
        sum.marked += odd.marked;
    }
    return sum;
}

std::unique_ptr<TestFabric> incast(const EthernetRules& rules) {
    auto fabric = make_fabric(tree(128, 16), "ftree", {.data_vls = 1});
    fabric->engine().use_ethernet(rules);
    for (std::uint32_t from = 17; from <= 48; ++from) {
        send(*fabric, from, kTarget, 2'000'000);
    }
    return fabric;
}

TEST(Ethernet, PausesKeepAnIncastWithoutLossAtTheRateOfTheLink) {
    const auto fabric = incast({});
    Engine& net = fabric->engine();
    fabric->net().run();
    EXPECT_EQ(fabric->ends().unfinished(), 0U);
    EXPECT_EQ(net.stats().discarded, 0U);
    const Totals sum = totals(net);
    EXPECT_EQ(sum.overflows, 0U);
    EXPECT_GT(sum.pauses, 0U);
    TimePs last = 0;
    for (const auto& flow : fabric->ends().flows()) {
        last = std::max(last, flow.done_at);
    }
    const TimePs shortest =
        net.plant().transmit_time(fabric->port(kTarget), 4096) * 32 * ((2'000'000 + 4095) / 4096);
    EXPECT_GE(last, shortest);
    EXPECT_LT(static_cast<double>(last), 1.03 * static_cast<double>(shortest));
}

TEST(Ethernet, HeadroomIsWhatItTakes) {
    // Headroom grows with the length of a cable, so nothing is lost on cables of any length.
    for (const TimePs cable : {TimePs{5'000}, TimePs{500'000}, TimePs{5'000'000}}) {
        auto fabric = make_fabric(star(9), "minhop", {.data_vls = 1, .cable_ps = cable});
        fabric->engine().use_ethernet({});
        for (std::uint32_t from = 1; from < 9; ++from) {
            send(*fabric, from, 0, 1'000'000);
        }
        fabric->net().run();
        EXPECT_EQ(fabric->ends().unfinished(), 0U) << cable;
        EXPECT_EQ(totals(fabric->engine()).overflows, 0U) << cable;
    }
}

TEST(Ethernet, WithoutPausesAnIncastOverflowsAndEveryPacketIsAccountedFor) {
    const auto fabric = incast({.lossless = false, .buffer_bytes = 1U << 20});
    Engine& net = fabric->engine();
    fabric->net().run();
    EXPECT_GT(fabric->ends().unfinished(), 0U) << "nobody sends again what was lost";
    const EngineStats& stats = net.stats();
    EXPECT_GT(stats.discarded, 0U);
    EXPECT_EQ(stats.discarded, totals(net).overflows);
    EXPECT_EQ(stats.injected, stats.delivered + stats.discarded);
    EXPECT_EQ(net.queues().packets().live(), 0U);
}

TEST(Ethernet, StaysEthernetWhereNothingMarksByInfiniBandsRules) {
    const auto fabric = incast({.lossless = false, .buffer_bytes = 1U << 20});
    Engine& net = fabric->engine();
    for (std::uint32_t node = 0; node < net.plant().node_count(); ++node) {
        if (net.plant().is_switch(node)) {
            net.plant().set_marking(node, {});
        }
    }
    fabric->net().run();
    EXPECT_GT(totals(net).overflows, 0U);
}

TEST(Ethernet, MarksByChanceAboveTheLowThreshold) {
    const auto marking = incast({.ecn = {.low_blocks = 100, .high_blocks = 800, .most = 0.1}});
    marking->net().run();
    EXPECT_GT(totals(marking->engine()).marked, 0U);
    const auto never = incast({});
    never->net().run();
    EXPECT_EQ(totals(never->engine()).marked, 0U);
}

/// Returns how long a shift across a full tree takes, as a multiple of the shortest possible time.
double shift_time(Spread spread, std::uint64_t seed = 1) {
    const auto fabric =
        make_fabric(tree(128, 16), "ftree", {.data_vls = 1}, {.flags = packet_flag::kAdaptive});
    fabric->engine().use_ethernet({.spread = spread, .seed = seed});
    EXPECT_TRUE(fabric->use_adaptive_routing());
    constexpr std::uint64_t kBytes = 300'000;
    send_shift(*fabric, 16, kBytes);
    fabric->net().run();
    EXPECT_EQ(fabric->ends().unfinished(), 0U);
    TimePs last = 0;
    for (const auto& flow : fabric->ends().flows()) {
        last = std::max(last, flow.done_at);
    }
    const TimePs shortest =
        fabric->engine().plant().transmit_time(fabric->port(0), 4096) * ((kBytes + 4095) / 4096);
    return static_cast<double>(last) / static_cast<double>(shortest);
}

TEST(Ethernet, HashedFlowsCollideWhereSprayedPacketsDoNot) {
    EXPECT_GT(shift_time(Spread::kFlows), 1.8) << "two flows on one cable";
    EXPECT_LT(shift_time(Spread::kPackets), 1.5);
    EXPECT_LT(shift_time(Spread::kLoad), 1.5);
}

TEST(Ethernet, AnotherSeedIsAnotherHash) {
    double least = 100;
    double most = 0;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const double time = shift_time(Spread::kFlows, seed);
        least = std::min(least, time);
        most = std::max(most, time);
    }
    EXPECT_LT(least, most);
}

TEST(Ethernet, SameRulesSameRun) {
    const EthernetRules rules{.ecn = {.low_blocks = 100, .high_blocks = 800, .most = 0.1}};
    const auto one = incast(rules);
    const auto other = incast(rules);
    one->net().run();
    other->net().run();
    EXPECT_EQ(one->engine().stats().log_hash, other->engine().stats().log_hash);
}

}  // namespace
}  // namespace softib::net
