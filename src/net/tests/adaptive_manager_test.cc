// SPDX-License-Identifier: BSD-2-Clause
#include "net/manage/adaptive_manager.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "core/topo/spec.h"
#include "net/manage/management.h"
#include "net/sim/fabric.h"
#include "net/tests/test_scale_hosts.h"

namespace softib::net {
namespace {

topo::Fabric dragonfly() {
    return *topo::generate({.shape = topo::Shape::kDragonfly, .hosts = 72});
}

/// Compares what a switch does with what the engine wanted, for packets from every port to every
/// LID. Returns how many of them may take a longer way.
std::uint32_t compare(const sw::AdaptiveTable& held, const routing::Graph& graph,
                      const routing::Tables& tables, std::uint32_t sw, std::uint8_t ports) {
    std::uint32_t longer = 0;
    graph.for_each_lid([&](const routing::Target& target, Lid lid) {
        for (std::uint8_t in = 0; in < ports; ++in) {
            const routing::Choice wanted = tables.choice(sw, in, target.at);
            const sw::AdaptiveTable::Choice has = held.choice(lid.value, in);
            const bool free = wanted.near.size() + wanted.far.size() > 1 ||
                              tables.long_ways.origin(sw, in) != routing::Origin::kAny;
            EXPECT_TRUE(free ? std::ranges::equal(has.near, wanted.near) : has.near.size() < 2)
                << "switch " << sw << ", from port " << int{in} << " to LID " << lid.value;
            EXPECT_TRUE(std::ranges::equal(has.far, wanted.far))
                << "switch " << sw << ", from port " << int{in} << " to LID " << lid.value;
            longer += wanted.far.empty() ? 0U : 1U;
        }
    });
    return longer;
}

TEST(AdaptiveManager, MadsCarryTheWaysRoundThatTheEngineFound) {
    Routed routed = *Routed::make(dragonfly(), "dragonfly", 8, true);
    const routing::Graph graph = routed.graph;
    const routing::Tables tables = routed.tables;
    ASSERT_FALSE(tables.long_ways.empty());
    Fabric<ScaleHosts> fabric(std::move(routed), {.data_vls = 8}, 0, ScaleConfig{});
    ASSERT_TRUE(fabric.use_adaptive_routing());
    std::uint32_t sw = 0;
    std::uint32_t longer = 0;
    for (std::uint32_t node = 0; node < fabric.engine().plant().node_count(); ++node) {
        if (fabric.engine().plant().is_switch(node)) {
            longer += compare(fabric.engine().plant().adaptive(node), graph, tables, sw++,
                              fabric.engine().plant().ports_of(node));
        }
    }
    EXPECT_GT(longer, 1000U);
}

TEST(AdaptiveManager, TheManagerWritesThemByPacketsOnItsOwnLinks) {
    const topo::Fabric topology = dragonfly();
    sm::ManagerConfig config;
    config.engine = "dragonfly";
    config.adaptive_routing = true;
    Managed<ScaleHosts> ends(topology, config, ScaleConfig{});
    Network<Managed<ScaleHosts>> net(topology, {.data_vls = 8, .multicast_lids = 32}, ends);
    ends.start(net.engine());
    const sm::Manager& manager = ends.management.service().manager();
    for (int i = 0;
         i < 10'000 && !(manager.settled() && net.engine().queues().packets().live() == 0 &&
                         manager.stats().sweeps_full > 0);
         ++i) {
        net.run(net.engine().now() + 1'000'000'000);
    }
    ASSERT_TRUE(manager.settled());
    ASSERT_FALSE(manager.tables().long_ways.empty());
    const routing::Graph& graph = *manager.graph();
    std::uint32_t longer = 0;
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        for (std::uint32_t node = 0; node < topology.nodes.size(); ++node) {
            if (topology.nodes[node].node_guid == graph.guid(sw)) {
                longer += compare(net.engine().plant().adaptive(node), graph, manager.tables(), sw,
                                  net.engine().plant().ports_of(node));
            }
        }
    }
    EXPECT_GT(longer, 1000U);
}

}  // namespace
}  // namespace softib::net
