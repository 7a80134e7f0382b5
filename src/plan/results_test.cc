// SPDX-License-Identifier: BSD-2-Clause
#include "plan/results.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/topo/spec.h"
#include "net/sim/simulation.h"
#include "plan/route_loads.h"

namespace softib::plan {
namespace {

Results play(const topo::Spec& spec, const std::vector<Traffic>& traffics,
             const net::SimulationOptions& options = {}, TimePs until = kNever) {
    auto fabric = topo::generate(spec);
    const Ends ends(*fabric);
    auto simulation = net::Simulation::make(*fabric, options);
    EXPECT_TRUE(simulation) << (simulation ? "" : simulation.error().message);
    std::vector<Schedule> schedules;
    for (const Traffic& traffic : traffics) {
        schedules.push_back(*Schedule::make(traffic, ends.count(), 1));
    }
    Player player(*simulation, std::move(schedules));
    while (!player.run_some(until, 10'000)) {
    }
    player.note_partial();
    return summarise(player, *fabric, ends, {.adaptive = options.hosts.adaptive});
}

topo::Spec tree() {
    return {.shape = topo::Shape::kFatTree, .hosts = 32, .radix = 8, .levels = 2};
}

TEST(Results, AClosedLoopSendsTheNextAfterTheLast) {
    const Results results = play(
        tree(), {{.pattern = Pattern::kShift, .bytes = 100'000, .shift = 16, .repetitions = 4}});
    const TrafficResult& traffic = results.traffics.front();
    EXPECT_EQ(traffic.messages, 128U);
    EXPECT_EQ(traffic.delivered, 128U);
    EXPECT_EQ(traffic.unfinished, 0U);
    EXPECT_EQ(traffic.bytes, 128U * 100'000U);
    // No flow slows another: the time is four times that of one message and its acknowledgement.
    EXPECT_GT(traffic.completion_us.percentile(50) * 4,
              0.7 * static_cast<double>(traffic.duration()) / 1e6);
    EXPECT_TRUE(results.trees.empty());
}

TEST(Results, InARingEverybodyWaitsForTheOneBefore) {
    constexpr std::uint32_t kHosts = 32;
    constexpr std::uint32_t kSteps = 10;
    const auto fabric = topo::generate(tree());
    auto simulation = net::Simulation::make(*fabric, {.engine = "ftree"});
    ASSERT_TRUE(simulation);
    // A traffic before the ring in the list, and one after it that slows h5 down.
    const std::vector<Traffic> traffics{
        {.pattern = Pattern::kShift, .bytes = 1000, .shift = 3, .repetitions = 2},
        {.pattern = Pattern::kRing, .bytes = 30'000, .repetitions = kSteps},
        {.pattern = Pattern::kIncast, .bytes = 100'000, .target = 5, .sources = 8}};
    std::vector<Schedule> schedules;
    for (const Traffic& traffic : traffics) {
        schedules.push_back(*Schedule::make(traffic, kHosts, 1));
    }
    Player player(*simulation, std::move(schedules));
    while (!player.run_some(kNever, 10'000)) {
    }
    std::vector<std::vector<MessageRecord>> sent(kHosts);
    for (const MessageRecord& message : player.messages()) {
        if (message.traffic == 1) {
            sent[message.from].push_back(message);
        }
    }
    for (std::uint32_t host = 0; host < kHosts; ++host) {
        ASSERT_EQ(sent[host].size(), kSteps);
        const std::vector<MessageRecord>& before = sent[(host + kHosts - 1) % kHosts];
        for (std::uint32_t step = 0; step < kSteps; ++step) {
            EXPECT_EQ(sent[host][step].to, (host + 1) % kHosts);
            EXPECT_EQ(sent[host][step].started_at, step == 0 ? 0 : before[step - 1].delivered_at);
        }
    }
    EXPECT_EQ(player.ended(), player.messages_planned());
}

TEST(Results, TheRootOfAnIncastIsNamedAndItsVictimsCounted) {
    // Eight hosts send to h0; h16 also sends to h4 by the same spine as some of them.
    std::vector<Traffic> traffics{{.pattern = Pattern::kIncast,
                                   .bytes = 400'000,
                                   .among = {0, 16, 17, 18, 19, 20, 21, 22, 23},
                                   .target = 0},
                                  {.pattern = Pattern::kPairs,
                                   .bytes = 400'000,
                                   .pairs = {{24, 4}, {25, 8}, {26, 12}, {16, 4}, {20, 8}}}};
    const Results results = play(tree(), traffics, {.engine = "ftree"});
    ASSERT_FALSE(results.trees.empty());
    const CongestionTree& worst = results.trees.front();
    // All eight flows meet at the spine that leads to h0.
    EXPECT_EQ(worst.text,
              "spine0:1 is full because of 8 flows to h0; 2 other flows wait behind it");
    EXPECT_EQ(worst.flows, 8U);
    EXPECT_EQ(worst.flows_to, 8U);
    EXPECT_EQ(worst.victims, 2U);
    EXPECT_FALSE(worst.behind.empty());
    EXPECT_NE(std::ranges::find(results.busiest, worst.root), results.busiest.end());
    EXPECT_GT(results.links[worst.root].use, 0.95);
}

TEST(Results, AnOpenLoopOffersItsRateWhateverBecomesOfIt) {
    const topo::Spec star{.shape = topo::Shape::kSingleSwitch, .hosts = 5};
    const Traffic traffic{.pattern = Pattern::kIncast,
                          .bytes = 100'000,
                          .target = 4,
                          .repetitions = 50,
                          .rate = 50e9};
    const Results half = play(star, {traffic});
    EXPECT_NEAR(half.traffics.front().gbps, 200, 10);
    EXPECT_LT(half.traffics.front().completion_us.percentile(99), 15);
    // Twice the rate of the target's link: messages wait longer and longer.
    Traffic twice = traffic;
    twice.rate = 200e9;
    const Results late = play(star, {twice});
    EXPECT_EQ(late.traffics.front().delivered, 200U);
    EXPECT_NEAR(late.traffics.front().gbps, 397, 5);
    EXPECT_GT(late.traffics.front().completion_us.max(), 100);
}

TEST(Results, LosingALeafCutsItsHostsOff) {
    const auto fabric = topo::generate(tree());
    std::vector<Flow> flows;
    for (std::uint32_t from = 0; from < 32; ++from) {
        flows.push_back({from, (from + 16) % 32});
    }
    const auto ranking = rank_losses(*fabric, "ftree", flows, 100);
    ASSERT_TRUE(ranking) << ranking.error();
    EXPECT_EQ(ranking->before.mean_share, 1.0);
    EXPECT_EQ(ranking->before.most_flows, 1U);
    EXPECT_EQ(ranking->cables_tried, 32U);
    EXPECT_EQ(ranking->switches_tried, 12U);
    // Without any one cable, the flow that it had in each direction shares a link with another.
    EXPECT_LT(ranking->cables.front().mean_share, 1.0);
    EXPECT_EQ(ranking->cables.front().unreachable, 0U);
    const Loss& worst = ranking->switches.front();
    EXPECT_TRUE(fabric->nodes[worst.what.node].name.starts_with("leaf"));
    EXPECT_EQ(worst.unreachable, 8U);
}

TEST(Results, LosingARouterOrItsCableIsRankedToo) {
    topo::Spec spec = tree();
    spec.subnets = 2;
    spec.routers = 2;
    spec.hosts = 40;
    const auto fabric = topo::generate(spec);
    ASSERT_TRUE(fabric);
    std::vector<Flow> flows;
    for (std::uint32_t from = 0; from < 40; ++from) {
        flows.push_back({from, (from + 20) % 40});
    }
    const auto ranking = rank_losses(*fabric, "ftree", flows, 200);
    ASSERT_TRUE(ranking) << ranking.error();
    EXPECT_EQ(ranking->before.unreachable, 0U);
    ASSERT_EQ(ranking->routers.size(), 2U);
    for (const Loss& loss : ranking->routers) {
        // The other router takes all flows.
        EXPECT_EQ(loss.unreachable, 0U);
        EXPECT_NEAR(loss.mean_share / ranking->before.mean_share, 0.5, 0.15);
        EXPECT_EQ(fabric->nodes[loss.what.node].kind, topo::NodeKind::kRouter);
    }
    // The worst cable to lose is one of a router: both directions are lost.
    const Loss& worst = ranking->cables.front();
    EXPECT_EQ(fabric->nodes[worst.what.node].kind, topo::NodeKind::kRouter);
    EXPECT_NEAR(worst.mean_share, ranking->routers.front().mean_share, 1e-9);

    topo::Spec one = spec;
    one.routers = 1;
    const auto alone = rank_losses(*topo::generate(one), "ftree", flows, 200);
    ASSERT_TRUE(alone);
    EXPECT_EQ(alone->routers.front().unreachable, 40U);
    EXPECT_EQ(alone->cables.front().unreachable, 40U);
}

TEST(Results, ARunThatWasStoppedSaysWhatIsLeft) {
    const Results results =
        play(tree(), {{.pattern = Pattern::kShift, .bytes = 10'000'000}}, {}, 50'000'000);
    EXPECT_EQ(results.traffics.front().delivered, 0U);
    EXPECT_EQ(results.traffics.front().unfinished, 32U);
    EXPECT_EQ(results.duration, 50'000'000U);
}

TEST(Results, BytesThatCameUntilTheEndCount) {
    const topo::Spec star{.shape = topo::Shape::kSingleSwitch, .hosts = 2};
    const Traffic traffic{.pattern = Pattern::kShift, .bytes = 10'000'000, .repetitions = 3};
    const TrafficResult result = play(star, {traffic}, {}, 100'000'000).traffics.front();
    EXPECT_EQ(result.delivered, 0U);
    EXPECT_EQ(result.unfinished, 2U);
    EXPECT_EQ(result.not_begun, 4U);
    EXPECT_EQ(result.bytes, result.partial_bytes);
    EXPECT_EQ(result.bytes % 4096, 0U);
    EXPECT_NEAR(result.gbps, 2 * 396, 10);
    EXPECT_EQ(result.duration(), 100'000'000U);
}

TEST(Results, AMessageOfAnOpenLoopIsThereWhenItBegins) {
    const topo::Spec star{.shape = topo::Shape::kSingleSwitch, .hosts = 2};
    // A message each 8 us; that all of them fit into memory shows that most are never made.
    const Traffic traffic{
        .pattern = Pattern::kShift, .bytes = 100'000, .repetitions = UINT32_MAX, .rate = 100e9};
    const TrafficResult result = play(star, {traffic}, {}, 100'000'000).traffics.front();
    EXPECT_GE(result.delivered, 22U);
    EXPECT_LE(result.unfinished, 2U);
    EXPECT_EQ(result.delivered + result.unfinished + result.not_begun, result.messages);
}

TEST(Results, ALinkCarriesNoMoreThanItCanWhenMessagesAreGivenUp) {
    const auto fabric = topo::generate(tree());
    net::SimulationOptions options{.engine = "ftree"};
    for (std::uint32_t node = 0; node < fabric->nodes.size(); ++node) {
        if (fabric->nodes[node].name.starts_with("spine")) {
            options.failures.push_back({.what = {.node = node, .port = 0}});
        }
    }
    const Results results = play(tree(), {{.pattern = Pattern::kShift, .bytes = 100'000}}, options);
    EXPECT_EQ(results.traffics.front().delivered, 24U);
    EXPECT_EQ(results.traffics.front().failed, 8U);
    EXPECT_GT(results.duration, 7 * options.hosts.timeout_ps);
    for (const LinkResult& link : results.links) {
        EXPECT_LE(link.gbps, link.load.gbps) << link.name;
    }
    EXPECT_TRUE(std::isnan(total_of(results).finished_us));
}

TEST(Results, TrafficsTogetherHaveTheirBytesInTheTimeOfAll) {
    const topo::Spec star{.shape = topo::Shape::kSingleSwitch, .hosts = 2};
    // Both share a cable of 400 Gb/s until the shorter one has ended.
    const Traffic shorter{.pattern = Pattern::kPairs, .bytes = 1'000'000, .pairs = {{0, 1}}};
    const Traffic longer{.pattern = Pattern::kPairs, .bytes = 3'000'000, .pairs = {{0, 1}}};
    const Totals totals = total_of(play(star, {shorter, longer}));
    EXPECT_NEAR(totals.gbps, 397, 2);
    EXPECT_NEAR(totals.finished_us, 4'000'000 * 8 / 397e3, 0.5);
}

TEST(Results, WhatARunHasNotShownIsUnknown) {
    const Results results =
        play(tree(), {{.pattern = Pattern::kShift, .bytes = 10'000'000}}, {}, 50'000'000);
    const Totals totals = total_of(results);
    for (const double figure : {totals.finished_us, totals.completion_us.percentile(50),
                                totals.message_gbps.mean(), totals.message_gbps.min()}) {
        EXPECT_TRUE(std::isnan(figure));
    }
    EXPECT_EQ(show_rate(totals.message_gbps.min()), "-");
    EXPECT_EQ(show_us(totals.finished_us), "-");
}

TEST(Results, PercentilesAndHistogramAreThoseOfTheValues) {
    const Distribution of({1, 2, 4, 8, 16});
    EXPECT_EQ(of.percentile(50), 4);
    EXPECT_EQ(of.percentile(100), 16);
    EXPECT_EQ(of.percentile(0), 1);
    EXPECT_EQ(of.mean(), 31.0 / 5);
    std::uint64_t sum = 0;
    for (const Distribution::Bin& bin : of.histogram(4)) {
        sum += bin.count;
    }
    EXPECT_EQ(sum, 5U);
    EXPECT_EQ(Distribution({3, 3}).histogram(4).size(), 1U);
    EXPECT_TRUE(Distribution().histogram(4).empty());
}

}  // namespace
}  // namespace softib::plan
