// SPDX-License-Identifier: BSD-2-Clause
// Tests of partitioned simulations with listeners that send a message when one is delivered, which
// no traffic of `softib sim` does: rings of messages that cross parts all the time.
#include "net/sim/part_simulation.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "core/base/prng.h"
#include "core/base/test_effort.h"
#include "core/topo/spec.h"
#include "net/sim/failures.h"
#include "net/sim/test_simulation.h"
#include "parallel/threads.h"

namespace softib::parallel {
namespace {

using net::Message;
using net::MessageEvent;
using net::TimePs;

constexpr std::uint32_t kHosts = 32;
constexpr std::uint32_t kRounds = effort(20, 5);

/// When each message was delivered and acknowledged.
using Times = std::map<std::uint64_t, std::pair<TimePs, TimePs>>;

/// Traffic in which every host that gets a message sends one to a host some places further. Sizes
/// depend on the sender. A tag is the round and the sender.
class Ring : public net::MessageListener {
  public:
    explicit Ring(net::Model& model) : model_(model) {
        model.set_listener(this);
        for (std::uint32_t host = 0; host < kHosts; ++host) {
            if (model.has_end(host)) {
                send(0, host, 0);
            }
        }
    }
    void handle_message(std::uint64_t tag, MessageEvent event, TimePs at) override {
        if (event != MessageEvent::kDelivered) {
            times_[tag].second = at;
            failed_ += event == MessageEvent::kFailed ? 1 : 0;
            return;
        }
        times_[tag].first = at;
        const auto round = static_cast<std::uint32_t>(tag / kHosts);
        if (round + 1 < kRounds) {
            send(round + 1, target(round, static_cast<std::uint32_t>(tag % kHosts)), at);
        }
    }
    const Times& times() const { return times_; }
    std::uint32_t failed() const { return failed_; }

  private:
    static std::uint32_t target(std::uint32_t round, std::uint32_t from) {
        return (from + 1 + 7 * round) % kHosts;
    }
    void send(std::uint32_t round, std::uint32_t from, TimePs at) {
        model_.send({.from = from,
                     .to = target(round, from),
                     .bytes = 1000 + 9000 * (from % 5),
                     .tag = std::uint64_t{round} * kHosts + from,
                     .connection = from % 3},
                    at);
    }

    net::Model& model_;
    Times times_ = {};
    std::uint32_t failed_ = 0;
};

struct Heard {
    Times times = {};
    net::PartTotals totals = {};
    std::uint32_t failed = 0;
    std::string engine = {};
    std::vector<std::string> notes = {};
};

net::SimulationOptions options(bool adaptive) {
    net::SimulationOptions options{.engine = "ftree"};
    options.hosts.adaptive = adaptive;
    options.hosts.ack_every = 2;
    options.hosts.context_entries = 4;
    return options;
}

Heard run_serial(const topo::Fabric& fabric, const net::SimulationOptions& options) {
    auto simulation = net::Simulation::make(fabric, options);
    EXPECT_TRUE(simulation);
    Ring ring(*simulation);
    while (!simulation->run_some(net::kNever, 1000)) {
    }
    return {ring.times(),
            {.links = simulation->links(),
             .stats = simulation->stats(),
             .now = simulation->now(),
             .unfinished = simulation->unfinished()},
            ring.failed(),
            simulation->engine(),
            simulation->notes()};
}

Heard run_parts(const topo::Fabric& fabric, const net::SimulationOptions& options,
                std::uint32_t parts) {
    const auto whole = net::PartedFabric::make(fabric, options, parts);
    EXPECT_TRUE(whole) << (whole ? "" : whole.error().message);
    Meeting meeting(parts);
    std::vector<std::unique_ptr<net::PartSimulation>> models(parts);
    std::vector<Times> times(parts);
    std::vector<std::uint32_t> failed(parts);
    {
        std::vector<std::jthread> threads;
        for (std::uint32_t i = 0; i < parts; ++i) {
            threads.emplace_back([&, i] {
                models[i] = std::make_unique<net::PartSimulation>(*whole, i, meeting.seat(i));
                Ring ring(*models[i]);
                while (!models[i]->run_some(net::kNever, 100 + i)) {
                }
                times[i] = ring.times();
                failed[i] = ring.failed();
                models[i]->set_listener(nullptr);
            });
        }
    }
    std::vector<net::PartTotals> totals;
    Heard outcome;
    for (std::uint32_t i = 0; i < parts; ++i) {
        totals.push_back(models[i]->totals());
        for (const auto& [tag, at] : times[i]) {
            auto& both = outcome.times[tag];
            both = {std::max(both.first, at.first), std::max(both.second, at.second)};
        }
    }
    models[0]->take_totals(std::move(totals));
    EXPECT_EQ(models[0]->check().empty(), models[0]->unfinished() == 0);
    outcome.failed = std::accumulate(failed.begin(), failed.end(), 0U);
    outcome.engine = models[0]->engine();
    outcome.notes = models[0]->notes();
    outcome.totals = {.links = models[0]->links(),
                      .stats = models[0]->stats(),
                      .now = models[0]->now(),
                      .unfinished = models[0]->unfinished()};
    return outcome;
}

void expect_same(const Heard& several, const Heard& one) {
    EXPECT_EQ(several.times, one.times);
    EXPECT_EQ(several.failed, one.failed);
    EXPECT_EQ(several.engine, one.engine);
    EXPECT_EQ(several.notes, one.notes);
    const net::ModelStats& stats = several.totals.stats;
    EXPECT_EQ(stats.log_hash, one.totals.stats.log_hash);
    EXPECT_EQ(stats.hops, one.totals.stats.hops);
    EXPECT_EQ(stats.context_misses, one.totals.stats.context_misses);
    EXPECT_EQ(stats.discarded, one.totals.stats.discarded);
    EXPECT_EQ(stats.lost, one.totals.stats.lost);
    EXPECT_EQ(stats.resent, one.totals.stats.resent);
    EXPECT_EQ(stats.timeouts, one.totals.stats.timeouts);
    EXPECT_EQ(several.totals.now, one.totals.now);
    EXPECT_EQ(several.totals.unfinished, one.totals.unfinished);
    ASSERT_EQ(several.totals.links.size(), one.totals.links.size());
    for (std::size_t i = 0; i < one.totals.links.size(); ++i) {
        EXPECT_EQ(several.totals.links[i].at, one.totals.links[i].at);
        EXPECT_EQ(several.totals.links[i].peer, one.totals.links[i].peer);
        EXPECT_EQ(several.totals.links[i].bytes, one.totals.links[i].bytes);
        EXPECT_EQ(several.totals.links[i].wait_ps, one.totals.links[i].wait_ps);
        EXPECT_EQ(several.totals.links[i].full_ps, one.totals.links[i].full_ps);
    }
}

TEST(PartSimulation, ListenersThatSendOnHearWhatOneWouldHear) {
    const auto fabric = topo::generate(net::fat_tree(kHosts, 8, 2));
    ASSERT_TRUE(fabric);
    for (const bool adaptive : {false, true}) {
        const Heard one = run_serial(*fabric, options(adaptive));
        EXPECT_EQ(one.times.size(), kHosts * kRounds);
        EXPECT_EQ(one.failed, 0U);
        EXPECT_GT(one.totals.stats.context_misses, 0U);
        for (const std::uint32_t parts : {1U, 2U, 4U, 9U}) {
            SCOPED_TRACE(parts);
            expect_same(run_parts(*fabric, options(adaptive), parts), one);
        }
    }
}

/// Returns options with which cables and a switch fail at odd times, some at the same moment;
/// `repair_ps` later the fabric has new routes.
net::SimulationOptions failing(const topo::Fabric& fabric, std::uint64_t seed, TimePs repair_ps) {
    Prng prng(seed);
    net::SimulationOptions failing = options(seed % 2 == 0);
    failing.engine = seed % 3 == 0 ? "updn" : "ftree";
    failing.plant.cable_ps = seed % 4 < 2 ? 25'000 : 300'000;
    failing.hosts.window_packets = seed % 5 == 0 ? 4 : 0;
    failing.hosts.timeout_ps = 20'000'000;
    failing.hosts.retries = seed % 7 == 0 ? 1 : 7;
    failing.repair_ps = repair_ps;
    for (const net::Hop& cable : net::draw_cables(fabric, 3, seed)) {
        failing.failures.push_back(
            {.what = cable, .at = prng.below(3) * 5'000'000 + 1 + prng.below(2) * 777'777});
    }
    const std::vector<net::Hop> cables = net::cables_between_switches(fabric);
    const net::Hop& some = cables[prng.below(cables.size())];
    failing.failures.push_back({.what = {fabric.nodes[some.node].ports[some.port].peer.value, 0},
                                .at = 9'000'000 + prng.below(1000)});
    return failing;
}

TEST(PartSimulation, FailuresDuringTheRunDoWhatTheyDoToOne) {
    const auto fabric = topo::generate(net::fat_tree(kHosts, 8, 2));
    ASSERT_TRUE(fabric);
    std::uint64_t resent = 0;
    std::uint64_t lost = 0;
    std::uint32_t failed = 0;
    for (std::uint64_t seed = 1; seed <= 10; seed += effort(1, 2)) {
        SCOPED_TRACE(seed);
        const net::SimulationOptions options =
            failing(*fabric, seed, seed % 6 == 5 ? net::kNever : 30'000'000 + seed);
        const Heard one = run_serial(*fabric, options);
        resent += one.totals.stats.resent;
        lost += one.totals.stats.lost;
        failed += one.failed;
        for (const std::uint32_t parts : seed % 3 == 1 ? std::vector{2U, 4U} : std::vector{2U}) {
            SCOPED_TRACE(parts);
            expect_same(run_parts(*fabric, options, parts), one);
        }
    }
    EXPECT_GT(resent, 0U);
    EXPECT_GT(lost, 0U);
    EXPECT_GT(failed, 0U);
}

TEST(PartSimulation, PartsWithoutACableBetweenThemGiveUpMessagesAsOneDoes) {
    const auto fabric = topo::generate(net::fat_tree(kHosts, 8, 2));
    ASSERT_TRUE(fabric);
    net::SimulationOptions options;
    for (std::uint32_t node = 0; node < fabric->nodes.size(); ++node) {
        if (fabric->nodes[node].name.starts_with("spine")) {
            options.failures.push_back({.what = {.node = node, .port = 0}});
        }
    }
    const Heard one = run_serial(*fabric, options);
    EXPECT_GT(one.failed, 0U);
    for (const std::uint32_t parts : {2U, 4U}) {
        expect_same(run_parts(*fabric, options, parts), one);
    }
}

TEST(PartSimulation, OneThatIsToldToStopStopsAll) {
    const auto fabric = topo::generate(net::fat_tree(kHosts, 8, 2));
    const auto whole = net::PartedFabric::make(*fabric, options(false), 2);
    ASSERT_TRUE(whole);
    Meeting meeting(2);
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < 2; ++i) {
        threads.emplace_back([&, i] {
            net::PartSimulation model(*whole, i, meeting.seat(i));
            Ring ring(model);
            if (i == 1) {
                EXPECT_FALSE(model.run_some(net::kNever, 50));
                model.stop();
            }
            EXPECT_TRUE(model.run_some(net::kNever, UINT32_MAX));
            EXPECT_TRUE(model.stopped());
            EXPECT_FALSE(model.idle());
        });
    }
}

TEST(PartSimulation, WhatCannotBeCutIsRefused) {
    const auto fabric = topo::generate(net::fat_tree(kHosts, 8, 2));
    net::SimulationOptions no_acks;
    no_acks.hosts.ack_bytes = 0;
    net::SimulationOptions no_cable;
    no_cable.failures = {{.what = {0, 1}, .at = 0}};
    for (const net::SimulationOptions& options : {no_acks, no_cable}) {
        const auto whole = net::PartedFabric::make(*fabric, options, 2);
        ASSERT_FALSE(whole);
        EXPECT_TRUE(whole.error().message.starts_with("one simulation cannot run on several"));
    }
}

}  // namespace
}  // namespace softib::parallel
