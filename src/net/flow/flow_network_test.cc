// SPDX-License-Identifier: BSD-2-Clause
#include "net/flow/flow_network.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/topo/spec.h"
#include "net/tests/test_fabrics.h"

namespace softib::net::flow {
namespace {

Routed routed(const topo::Spec& spec, const std::string& engine) {
    auto topology = topo::generate(spec);
    EXPECT_TRUE(topology);
    auto result = Routed::make(*std::move(topology), engine, 1);
    EXPECT_TRUE(result);
    return *std::move(result);
}

TEST(FlowNetwork, AWayTakesTheLinksThatPacketsTake) {
    const Routed tree = routed(net::tree(32, 8), "ftree");
    const FlowNetwork network(tree, {});
    TestFabric fabric(tree, {}, 0, ScaleConfig{.ack_bytes = 0});
    std::vector<Hop> way;
    for (std::uint32_t to = 1; to < 32; to += 5) {
        ASSERT_TRUE(network.find_way(0, to, way));
        std::vector<std::uint64_t> before;
        for (std::uint32_t port = 0; port < fabric.net().engine().plant().port_count(); ++port) {
            before.push_back(fabric.net().engine().counts(port).xmit_packets);
        }
        send(fabric, 0, to, 4096);
        fabric.net().run();
        std::vector<std::uint32_t> used;
        for (std::uint32_t port = 0; port < fabric.net().engine().plant().port_count(); ++port) {
            if (fabric.net().engine().counts(port).xmit_packets != before[port]) {
                used.push_back(port);
            }
        }
        std::ranges::sort(way, {}, &Hop::link);
        ASSERT_EQ(way.size(), used.size());
        for (std::size_t i = 0; i < way.size(); ++i) {
            EXPECT_EQ(way[i], (Hop{used[i], kWhole})) << "to " << to;
        }
    }
}

TEST(FlowNetwork, LatencyIsTheSumOfCablesSwitchesAndTheAdapter) {
    const Routed tree = routed(net::tree(32, 8), "ftree");
    const FlowNetwork network(tree, {.cable_ps = 25'000, .switch_ps = 200'000, .hca_ps = 300'000});
    std::vector<Hop> way;
    EXPECT_EQ(network.find_way(0, 1, way), 2 * 25'000U + 200'000U + 300'000U);
    EXPECT_EQ(network.find_way(0, 31, way), 4 * 25'000U + 3 * 200'000U + 300'000U);
}

TEST(FlowNetwork, ALinkCarriesWhatItsGenerationCarries) {
    const Routed star = routed(net::star(2), "minhop");
    const FlowNetwork network(star, {});
    EXPECT_EQ(network.capacity(network.link_of(0)), 50'000'000'000 * kWorkPerByte);
}

TEST(FlowNetwork, WithoutARouteThereIsNoWay) {
    Routed star = routed(net::star(2), "minhop");
    star.tables.lfts.at(0, star.lids[1]) = routing::kNoPath;
    const auto last = star.topology.hosts[1].hcas[0].value;
    star.tables.lfts.at(0, star.lids[last]) = routing::kNoPath;
    const FlowNetwork network(star, {});
    std::vector<Hop> way;
    EXPECT_FALSE(network.find_way(0, 1, way));
}

TEST(FlowNetwork, AnAdaptiveWayIsSplitAlikeAmongEqualPorts) {
    const Routed tree = routed(net::tree(32, 8), "ftree");
    const FlowNetwork network(tree, {}, true);
    std::vector<Hop> way;
    ASSERT_TRUE(network.find_way(0, 31, way));
    // The way goes up by four ports and down from four spines, and has the two cables of the hosts.
    EXPECT_EQ(way.size(), 2U + 4 + 4);
    std::uint32_t whole = 0;
    std::uint32_t quarter = 0;
    for (const Hop& hop : way) {
        whole += hop.share == kWhole ? 1 : 0;
        quarter += hop.share == kWhole / 4 ? 1 : 0;
    }
    EXPECT_EQ(whole, 2U);
    EXPECT_EQ(quarter, 8U);
    ASSERT_TRUE(network.find_way(0, 1, way));
    EXPECT_EQ(way.size(), 2U);
}

}  // namespace
}  // namespace softib::net::flow
