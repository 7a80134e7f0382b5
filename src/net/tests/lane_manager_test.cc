// SPDX-License-Identifier: BSD-2-Clause
// Lanes and VL arbitration in simulations, as a manager writes them.
#include "net/manage/lane_manager.h"

#include <utility>

#include "core/topo/spec.h"
#include "net/sim/test_simulation.h"

namespace softib::net {
namespace {

constexpr std::uint64_t kBytes = 4'096'000;
constexpr std::uint32_t kUnitBytes = 64;

/// Lanes 0 and 1 for service levels 0 and 1, with these weights of low priority.
SimulationOptions with_weights(std::uint8_t first, std::uint8_t second) {
    SimulationOptions options;
    options.sl_max = 1;
    options.qos = {.on = true,
                   .vlarb_high = {},
                   .vlarb_low = {{0, first}, {1, second}},
                   .sl2vl = sm::parse_sl2vl("0,1").value()};
    return options;
}

/// Lane 1 has high priority.
SimulationOptions with_high_limit(std::uint8_t limit) {
    SimulationOptions options = with_weights(64, 0);
    options.qos.vlarb_high = {{1, 64}};
    options.qos.high_limit = limit;
    return options;
}

/// Returns how long two messages of one size take that begin together on service levels 0 and 1,
/// from hosts `first` and `second` to host 3.
std::pair<TimePs, TimePs> race(const SimulationOptions& options, std::uint32_t first,
                               std::uint32_t second) {
    TestSimulation simulation(single_switch(4), options);
    simulation.send({.from = first, .to = 3, .bytes = kBytes, .sl = 0});
    simulation.send({.from = second, .to = 3, .bytes = kBytes, .sl = 1});
    simulation.run();
    simulation.expect_sound();
    return {simulation.outcome(0).delivered_at, simulation.outcome(1).delivered_at};
}

/// Expects that lane 1 had `share` of the cable while both lanes had something to send: with half
/// of it both messages end together, with more of it that on lane 1 ends at once, and the other
/// when all is sent.
void expect_share(std::pair<TimePs, TimePs> took, double share) {
    const auto all = static_cast<double>(std::max(took.first, took.second));
    const auto first = static_cast<double>(std::min(took.first, took.second));
    EXPECT_NEAR(first / all, 0.5 / std::max(share, 1 - share), 0.01) << "share " << share;
    if (share != 0.5) {
        EXPECT_EQ(took.second < took.first, share > 0.5) << "share " << share;
    }
}

/// Returns the bytes of a lane's turn: whole packets, the last of which may exceed the weight.
double turn_of(std::uint32_t weight, const MessageConfig& hosts) {
    const std::uint32_t packet = hosts.mtu + std::uint32_t{hosts.header_bytes};
    const std::uint32_t units = (packet + kUnitBytes - 1) / kUnitBytes;
    return (weight + units - 1) / units * packet;
}

TEST(LaneManager, FlowsOfOneHostShareItsCableByTheirWeights) {
    for (const auto& [first, second] : {std::pair{64, 64},
                                        {64, 192},
                                        {192, 64},
                                        {65, 130},
                                        {130, 195},
                                        {1, 255},
                                        {1, 3},
                                        {20, 60}}) {
        const auto options =
            with_weights(static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(second));
        const double of_first = turn_of(static_cast<std::uint32_t>(first), options.hosts);
        const double of_second = turn_of(static_cast<std::uint32_t>(second), options.hosts);
        expect_share(race(options, 0, 0), of_second / (of_first + of_second));
    }
}

TEST(LaneManager, SwitchesArbitrateByTheSameWeights) {
    expect_share(race(with_weights(64, 192), 0, 1), 0.75);
    SimulationOptions small = with_weights(20, 60);
    small.hosts.mtu = 256;
    expect_share(race(small, 0, 1), 0.75);
    SimulationOptions far = with_weights(64, 192);
    far.plant.cable_ps = 150'000;  // Long enough for windows of events.
    expect_share(race(far, 0, 1), 0.75);
}

TEST(LaneManager, HighPrioritySendsItsLimitForEachLowPacket) {
    expect_share(race(with_high_limit(0), 0, 1), 0.5);  // One packet.
    for (const unsigned limit : {1U, 2U, 3U, 10U}) {
        expect_share(race(with_high_limit(static_cast<std::uint8_t>(limit)), 0, 1),
                     limit / (limit + 1.0));
    }
    expect_share(race(with_high_limit(link::kUnlimited), 0, 1), 1.0);
}

TEST(LaneManager, ALaneWithoutWeightStarvesAndTheReportNamesIt) {
    TestSimulation simulation(single_switch(4), with_weights(64, 0));
    simulation.send({.from = 0, .to = 3, .bytes = kBytes, .sl = 0});
    simulation.send({.from = 1, .to = 3, .bytes = kBytes, .sl = 1});
    simulation.run();
    EXPECT_NE(simulation.outcome(0).delivered_at, kNever);
    EXPECT_EQ(simulation.outcome(1).delivered_at, kNever);
    const std::vector<std::string> found = simulation.simulation().check();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_TRUE(found[0].starts_with("h1/mlx5_0 port 1 VL 1 has packets that never leave"))
        << found[0];
}

TEST(LaneManager, ServiceLevelsOnOneLaneShareItEqually) {
    SimulationOptions options = with_weights(64, 192);
    options.qos.sl2vl = sm::parse_sl2vl("1,1").value();
    expect_share(race(options, 0, 1), 0.5);
}

TEST(LaneManager, AServiceLevelOnVl15IsDropped) {
    SimulationOptions options = with_weights(64, 64);
    options.qos.sl2vl = sm::parse_sl2vl("0,15").value();
    options.hosts.retries = 1;
    TestSimulation simulation(single_switch(4), options);
    simulation.send({.from = 0, .to = 3, .bytes = kBytes, .sl = 1});
    simulation.run();
    EXPECT_NE(simulation.outcome(0).failed_at, kNever);
}

TEST(LaneManager, LanesAreThoseThatMaxOpVlsAllows) {
    SimulationOptions options = with_weights(64, 192);
    EXPECT_EQ(TestSimulation(single_switch(4), options).simulation().data_vls(), 8);
    options.qos.max_op_vls = 1;  // One lane: both service levels share it.
    EXPECT_EQ(TestSimulation(single_switch(4), options).simulation().data_vls(), 1);
    expect_share(race(options, 0, 1), 0.5);
    options.qos.on = false;
    EXPECT_EQ(TestSimulation(single_switch(4), options).simulation().data_vls(), 1);
}

std::string refusal(const topo::Spec& spec, const SimulationOptions& options) {
    const auto made = Simulation::make(*topo::generate(spec), options);
    return made ? std::string() : made.error().message;
}

TEST(LaneManager, WhatTheRoutesDecideCannotBeAskedFor) {
    const topo::Spec torus{.shape = topo::Shape::kTorus, .hosts = 25, .dimensions = {5, 5}};
    SimulationOptions options = with_weights(64, 192);
    options.sl_max = 0;
    options.engine = "dor";
    EXPECT_NE(refusal(torus, options).find("leave out sl2vl"), std::string::npos);
    options.qos.sl2vl.reset();
    EXPECT_EQ(refusal(torus, options), "");
    options.sl_max = 1;
    EXPECT_NE(refusal(torus, options).find("leave out sl,"), std::string::npos);
}

TEST(LaneManager, LanesAreThoseOfPortInfosCodes) {
    SimulationOptions options = with_weights(64, 192);
    options.plant.data_vls = 3;
    EXPECT_NE(refusal(single_switch(4), options).find("1, 2, 4, 8 or 15"), std::string::npos);
    options.plant.data_vls = 4;
    EXPECT_EQ(refusal(single_switch(4), options), "");
    options.qos.max_op_vls = 2;
    EXPECT_NE(refusal(single_switch(4), options).find("max_op_vls 2 leaves 2"), std::string::npos);
}

}  // namespace
}  // namespace softib::net
