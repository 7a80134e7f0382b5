// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/routers.h"

#include <gtest/gtest.h>

#include <set>

#include "core/router/address.h"
#include "core/topo/spec.h"
#include "core/topo/subnets.h"
#include "net/sim/fabric.h"
#include "net/sim/simulation.h"
#include "net/sim/test_simulation.h"

namespace softib::net {
namespace {

topo::Spec joined_trees(std::uint32_t hosts, std::uint32_t subnets, std::uint32_t routers) {
    return {.shape = topo::Shape::kFatTree,
            .hosts = hosts,
            .radix = 8,
            .levels = 2,
            .subnets = subnets,
            .routers = routers};
}

/// Ends that send single packets to any GID, and keep what comes.
struct PlainEnds : GidReader {
    static constexpr unsigned kHears = hears::kNothingElse;
    void deliver(Engine&, std::uint32_t port, const Packet& packet) {
        came.push_back({port, packet});
    }
    void sent(Engine&, std::uint32_t, const Packet&) {}
    void timer(Engine&, std::uint32_t, std::uint32_t) {}
    Gid dgid_of(const Packet&) const override { return dgid; }

    Gid dgid{};
    struct Came {
        std::uint32_t port;
        Packet packet;
    };
    std::vector<Came> came;
};
static_assert(Ends<PlainEnds>);

/// Two subnets and a router.
struct TwoSubnets {
    TwoSubnets()
        : fabric(*Routed::make(*topo::generate(joined_trees(20, 2, 1)), "ftree", 2),
                 {.data_vls = 2, .lid_max = 100}, 0),
          routers(fabric.topology(), fabric.lids(), fabric.engine().plant(), 2) {
        fabric.engine().use_routers(&routers, &fabric.ends());
    }
    void send(Gid dgid, std::uint8_t hop_lmt) {
        fabric.ends().dgid = dgid;
        fabric.engine().inject(fabric.port(0),
                               {.dlid = routers.gateway(fabric.port(0), far()).value,
                                .slid = fabric.lid(0).value,
                                .bytes = 128,
                                .tag = 1,
                                .in_port_or_hop_lmt = hop_lmt});
        fabric.net().run();
    }
    std::uint32_t far() const { return fabric.port(19); }
    Odd at_router() const { return fabric.engine().plant().odd_counts(routers.ports().front()); }

    Fabric<PlainEnds> fabric;
    Routers routers;
};

TEST(Routers, PacketsCrossWithANewLrhAndOneHopLess) {
    TwoSubnets two;
    two.send(two.routers.gid(two.far()), 64);
    ASSERT_EQ(two.fabric.ends().came.size(), 1U);
    const auto& [port, packet] = two.fabric.ends().came.front();
    EXPECT_EQ(port, two.far());
    EXPECT_EQ(packet.in_port_or_hop_lmt, 63);
    EXPECT_EQ(packet.dlid, two.fabric.lid(19).value);
    EXPECT_NE(packet.slid, two.fabric.lid(0).value) << "it is the router's in this subnet";
    EXPECT_EQ(packet.sl, 1) << "another lane than on the way to the router";
    EXPECT_EQ(two.fabric.engine().stats().routed, 1U);
}

TEST(Routers, AnUnknownPrefixIsDroppedAndCounted) {
    TwoSubnets two;
    two.send(router::alias_gid(SubnetId{7}, Lid{1}), 64);
    EXPECT_TRUE(two.fabric.ends().came.empty());
    EXPECT_EQ(two.at_router().unrouted, 1U);
    EXPECT_EQ(two.fabric.engine().stats().discarded, 1U);
    EXPECT_EQ(two.fabric.engine().queues().packets().live(), 0U);
}

TEST(Routers, TheLastHopIsDroppedAndCounted) {
    TwoSubnets two;
    two.send(two.routers.gid(two.far()), 1);
    EXPECT_TRUE(two.fabric.ends().came.empty());
    EXPECT_EQ(two.at_router().hop_limit_discards, 1U);
}

TEST(Routers, WhatHasNoGrhGoesNoFurther) {
    TwoSubnets two;
    two.send(two.routers.gid(two.far()), 0);
    EXPECT_TRUE(two.fabric.ends().came.empty());
    EXPECT_EQ(two.at_router().unrouted, 1U);
}

/// Counts the messages that were delivered.
struct Counter : MessageListener {
    void handle_message(std::uint64_t, MessageEvent event, TimePs at) override {
        delivered += event == MessageEvent::kDelivered ? 1 : 0;
        last = std::max(last, at);
    }
    std::uint32_t delivered = 0;
    TimePs last = 0;
};

struct Ran {
    Counter counter;
    ModelStats stats;
    std::vector<std::string> faults;
};

/// Lets every host send to every other.
Ran all_to_all(const topo::Spec& spec, std::uint64_t bytes, const SimulationOptions& options) {
    auto simulation = Simulation::make(*topo::generate(spec), options);
    EXPECT_TRUE(simulation) << simulation.error().message;
    Ran ran;
    simulation->set_listener(&ran.counter);
    for (std::uint32_t from = 0; from < simulation->end_count(); ++from) {
        for (std::uint32_t to = 0; to < simulation->end_count(); ++to) {
            simulation->send({.from = from, .to = to, .bytes = bytes}, 0);
        }
    }
    while (!simulation->run_some(kNever, 1'000'000)) {
    }
    ran.stats = simulation->stats();
    ran.faults = simulation->check();
    return ran;
}

TEST(Routers, AllSubnetsReachEachOther) {
    for (const std::uint32_t subnets : {2U, 3U}) {
        const Ran ran = all_to_all(joined_trees(30, subnets, 2), 10'000, {});
        EXPECT_EQ(ran.counter.delivered, 30U * 30);
        EXPECT_EQ(ran.stats.discarded, 0U);
        // For each message between subnets, three packets and an acknowledgement.
        const std::uint64_t across = 30 * (30 - 30 / subnets);
        EXPECT_EQ(ran.stats.routed, across * 4);
        EXPECT_TRUE(ran.faults.empty()) << ran.faults.front();
    }
}

TEST(Routers, ShortBuffersDoNotLockUpWhereRoutesOfTwoSubnetsMeet) {
    SimulationOptions options;
    options.plant.buffer_bytes = 4 * 4352;
    const Ran ran = all_to_all(joined_trees(60, 3, 2), 200'000, options);
    EXPECT_EQ(ran.counter.delivered, 60U * 60);
    EXPECT_TRUE(ran.faults.empty()) << ran.faults.front();
}

TEST(Routers, APathGoesOverTheRoutersPorts) {
    const auto simulation = Simulation::make(*topo::generate(joined_trees(20, 2, 1)), {});
    ASSERT_TRUE(simulation);
    const std::vector<Hop> path = simulation->path(0, 19);
    ASSERT_FALSE(path.empty());
    const auto leg = std::ranges::find_if(path, [&](const Hop& hop) {
        return simulation->fabric().nodes[hop.node].kind == topo::NodeKind::kRouter;
    });
    ASSERT_NE(leg, path.end());
    EXPECT_EQ(simulation->fabric().nodes[leg->node].subnet, SubnetId{1});
}

// Losses.

/// Returns failures of all ports of a router at time `at`.
std::vector<Failure> lose_router(const topo::Fabric& fabric, std::size_t router, TimePs at) {
    std::vector<Failure> failures;
    const auto routers = topo::find_routers(fabric);
    for (const topo::NodeIndex leg : routers[router]) {
        failures.push_back({{leg.value, 0}, at});
    }
    return failures;
}

/// Returns the nodes of routers that packets enter, over all pairs of ends.
std::set<std::uint32_t> entered_routers(const Simulation& simulation) {
    std::set<std::uint32_t> entered;
    for (std::uint32_t from = 0; from < simulation.end_count(); ++from) {
        for (std::uint32_t to = 0; to < simulation.end_count(); ++to) {
            for (const Hop& hop : simulation.path(from, to)) {
                const auto peer = simulation.fabric().nodes[hop.node].ports[hop.port].peer;
                if (simulation.fabric().node(peer).kind == topo::NodeKind::kRouter) {
                    entered.insert(peer.value);
                }
            }
        }
    }
    return entered;
}

TEST(Routers, PairsOfALostRouterGetAnotherAndTheRestKeepTheirs) {
    const topo::Fabric fabric = *topo::generate(joined_trees(30, 2, 3));
    const auto whole = Simulation::make(fabric, {});
    const auto lost = Simulation::make(fabric, {.failures = lose_router(fabric, 1, 0)});
    ASSERT_TRUE(whole && lost);
    const std::uint32_t gone = topo::find_routers(fabric)[1][0].value;
    EXPECT_TRUE(entered_routers(*whole).contains(gone));
    EXPECT_FALSE(entered_routers(*lost).contains(gone));
    std::uint32_t moved = 0;
    std::uint32_t kept = 0;
    for (std::uint32_t from = 0; from < 15; ++from) {
        for (std::uint32_t to = 15; to < 30; ++to) {
            ASSERT_FALSE(lost->path(from, to).empty());
            const auto uses = [&](const Simulation& of, std::size_t router) {
                const std::uint32_t leg = topo::find_routers(fabric)[router][1].value;
                return std::ranges::any_of(of.path(from, to),
                                           [&](const Hop& hop) { return hop.node == leg; });
            };
            if (uses(*whole, 1)) {
                ++moved;
            } else {
                kept += uses(*lost, 0) == uses(*whole, 0) ? 1U : 0U;
            }
        }
    }
    EXPECT_GT(moved, 0U);
    EXPECT_EQ(moved + kept, 15U * 15);
}

TEST(Routers, WithoutAnyRouterSubnetsDoNotReachEachOther) {
    const topo::Fabric fabric = *topo::generate(joined_trees(20, 2, 1));
    TestSimulation two(joined_trees(20, 2, 1), {.failures = lose_router(fabric, 0, 0)});
    two.send({.from = 0, .to = 19, .bytes = 4096});
    two.send({.from = 0, .to = 3, .bytes = 4096});
    two.run();
    EXPECT_NE(two.outcome(0).failed_at, kNever);
    EXPECT_NE(two.outcome(1).delivered_at, kNever);
    two.expect_sound();
}

TEST(Routers, ARouterThatFailsDuringARunIsLedAround) {
    const topo::Fabric fabric = *topo::generate(joined_trees(20, 2, 2));
    SimulationOptions options{.failures = lose_router(fabric, 0, 2'000'000)};
    options.repair_ps = 50'000'000;
    TestSimulation two(joined_trees(20, 2, 2), options);
    for (std::uint32_t from = 0; from < 20; ++from) {
        two.send({.from = from, .to = (from + 10) % 20, .bytes = 400'000});
    }
    two.run();
    for (const TestSimulation::Outcome& each : two.outcomes()) {
        EXPECT_NE(each.acknowledged_at, kNever);
    }
    EXPECT_GT(two.simulation().stats().lost + two.simulation().stats().discarded, 0U);
    EXPECT_TRUE(two.simulation().notes().empty()) << two.simulation().notes().front();
}

TEST(Routers, OnlyTheSubnetThatLostItsShapeGetsAnotherEngine) {
    topo::Fabric fabric = *topo::generate(joined_trees(40, 2, 2));
    const auto find = [&](const char* name) { return fabric.find_node(name)->value; };
    // A cable from spine to leaf becomes one from leaf to leaf.
    const std::uint32_t a = find("s1-leaf0");
    const std::uint32_t b = find("s1-leaf1");
    const auto free_port = [&](std::uint32_t node) {
        const auto& ports = fabric.nodes[node].ports;
        std::uint8_t port = 1;
        while (ports[port].peer == topo::kNoNode ||
               fabric.node(ports[port].peer).kind != topo::NodeKind::kSwitch) {
            ++port;
        }
        return port;
    };
    const std::uint8_t pa = free_port(a);
    const std::uint8_t pb = free_port(b);
    const topo::PortLink cable = fabric.nodes[a].ports[pa];
    take_out(fabric, {a, pa});
    take_out(fabric, {b, pb});
    fabric.nodes[a].ports[pa] = cable;
    fabric.nodes[a].ports[pa].peer = topo::NodeIndex{b};
    fabric.nodes[a].ports[pa].peer_port = PortNum{pb};
    fabric.nodes[b].ports[pb] = cable;
    fabric.nodes[b].ports[pb].peer = topo::NodeIndex{a};
    fabric.nodes[b].ports[pb].peer_port = PortNum{pa};
    ASSERT_FALSE(Routed::make(fabric, "ftree", 8)) << "ftree should refuse leaves that are joined";
    std::vector<std::string> engines{"ftree", "ftree"};
    std::vector<std::string> notes;
    const auto routed = Routed::repair(fabric, engines, 8, false, notes);
    ASSERT_TRUE(routed) << routed.error().message;
    EXPECT_EQ(routed->tables.engine, "ftree");
    EXPECT_NE(routed->further[0].tables.engine, "ftree");
    EXPECT_EQ(engines, (std::vector<std::string>{"ftree", routed->further[0].tables.engine}));
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_TRUE(notes[0].starts_with("ftree refuses the damaged subnet 1; its routes are by "));
    EXPECT_EQ(routed->engine_names(), "ftree, " + engines[1]);
}

TEST(Routers, RoutesThatNeedServiceLevelsAreRefusedWithARemedy) {
    const topo::Spec spec{
        .shape = topo::Shape::kDragonfly, .hosts = 40, .subnets = 2, .routers = 1};
    const auto simulation = Simulation::make(*topo::generate(spec), {.engine = "dragonfly"});
    ASSERT_FALSE(simulation);
    EXPECT_NE(simulation.error().message.find("updn"), std::string::npos);
}

}  // namespace
}  // namespace softib::net
