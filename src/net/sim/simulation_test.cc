// SPDX-License-Identifier: BSD-2-Clause
#include "net/sim/simulation.h"

#include "core/base/prng.h"
#include "core/base/test_effort.h"
#include "core/topo/spec.h"
#include "net/sim/test_simulation.h"

namespace softib::net {
namespace {

void send_shift(TestSimulation& simulation, std::uint32_t by, std::uint64_t bytes) {
    const std::uint32_t ends = simulation.simulation().end_count();
    for (std::uint32_t from = 0; from < ends; ++from) {
        simulation.send({.from = from, .to = (from + by) % ends, .bytes = bytes});
    }
}

TEST(Simulation, TwoInOneProcessDoNotDisturbEachOther) {
    const auto make = [] {
        auto made = std::make_unique<TestSimulation>(fat_tree(32, 8, 2), SimulationOptions{});
        send_shift(*made, 5, 100'000);
        return made;
    };
    const auto alone = make();
    alone->run();
    const auto one = make();
    const auto other = make();
    send_shift(*other, 9, 50'000);
    // The two simulations run in turns of a few events.
    for (bool done = false; !done;) {
        done = one->simulation().run_some(kNever, 7);
        done &= other->simulation().run_some(kNever, 11);
    }
    EXPECT_EQ(one->simulation().stats().log_hash, alone->simulation().stats().log_hash);
    EXPECT_NE(other->simulation().stats().log_hash, alone->simulation().stats().log_hash);
    EXPECT_EQ(other->simulation().unfinished(), 0U);
    one->expect_sound();
}

TEST(Simulation, NewRoutesLeadAroundACableThatFailed) {
    SimulationOptions options;
    options.engine = "ftree";
    options.repair_ps = 50'000'000;
    const auto fabric = topo::generate(fat_tree(32, 8, 2));
    const std::vector<Hop> cables = cables_between_switches(*fabric);
    options.failures = {{.what = cables[3], .at = 2'000'000}};
    TestSimulation tree(fat_tree(32, 8, 2), options);
    send_shift(tree, 16, 400'000);
    tree.run();
    for (const TestSimulation::Outcome& each : tree.outcomes()) {
        EXPECT_NE(each.acknowledged_at, kNever);
    }
    EXPECT_GT(tree.simulation().stats().lost + tree.simulation().stats().discarded, 0U);
    // Some messages waited for a timeout, none for two.
    EXPECT_GT(tree.last_delivered(), options.hosts.timeout_ps);
    EXPECT_LT(tree.last_delivered(), 2 * options.hosts.timeout_ps);
}

TEST(Simulation, ASwitchThatFailedIsLedAroundToo) {
    SimulationOptions options;
    options.engine = "updn";
    options.repair_ps = 50'000'000;
    const auto fabric = topo::generate(fat_tree(32, 8, 2));
    const auto spine = fabric->find_node("spine1");
    ASSERT_TRUE(spine);
    options.failures = {{.what = {spine->value, 0}, .at = 2'000'000}};
    TestSimulation tree(fat_tree(32, 8, 2), options);
    send_shift(tree, 16, 400'000);
    tree.run();
    for (const TestSimulation::Outcome& each : tree.outcomes()) {
        EXPECT_NE(each.acknowledged_at, kNever);
    }
    for (std::uint32_t from = 0; from < 32; ++from) {
        for (const Hop& hop : tree.simulation().path(from, (from + 16) % 32)) {
            EXPECT_NE(hop.node, spine->value);
        }
    }
}

TEST(Simulation, WhatBeginsLateTakesNoLonger) {
    constexpr TimePs kHour = 3'600'000'000'000'000;
    TestSimulation star(single_switch(3), {});
    star.send({.from = 0, .to = 1, .bytes = 100'000});
    star.send({.from = 0, .to = 1, .bytes = 100'000}, kHour);
    star.run();
    EXPECT_EQ(star.outcome(1).delivered_at, kHour + star.outcome(0).delivered_at);
}

TEST(Simulation, AHostWithoutACableFailsAtOnce) {
    SimulationOptions options;
    options.failures = {{.what = {1, 1}, .at = 0}};
    TestSimulation star(single_switch(3), options);
    star.send({.from = 0, .to = 1, .bytes = 4096}, 1000);
    star.send({.from = 0, .to = 2, .bytes = 4096}, 1000);
    star.run();
    EXPECT_EQ(star.outcome(0).failed_at, 1000U);
    EXPECT_NE(star.outcome(1).delivered_at, kNever);
}

TEST(Simulation, WhatFailedBeforehandIsNotThere) {
    SimulationOptions options;
    const auto fabric = topo::generate(fat_tree(32, 8, 2));
    for (const Hop& cable : draw_cables(*fabric, 3, 7)) {
        options.failures.push_back({.what = cable, .at = 0});
    }
    TestSimulation tree(fat_tree(32, 8, 2), options);
    send_shift(tree, 16, 100'000);
    tree.run();
    EXPECT_EQ(tree.simulation().unfinished(), 0U);
    EXPECT_EQ(tree.simulation().links().size(), (32U + 32U - 3U) * 2U);
    tree.expect_sound();
}

TEST(Simulation, APathIsThatOfThePackets) {
    TestSimulation tree(fat_tree(32, 8, 2), {});
    tree.send({.from = 0, .to = 31, .bytes = 4096});
    tree.run();
    const std::vector<Hop> hops = tree.simulation().path(0, 31);
    ASSERT_EQ(hops.size(), 4U);
    for (const LinkLoad& link : tree.simulation().links()) {
        const bool on_path = std::ranges::find(hops, link.at) != hops.end();
        EXPECT_EQ(link.bytes > 1000, on_path);
    }
}

TEST(Simulation, AStuckFabricComesToRestAndNamesTheCycle) {
    SimulationOptions options;
    options.engine = "minhop";
    TestSimulation ring({.shape = topo::Shape::kTorus, .hosts = 8, .dimensions = {8}}, options);
    send_shift(ring, 3, 1'000'000);
    ring.run();  // Until nothing can happen any more, without a time at which it stops.
    EXPECT_EQ(ring.simulation().unfinished(), 8U);
    const std::vector<std::string> found = ring.simulation().check();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_NE(found.front().find("has no credits: the buffer of sw"), std::string::npos);
}

TEST(Simulation, AnEngineWithoutChoiceRefusesToAdapt) {
    SimulationOptions options;
    options.engine = "dor";
    options.hosts.adaptive = true;
    auto torus = topo::generate({.shape = topo::Shape::kTorus, .hosts = 9, .dimensions = {3, 3}});
    const auto made = Simulation::make(*std::move(torus), options);
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find("leave switches no choice"), std::string::npos);
}

TEST(Simulation, OptionsThatCannotBeAreRefusedWithTheRemedy) {
    const auto refusal = [](const SimulationOptions& options) {
        const auto made = Simulation::make(*topo::generate(single_switch(2)), options);
        return made ? std::string() : made.error().message;
    };
    SimulationOptions options;
    options.engine = "fastest";
    EXPECT_TRUE(refusal(options).starts_with("there is no routing engine 'fastest': take one of "))
        << refusal(options);
    EXPECT_NE(refusal(options).find("ftree"), std::string::npos);
    options = {};
    options.hosts.mtu = 8192;
    EXPECT_EQ(refusal(options), "mtu must be at most 4096 bytes, not 8192");
    options.plant.buffer_bytes = 100;
    EXPECT_TRUE(refusal(options).starts_with(
        "the buffer of a lane must hold one packet and be at most 128 KiB: take "))
        << refusal(options);
}

/// Returns a random mixture of options for HCAs and switches.
SimulationOptions draw_options(Prng& prng, const topo::Fabric& fabric) {
    SimulationOptions options;
    options.engine = prng.chance(1, 2) ? "ftree" : "updn";
    options.plant.buffer_bytes = static_cast<std::uint32_t>(8192 << prng.below(4));
    options.hosts.mtu = static_cast<std::uint16_t>(256 << prng.below(5));
    options.hosts.ack_every = static_cast<std::uint32_t>(1 + prng.below(20));
    options.hosts.burst_packets = static_cast<std::uint32_t>(1 + prng.below(10));
    options.hosts.timeout_ps = 20'000'000;
    options.repair_ps = 10'000'000;
    options.hosts.window_packets = static_cast<std::uint32_t>(prng.below(20));
    options.hosts.inject_block_ps = prng.chance(1, 3) ? 2000 : 0;
    options.hosts.pcie_block_ps = prng.chance(1, 3) ? 3000 : 0;
    options.hosts.context_entries = prng.chance(1, 3) ? 3 : 0;
    options.hosts.context_fetches = static_cast<std::uint32_t>(1 + prng.below(4));
    options.hosts.adaptive = prng.chance(1, 3) && options.engine == "ftree";
    if (prng.chance(1, 3)) {
        options.congestion.emplace();
    }
    for (const Hop& cable : draw_cables(fabric, static_cast<std::uint32_t>(prng.below(4)), 5)) {
        options.failures.push_back({.what = cable, .at = prng.below(30'000'000)});
    }
    return options;
}

TEST(Simulation, EveryMessageEndsWhateverTheOptions) {
    const auto fabric = topo::generate(fat_tree(32, 8, 2));
    std::uint64_t lost = 0;
    for (std::uint64_t seed = 1; seed <= effort(60, 15); ++seed) {
        SCOPED_TRACE(seed);
        Prng prng(seed);
        TestSimulation tree(fat_tree(32, 8, 2), draw_options(prng, *fabric));
        for (int i = 0; i < 200; ++i) {
            tree.send({.from = static_cast<std::uint32_t>(prng.below(32)),
                       .to = static_cast<std::uint32_t>(prng.below(8)),
                       .bytes = prng.below(100'000),
                       .connection = static_cast<std::uint32_t>(prng.below(5))},
                      prng.below(20'000'000));
        }
        tree.run();
        EXPECT_EQ(tree.simulation().unfinished(), 0U);
        for (const TestSimulation::Outcome& each : tree.outcomes()) {
            EXPECT_NE(each.acknowledged_at == kNever, each.failed_at == kNever);
            EXPECT_TRUE(each.acknowledged_at == kNever ||
                        each.delivered_at <= each.acknowledged_at);
        }
        tree.expect_sound();
        lost += tree.simulation().stats().lost + tree.simulation().stats().discarded;
    }
    EXPECT_GT(lost, effort(1000U, 200U));
}

TEST(Simulation, ManyMessagesFit) {
    TestSimulation star(single_switch(64), {});
    const std::size_t before = star.simulation().bytes();
    for (std::uint32_t from = 0; from < 64; ++from) {
        for (std::uint32_t k = 1; k <= 64 * 16; ++k) {
            star.send({.from = from, .to = (from + k) % 64, .bytes = 64});
        }
    }
    EXPECT_LT((star.simulation().bytes() - before) / star.outcomes().size(), 130U);
    star.run();
    EXPECT_EQ(star.simulation().unfinished(), 0U);
    star.expect_sound();
}

}  // namespace
}  // namespace softib::net
