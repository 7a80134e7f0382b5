// SPDX-License-Identifier: BSD-2-Clause
#include "net/flow/flow_simulation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/prng.h"
#include "core/topo/spec.h"
#include "net/sim/test_simulation.h"

namespace softib::net::flow {
namespace {

using Outcome = TestSimulation::Outcome;

/// Records what it is told of messages whose tags are numbers from 0 on, and in which order.
class Told : public MessageListener {
  public:
    void handle_message(std::uint64_t tag, MessageEvent event, TimePs at) override {
        outcomes.resize(std::max<std::size_t>(outcomes.size(), tag + 1));
        (event == MessageEvent::kDelivered      ? outcomes[tag].delivered_at
         : event == MessageEvent::kAcknowledged ? outcomes[tag].acknowledged_at
                                                : outcomes[tag].failed_at) = at;
        EXPECT_GE(at, last);
        last = at;
        if (on_event) {
            on_event(tag, event, at);
        }
    }
    std::vector<Outcome> outcomes;
    TimePs last = 0;
    std::function<void(std::uint64_t, MessageEvent, TimePs)> on_event;
};

std::unique_ptr<FlowSimulation> make(const topo::Spec& spec,
                                     const SimulationOptions& options = {}) {
    auto fabric = topo::generate(spec);
    EXPECT_TRUE(fabric);
    auto made = FlowSimulation::make(*std::move(fabric), options);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return *std::move(made);
}

std::vector<Outcome> run(Model& model, const std::vector<net::Message>& messages) {
    Told told;
    model.set_listener(&told);
    for (std::size_t i = 0; i < messages.size(); ++i) {
        net::Message message = messages[i];
        message.tag = i;
        model.send(message, 0);
    }
    while (!model.run_some(kNever, 1000)) {
    }
    EXPECT_EQ(model.unfinished(), 0U);
    model.set_listener(nullptr);
    return told.outcomes;
}

TimePs last_of(const std::vector<Outcome>& outcomes) {
    TimePs last = 0;
    for (const Outcome& each : outcomes) {
        last = std::max(last, each.delivered_at);
    }
    return last;
}

/// Returns how far the flow model's last delivery is from that of the packet model, as a part of
/// the latter.
double error_of_last(const topo::Spec& spec, const SimulationOptions& options,
                     const std::vector<net::Message>& messages) {
    auto fabric = topo::generate(spec);
    auto packets = Simulation::make(*fabric, options);
    EXPECT_TRUE(packets);
    auto flows = make(spec, options);
    const auto real = static_cast<double>(last_of(run(*packets, messages)));
    return static_cast<double>(last_of(run(*flows, messages))) / real - 1;
}

TEST(FlowSimulation, OneMessageIsAsLateAsItsPackets) {
    EXPECT_NEAR(error_of_last(single_switch(2), {}, {{.from = 0, .to = 1, .bytes = 1'048'576}}), 0,
                0.001);
}

TEST(FlowSimulation, TwoToOneHalvesAsPacketsDo) {
    EXPECT_NEAR(error_of_last(single_switch(3), {},
                              {{.from = 0, .to = 2, .bytes = 1'048'576},
                               {.from = 1, .to = 2, .bytes = 1'048'576}}),
                0, 0.001);
}

TEST(FlowSimulation, APermutationEndsWhenItsPacketsDo) {
    std::vector<net::Message> messages;
    Prng prng(5);
    std::vector<std::uint32_t> to(32);
    for (std::uint32_t i = 0; i < 32; ++i) {
        to[i] = i;
    }
    for (std::uint32_t i = 31; i != 0; --i) {
        std::swap(to[i], to[prng.below(i)]);  // No host sends to itself.
    }
    for (std::uint32_t i = 0; i < 32; ++i) {
        messages.push_back({.from = i, .to = to[i], .bytes = 1'048'576});
    }
    SimulationOptions options{.engine = "ftree"};
    options.plant.buffer_bytes = 98'304;
    EXPECT_NEAR(error_of_last(fat_tree(32, 8, 2), options, messages), 0, 0.01);
}

TEST(FlowSimulation, AnAcknowledgementFollowsADeliveryByTheWayBack) {
    SimulationOptions options;
    options.plant = {.data_vls = 1, .cable_ps = 100'000, .switch_ps = 300'000, .hca_ps = 50'000};
    const auto outcomes = run(*make(single_switch(2), options), {{.from = 0, .to = 1, .bytes = 1}});
    EXPECT_EQ(outcomes[0].acknowledged_at - outcomes[0].delivered_at, 2U * 100'000 + 350'000);
}

TEST(FlowSimulation, WhatAnAcknowledgementStartsBeginsThen) {
    const auto model = make(single_switch(2));
    Told told;
    model->set_listener(&told);
    told.on_event = [&](std::uint64_t tag, MessageEvent event, TimePs at) {
        if (event == MessageEvent::kAcknowledged && tag < 4) {
            model->send({.from = 0, .to = 1, .bytes = 10'000, .tag = tag + 1}, at);
        }
    };
    model->send({.from = 0, .to = 1, .bytes = 10'000, .tag = 0}, 0);
    EXPECT_TRUE(model->run_some(kNever, 1000));
    ASSERT_EQ(told.outcomes.size(), 5U);
    const TimePs each = told.outcomes[0].acknowledged_at;
    for (std::size_t i = 1; i < 5; ++i) {
        EXPECT_NEAR(static_cast<double>(told.outcomes[i].acknowledged_at),
                    static_cast<double>((i + 1) * each), 10.0);
    }
}

TEST(FlowSimulation, NothingIsToldThatArrivesAfterTheEnd) {
    const auto model = make(single_switch(2));
    Told told;
    model->set_listener(&told);
    model->send({.from = 0, .to = 1, .bytes = 1'000'000, .tag = 0}, 0);
    EXPECT_TRUE(model->run_some(1'000'000, 1000));
    EXPECT_EQ(model->now(), 1'000'000U);
    EXPECT_TRUE(told.outcomes.empty());
    EXPECT_EQ(model->unfinished(), 1U);
    EXPECT_TRUE(model->run_some(kNever, 1000));
    EXPECT_NE(told.outcomes.at(0).delivered_at, kNever);
}

TEST(FlowSimulation, AMessageWithoutAWayFails) {
    SimulationOptions options;
    options.failures = {{.what = {1, 1}, .at = 0}};
    const auto outcomes =
        run(*make(single_switch(3), options),
            {{.from = 0, .to = 1, .bytes = 4096}, {.from = 0, .to = 2, .bytes = 1}});
    EXPECT_NE(outcomes[0].failed_at, kNever);
    EXPECT_NE(outcomes[1].delivered_at, kNever);
}

TEST(FlowSimulation, AMessageToItselfTakesNoTime) {
    const auto outcomes = run(*make(single_switch(2)), {{.from = 1, .to = 1, .bytes = 1'000'000}});
    EXPECT_EQ(outcomes[0].acknowledged_at, 0U);
}

TEST(FlowSimulation, ASlowBusHoldsBackBothEnds) {
    SimulationOptions half;
    half.hosts.pcie_block_ps = 2 * link::ps_per_block(topo::Generation::kNdr, topo::Width::k4x);
    SimulationOptions slow_out;
    slow_out.hosts.inject_block_ps = half.hosts.pcie_block_ps;
    const std::vector<net::Message> one{{.from = 0, .to = 1, .bytes = 1'000'000}};
    const auto whole = static_cast<double>(last_of(run(*make(single_switch(3)), one)));
    for (const SimulationOptions& options : {half, slow_out}) {
        EXPECT_NEAR(static_cast<double>(last_of(run(*make(single_switch(3), options), one))),
                    2 * whole, 0.02 * whole);
    }
    const std::vector<net::Message> two{{.from = 0, .to = 2, .bytes = 1'000'000},
                                        {.from = 1, .to = 2, .bytes = 1'000'000}};
    EXPECT_NEAR(static_cast<double>(last_of(run(*make(single_switch(3), slow_out), two))),
                2 * whole, 0.02 * whole);
    EXPECT_NEAR(static_cast<double>(last_of(run(*make(single_switch(3), half), two))), 4 * whole,
                0.04 * whole);
}

TEST(FlowSimulation, LinksHaveTheBytesOfPacketsAndTheRootIsFull) {
    const std::vector<net::Message> two{{.from = 0, .to = 2, .bytes = 409'600},
                                        {.from = 1, .to = 2, .bytes = 409'600}};
    const auto flows = make(single_switch(3));
    run(*flows, two);
    auto packets = Simulation::make(*topo::generate(single_switch(3)), {});
    run(*packets, two);
    const auto ours = flows->links();
    const auto theirs = packets->links();
    ASSERT_EQ(ours.size(), theirs.size());
    const std::vector<net::Hop> path = flows->path(0, 2);
    ASSERT_EQ(path, packets->path(0, 2));
    for (std::size_t i = 0; i < ours.size(); ++i) {
        EXPECT_EQ(ours[i].at, theirs[i].at);
        EXPECT_EQ(ours[i].peer, theirs[i].peer);
        EXPECT_EQ(ours[i].gbps, theirs[i].gbps);
        if (ours[i].at == path[1]) {
            // Ports count words of 4 bytes.
            EXPECT_NEAR(static_cast<double>(ours[i].bytes), static_cast<double>(theirs[i].bytes),
                        4.0 * static_cast<double>(theirs[i].packets));
            EXPECT_GT(ours[i].full_ps, flows->now() * 9 / 10);
        }
    }
}

TEST(FlowSimulation, AdaptiveRoutingIsMultipath) {
    SimulationOptions options{.engine = "ftree"};
    std::vector<net::Message> messages;
    for (std::uint32_t i = 0; i < 4; ++i) {
        // All senders are on one leaf, and the routes to their receivers collide.
        messages.push_back({.from = i, .to = 4 + 4 * i, .bytes = 1'000'000});
    }
    const TimePs fixed = last_of(run(*make(fat_tree(32, 8, 2), options), messages));
    options.hosts.adaptive = true;
    const TimePs adaptive = last_of(run(*make(fat_tree(32, 8, 2), options), messages));
    EXPECT_LT(adaptive, fixed * 6 / 10);
}

// Several subnets.

topo::Spec joined_trees(std::uint32_t hosts, std::uint32_t subnets, std::uint32_t routers) {
    topo::Spec spec = fat_tree(hosts, 8, 2);
    spec.subnets = subnets;
    spec.routers = routers;
    return spec;
}

TEST(FlowSimulation, OneMessageOverARouterIsAsLateAsItsPackets) {
    for (const std::uint64_t bytes : {std::uint64_t{4096}, std::uint64_t{1'048'576}}) {
        EXPECT_NEAR(
            error_of_last(joined_trees(20, 2, 1), {}, {{.from = 0, .to = 19, .bytes = bytes}}), 0,
            0.002)
            << bytes;
    }
}

TEST(FlowSimulation, FlowsShareTheCablesOfARouterAsPacketsDo) {
    std::vector<net::Message> messages;
    for (std::uint32_t i = 0; i < 6; ++i) {
        messages.push_back({.from = i, .to = 10 + i, .bytes = 409'600});
    }
    EXPECT_NEAR(error_of_last(joined_trees(20, 2, 1), {}, messages), 0, 0.01);
    const TimePs one = last_of(run(*make(joined_trees(20, 2, 1)), {messages.front()}));
    const TimePs all = last_of(run(*make(joined_trees(20, 2, 1)), messages));
    EXPECT_GT(all, 5 * one) << "one router joins the subnets by one cable";
}

TEST(FlowSimulation, AWayOverRoutersIsThatOfPackets) {
    const topo::Spec spec = joined_trees(60, 3, 4);
    const auto flows = make(spec);
    const auto packets = Simulation::make(*topo::generate(spec), {});
    ASSERT_TRUE(packets);
    for (std::uint32_t from = 0; from < 60; from += 7) {
        for (std::uint32_t to = 0; to < 60; ++to) {
            EXPECT_EQ(flows->path(from, to), packets->path(from, to)) << from << " to " << to;
            EXPECT_TRUE(from == to || !flows->path(from, to).empty());
        }
    }
}

TEST(FlowSimulation, LinksOfSeveralSubnetsHaveTheBytesOfPackets) {
    const topo::Spec spec = joined_trees(60, 3, 4);
    SimulationOptions options;
    options.hosts.ack_bytes = 0;
    std::vector<net::Message> messages;
    for (std::uint32_t from = 0; from < 60; ++from) {
        messages.push_back({.from = from, .to = (from + 23) % 60, .bytes = 100'000});
    }
    const auto flows = make(spec, options);
    run(*flows, messages);
    auto packets = Simulation::make(*topo::generate(spec), options);
    run(*packets, messages);
    const auto ours = flows->links();
    const auto theirs = packets->links();
    ASSERT_EQ(ours.size(), theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
        ASSERT_EQ(ours[i].at, theirs[i].at);
        EXPECT_NEAR(static_cast<double>(ours[i].bytes), static_cast<double>(theirs[i].bytes),
                    4.0 * static_cast<double>(theirs[i].packets) + 1)
            << ours[i].at.node << ":" << int{ours[i].at.port};
    }
}

TEST(FlowSimulation, AdaptiveWaysOverRoutersMeetAtTheRoutersAlone) {
    SimulationOptions options{.engine = "ftree"};
    options.hosts.adaptive = true;
    const auto flows = make(joined_trees(40, 2, 4), options);
    const auto outcomes = run(*flows, {{.from = 0, .to = 39, .bytes = 1'000'000}});
    EXPECT_NE(outcomes[0].delivered_at, kNever);
    std::uint32_t whole = 0;
    std::uint32_t split = 0;
    std::uint64_t most = 0;
    for (const net::LinkLoad& load : flows->links()) {
        most = std::max(most, load.bytes);
    }
    for (const net::LinkLoad& load : flows->links()) {
        whole += load.bytes == most ? 1 : 0;
        split += load.bytes != 0 && load.bytes <= most / 4 + 1 ? 1 : 0;
    }
    // The sender's cable, the two of the router, and the receiver's.
    EXPECT_EQ(whole, 4U);
    EXPECT_GE(split, 8U);
}

TEST(FlowSimulation, ALimitOfAdaptersDoesNotHoldForRouters) {
    std::vector<net::Message> messages;
    for (std::uint32_t i = 0; i < 4; ++i) {
        messages.push_back({.from = i, .to = 10 + i, .bytes = 409'600});
    }
    SimulationOptions slow;
    slow.hosts.inject_block_ps = 4 * link::ps_per_block(topo::Generation::kNdr, topo::Width::k4x);
    const auto whole = static_cast<double>(last_of(run(*make(joined_trees(20, 2, 1)), messages)));
    EXPECT_NEAR(static_cast<double>(last_of(run(*make(joined_trees(20, 2, 1), slow), messages))),
                whole, 0.02 * whole);
}

TEST(FlowSimulation, WhatNeedsPacketsIsRefused) {
    SimulationOptions congestion;
    congestion.congestion.emplace();
    SimulationOptions window;
    window.hosts.window_packets = 8;
    SimulationOptions contexts;
    contexts.hosts.context_entries = 8;
    SimulationOptions failure;
    failure.failures = {{.what = {1, 1}, .at = 1000}};
    for (const SimulationOptions& options : {congestion, window, contexts, failure}) {
        const auto made = FlowSimulation::make(*topo::generate(single_switch(3)), options);
        ASSERT_FALSE(made);
        EXPECT_TRUE(made.error().message.starts_with("the flow model has no "));
        EXPECT_TRUE(made.error().message.ends_with("or take the model packet"));
    }
}

}  // namespace
}  // namespace softib::net::flow
