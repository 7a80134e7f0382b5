// SPDX-License-Identifier: BSD-2-Clause
#include "net/routers.h"

#include <gtest/gtest.h>

#include "core/router/address.h"
#include "core/topo/subnets.h"
#include "net/fabric.h"
#include "net/simulation.h"

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

/// Two subnets and a router.
struct TwoSubnets {
    TwoSubnets()
        : fabric(*Routed::make(*topo::generate(joined_trees(20, 2, 1)), "ftree", 2),
                 {.data_vls = 2, .lid_max = 100}, 0),
          routers(fabric.topology(), fabric.lids(), fabric.net(), 2) {
        fabric.net().use_routers(&routers, &fabric.ends());
    }
    void send(Gid dgid, std::uint8_t hop_lmt) {
        fabric.ends().dgid = dgid;
        fabric.net().inject(fabric.port(0), {.dlid = routers.gateway(fabric.port(0), far()).value,
                                             .slid = fabric.lid(0).value,
                                             .bytes = 128,
                                             .tag = 1,
                                             .in_port_or_hop_lmt = hop_lmt});
        fabric.net().run();
    }
    std::uint32_t far() const { return fabric.port(19); }
    Odd at_router() const { return fabric.net().odd_counts(routers.ports().front()); }

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
    EXPECT_EQ(two.fabric.net().stats().routed, 1U);
}

TEST(Routers, AnUnknownPrefixIsDroppedAndCounted) {
    TwoSubnets two;
    two.send(router::alias_gid(SubnetId{7}, Lid{1}), 64);
    EXPECT_TRUE(two.fabric.ends().came.empty());
    EXPECT_EQ(two.at_router().unrouted, 1U);
    EXPECT_EQ(two.fabric.net().stats().discarded, 1U);
    EXPECT_EQ(two.fabric.net().packets_inside(), 0U);
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

/// Counts what was delivered.
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

/// Everybody sends to everybody else.
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
        // Three packets each way across, and an acknowledgement.
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

TEST(Routers, RoutesThatNeedServiceLevelsAreRefusedWithARemedy) {
    const topo::Spec spec{
        .shape = topo::Shape::kDragonfly, .hosts = 40, .subnets = 2, .routers = 1};
    const auto simulation = Simulation::make(*topo::generate(spec), {.engine = "dragonfly"});
    ASSERT_FALSE(simulation);
    EXPECT_NE(simulation.error().message.find("updn"), std::string::npos);
}

}  // namespace
}  // namespace softib::net
