// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <string>

#include "core/base/test_effort.h"
#include "net/tests/test_fabrics.h"
#include "net/tests/test_faults.h"

namespace softib::net {
namespace {

TEST(Faults, ALostPacketGivesItsCreditsBack) {
    const auto fabric = make_fabric(star(2), "minhop", {.buffer_bytes = 8192}, {.ack_bytes = 0});
    Engine& net = fabric->engine();
    net.ports().set_errors(fabric->port(0), {.lost_ppm = 200'000, .seed = 7});
    send(*fabric, 0, 1, 1000 * 4096);
    fabric->net().run();
    const std::uint64_t lost = net.plant().odd_counts(fabric->port(0)).lost;
    EXPECT_GT(lost, 150U);
    EXPECT_LT(lost, 250U);
    EXPECT_EQ(fabric->ends().flows()[0].received + lost, 1000U);
    expect_sound(*fabric);
}

TEST(Faults, ABrokenPacketCountsOncePerPortAndIsNotDelivered) {
    const auto fabric = make_fabric(star(2), "minhop", {}, {.ack_bytes = 0});
    Engine& net = fabric->engine();
    net.ports().set_errors(fabric->port(0), {.broken_ppm = 200'000, .seed = 7});
    send(*fabric, 0, 1, 1000 * 4096);
    fabric->net().run();
    const auto at_switch = net.counts(net.plant().peer(fabric->port(0)));
    const auto at_host = net.counts(fabric->port(1));
    EXPECT_GT(at_switch.symbol_errors, 150U);
    EXPECT_EQ(at_switch.rcv_errors, at_switch.symbol_errors);
    EXPECT_EQ(at_switch.rcv_remote_physical_errors, 0U);
    EXPECT_EQ(at_host.rcv_remote_physical_errors, at_switch.rcv_errors);
    EXPECT_EQ(at_host.rcv_errors, 0U);
    EXPECT_EQ(fabric->ends().flows()[0].received, 1000 - at_switch.rcv_errors);
    expect_sound(*fabric);
}

/// With a fifth of the packets broken, good ones outnumber them and the count stays low. With seven
/// tenths broken, a limit of 8 is reached again and again: seven broken packets add 7, and the
/// three good ones among them take only 3 off.
TEST(Faults, ALinkLosesItsIntegrityWhenGoodPacketsAreTheFewer) {
    for (const bool mostly : {false, true}) {
        const auto fabric = make_fabric(star(2), "minhop", {}, {.ack_bytes = 0});
        Engine& net = fabric->engine();
        const std::uint32_t at_switch = net.plant().peer(fabric->port(0));
        net.ports().set_error_limit(at_switch, 8);
        net.ports().set_errors(fabric->port(0),
                               {.broken_ppm = mostly ? 700'000U : 200'000U, .seed = 7});
        send(*fabric, 0, 1, 1000 * 4096);
        fabric->net().run();
        const std::uint64_t errors = net.counts(at_switch).link_integrity_errors;
        EXPECT_GE(errors, mostly ? 20U : 0U);
        EXPECT_LE(errors, mostly ? 77U : 0U);
        EXPECT_EQ(net.counts(fabric->port(1)).link_integrity_errors, 0U);
    }
}

TEST(Faults, ALinkThatFlapsLosesWhatIsOnItAndWorksAgain) {
    const auto fabric = make_fabric(star(3), "minhop", {.cable_ps = 500'000}, {.ack_bytes = 0});
    Engine& net = fabric->engine();
    send(*fabric, 0, 1, 1000 * 4096);
    fabric->net().run(20'000'000);
    net.ports().set_link(fabric->port(1), false);
    fabric->net().run(30'000'000);
    net.ports().set_link(fabric->port(1), true);
    fabric->net().run();
    const std::uint32_t out = net.plant().peer(fabric->port(1));
    EXPECT_GT(net.plant().odd_counts(out).lost, 3U);
    EXPECT_GT(net.counts(out).xmit_discards, 50U);  // Packets that came while the cable was down.
    EXPECT_EQ(net.counts(out).link_downed, 1U);
    EXPECT_EQ(net.counts(fabric->port(1)).link_downed, 1U);
    EXPECT_EQ(fabric->ends().flows()[0].received + net.stats().lost + net.stats().discarded, 1000U);
    expect_sound(*fabric);
}

TEST(Faults, ADeadSwitchTakesItsPacketsWithIt) {
    const auto fabric = make_fabric(tree(16, 8), "ftree", {}, {.ack_bytes = 0});
    Engine& net = fabric->engine();
    send_shift(*fabric, 8, 200'000);
    fabric->net().run(1'500'000);
    net.ports().set_node(net.plant().node_of(net.plant().peer(fabric->port(0))), false);
    fabric->net().run();
    EXPECT_EQ(net.queues().packets().live(), 0U);
    EXPECT_LT(fabric->ends().flows()[0].received, 49U);
    EXPECT_FALSE(Inspector(net).find_deadlock().any());
    expect_sound(*fabric);
}

TEST(Faults, LostCreditsAreFoundAndSaidToBeTheCause) {
    const auto fabric = make_fabric(star(2), "minhop", {.buffer_bytes = 8192}, {.ack_bytes = 0});
    Engine& net = fabric->engine();
    EXPECT_EQ(net.ports().steal_credits(fabric->port(0), 0, 100), 100);
    send(*fabric, 0, 1, 10 * 4096);
    fabric->net().run();
    EXPECT_EQ(fabric->ends().flows()[0].received, 0U);
    EXPECT_EQ(Inspector(net).check_credits().size(), 1U);
    const Deadlock found = Inspector(net).find_deadlock();
    EXPECT_TRUE(found.cycle.empty());
    ASSERT_EQ(found.without_cause.size(), 1U);
    EXPECT_EQ(found.without_cause[0].link, fabric->port(0));
    EXPECT_NE(found.text.find("credits were lost"), std::string::npos) << found.text;
}

TEST(Faults, ASlowReceiverHoldsItsSenderUpAndNobodyElse) {
    const auto fabric = make_fabric(star(4), "minhop", {}, {.ack_bytes = 0});
    Engine& net = fabric->engine();
    net.ports().set_slow(fabric->port(1), 12'800);  // A tenth of the link's rate.
    send(*fabric, 0, 1, 400 * 4096);
    send(*fabric, 2, 3, 400 * 4096);
    fabric->net().run();
    EXPECT_EQ(fabric->ends().unfinished(), 0U);
    EXPECT_GT(fabric->ends().flows()[0].done_at, 9 * fabric->ends().flows()[1].done_at);
    EXPECT_GT(net.counts(fabric->port(0)).xmit_wait, 0U);
    EXPECT_EQ(net.counts(fabric->port(2)).xmit_wait, 0U);
    expect_sound(*fabric);
}

TEST(Faults, ManagementIsDroppedWhereItFindsNoRoom) {
    // Two hosts flood a third on VL15: no credits hold them back.
    const auto fabric = make_fabric(star(3), "minhop", {.buffer_bytes = 4096}, {.ack_bytes = 0});
    Engine& net = fabric->engine();
    for (std::uint32_t i = 0; i < 200; ++i) {
        for (std::uint32_t from = 1; from <= 2; ++from) {
            net.inject(fabric->port(from),
                       {.body = 0, .dlid = fabric->lid(0).value, .bytes = 280, .vl = 15});
        }
    }
    fabric->ends().start(net, fabric->port(0), fabric->lid(0), fabric->lid(1), 4096);
    fabric->net().run();
    std::uint64_t dropped = 0;
    for (std::uint32_t from = 1; from <= 2; ++from) {
        dropped += net.counts(net.plant().peer(fabric->port(from))).vl15_dropped;
        EXPECT_EQ(net.counts(fabric->port(from)).xmit_wait, 0U);
    }
    EXPECT_GT(dropped, 50U);
    EXPECT_EQ(net.counts(fabric->port(0)).rcv_packets + dropped, 400U);
}

TEST(Faults, AClosedPortCarriesManagementOnly) {
    const auto fabric = make_fabric(star(2), "minhop", {}, {.ack_bytes = 0});
    Engine& net = fabric->engine();
    const std::uint32_t out = net.plant().peer(fabric->port(1));
    net.ports().initialize(out);
    send(*fabric, 0, 1, 5 * 4096);
    net.inject(fabric->port(0), {.body = 0, .dlid = fabric->lid(1).value, .bytes = 280, .vl = 15});
    fabric->net().run();
    EXPECT_EQ(net.counts(fabric->port(1)).rcv_packets, 1U);
    EXPECT_EQ(net.plant().odd_counts(out).inactive_discards, 5U);
}

/// A cable that comes back carries nothing until both its ports are trained.
TEST(Faults, TrainingTakesItsTime) {
    const auto fabric =
        make_fabric(star(2), "minhop", {.training_ps = 10'000'000}, {.ack_bytes = 0});
    Engine& net = fabric->engine();
    const std::uint32_t port = fabric->port(0);
    net.ports().set_link(port, false);
    EXPECT_EQ(net.ports().state(port).physical(), PortPhysicalState::kPolling);
    EXPECT_EQ(net.ports().state(port).logical(), PortState::kDown);
    net.ports().set_link(port, true);
    EXPECT_EQ(net.ports().state(port).physical(), PortPhysicalState::kTraining);
    fabric->net().run(9'000'000);
    send(*fabric, 0, 1, 4096);
    EXPECT_EQ(net.counts(port).xmit_discards, 1U);
    // Down and up again: training begins anew, and the end of the first training has no effect.
    net.ports().set_link(port, false);
    net.ports().set_link(port, true);
    fabric->net().run(18'000'000);
    EXPECT_EQ(net.ports().state(port).physical(), PortPhysicalState::kTraining);
    fabric->net().run(20'000'000);
    EXPECT_EQ(net.ports().state(port).logical(), PortState::kActive);
    send(*fabric, 0, 1, 4096);
    fabric->net().run();
    EXPECT_EQ(net.counts(fabric->port(1)).rcv_packets, 1U);
    EXPECT_EQ(net.counts(port).link_downed, 1U);
    expect_sound(*fabric);
}

/// Packets on the cable are lost; packets that wait are sent afterwards.
TEST(Faults, RetrainingLosesWhatIsOnTheCableOnly) {
    const auto fabric = make_fabric(star(2), "minhop", {}, {.ack_bytes = 0});
    Engine& net = fabric->engine();
    const std::uint32_t port = fabric->port(0);
    send(*fabric, 0, 1, 100 * 4096);
    fabric->net().run(2'000'000);
    net.ports().retrain(port, 5'000'000);
    EXPECT_EQ(net.ports().state(port).logical(), PortState::kActiveDefer);
    fabric->net().run(6'000'000);
    const std::uint64_t meanwhile = net.counts(port).xmit_packets;
    EXPECT_LT(meanwhile, 30U);
    fabric->net().run();
    EXPECT_EQ(net.ports().state(port).logical(), PortState::kActive);
    EXPECT_EQ(net.counts(port).link_recoveries, 1U);
    EXPECT_EQ(net.counts(port).link_downed, 0U);
    EXPECT_EQ(net.counts(port).xmit_discards, 0U);
    EXPECT_GT(net.stats().lost, 0U);
    EXPECT_LE(net.stats().lost, 4U);  // Also those that the switch was still looking up.
    EXPECT_EQ(net.counts(fabric->port(1)).rcv_packets + net.stats().lost, 100U);
    expect_sound(*fabric);
}

/// The end that a manager has only armed becomes active when the other sends.
TEST(Faults, DataActivatesAnArmedPort) {
    const auto fabric = make_fabric(star(2), "minhop", {}, {.ack_bytes = 0});
    Engine& net = fabric->engine();
    net.ports().manage_all();
    const std::uint32_t here = fabric->port(0);
    const std::uint32_t there = net.plant().peer(here);
    for (const std::uint32_t port :
         {here, there, fabric->port(1), net.plant().peer(fabric->port(1))}) {
        EXPECT_FALSE(net.ports().set_logical(port, PortState::kActive));
        EXPECT_TRUE(net.ports().set_logical(port, PortState::kArmed));
    }
    net.ports().set_logical(net.plant().peer(fabric->port(1)), PortState::kActive);
    send(*fabric, 0, 1, 4096);
    EXPECT_EQ(net.plant().odd_counts(here).inactive_discards, 1U);  // Armed is not enough to send.
    net.ports().set_logical(here, PortState::kActive);
    send(*fabric, 0, 1, 4096);
    fabric->net().run();
    EXPECT_EQ(net.ports().state(there).logical(), PortState::kActive);
    EXPECT_EQ(net.ports().state(fabric->port(1)).logical(), PortState::kActive);
    EXPECT_EQ(net.counts(fabric->port(1)).rcv_packets, 1U);
    // A port in Initialize takes no data.
    net.ports().initialize(fabric->port(1));
    send(*fabric, 0, 1, 4096);
    fabric->net().run();
    EXPECT_EQ(net.plant().odd_counts(fabric->port(1)).not_ready, 1U);
    expect_sound(*fabric);
}

TEST(Faults, WhatASwitchBreaksOnlyTheAdapterSees) {
    const auto fabric = make_fabric(star(2), "minhop");
    Engine& net = fabric->engine();
    const std::uint32_t out = net.plant().peer(fabric->port(1));
    net.ports().set_errors(out, {.inside_ppm = 100'000, .seed = 7});
    send(*fabric, 0, 1, 4'096'000);
    fabric->net().run();
    const counters::PortCounts at_host = net.counts(fabric->port(1));
    EXPECT_GT(at_host.rcv_errors, 50U);
    EXPECT_EQ(at_host.rcv_remote_physical_errors, 0U);
    EXPECT_EQ(at_host.symbol_errors, 0U);
    EXPECT_EQ(net.plant().odd_counts(fabric->port(1)).local_physical_errors, at_host.rcv_errors);
    EXPECT_EQ(fabric->ends().flows()[0].received, 1000 - at_host.rcv_errors);
    expect_sound(*fabric);
}

TEST(Faults, WhateverGoesWrongCreditsAndCountersAddUp) {
    for (std::uint64_t seed = 1; seed <= effort(20U, 5U); ++seed) {
        const auto run = [seed] {
            const auto fabric = make_fabric(tree(32, 8), "ftree",
                                            {.buffer_bytes = 16'384, .lifetime = 3, .hoq_life = 2});
            send_shift(*fabric, static_cast<std::uint32_t>(seed) % 31 + 1, 1'000'000);
            const std::vector<Fault> faults =
                draw_faults(fabric->engine(), {.seed = seed, .count = 25, .until = 60'000'000});
            FaultInjector injector(faults, seed);
            injector.run(fabric->net(), 500'000'000, [&](auto&) {
                expect_sound(*fabric);
                EXPECT_FALSE(Inspector(fabric->engine()).find_deadlock().any());
            });
            const EngineStats& stats = fabric->engine().stats();
            EXPECT_EQ(stats.injected, stats.delivered + stats.discarded + stats.lost +
                                          fabric->engine().queues().packets().live());
            EXPECT_GT(stats.lost + stats.discarded, 0U);
            return stats.log_hash;
        };
        const std::uint64_t first = run();
        EXPECT_EQ(run(), first) << "seed " << seed;
        RecordProperty("log_hash", std::to_string(first));
        if (HasFailure()) {
            FAIL() << "seed " << seed;
        }
    }
}

}  // namespace
}  // namespace softib::net
