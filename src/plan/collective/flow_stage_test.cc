// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/flow_stage.h"

#include <gtest/gtest.h>

#include "core/topo/spec.h"
#include "net/flow/flow_simulation.h"
#include "plan/cluster/presets.h"
#include "plan/collective/message_stage.h"

namespace softib::plan {
namespace {

constexpr std::uint64_t kBytes = 8 << 20;

std::unique_ptr<Stage> stage_of(const Cluster& cluster) {
    auto stage = make_stage(cluster, {});
    EXPECT_TRUE(stage) << stage.error();
    return stage ? *std::move(stage) : nullptr;
}

double us_of(Stage& stage, const Flows& flows, double limit = 0) {
    const auto played = stage.play(flows, limit);
    EXPECT_TRUE(played) << played.error();
    return played ? played->us : 0;
}

Cluster tapered_tree() {
    Cluster cluster = with_nodes(*find_preset("hgx-h200"), 16);
    cluster.fabric.spec.shape = topo::Shape::kFatTree;
    cluster.fabric.spec.hcas_per_host = 1;
    cluster.fabric.spec.radix = 10;
    cluster.fabric.spec.oversubscription = {.down = 4, .up = 1};
    return cluster;
}

TEST(FlowStage, AFlowAloneHasItsNicAndNoMoreThanItsLimit) {
    const Cluster cluster = tapered_tree();
    const auto stage = stage_of(cluster);
    const double alone = us_of(*stage, {{0, 1, kBytes, 0}});
    EXPECT_NEAR(alone, kBytes / cluster.nic_bytes_per_s() * 1e6, 0.001 * alone);
    EXPECT_NEAR(us_of(*stage, {{0, 1, kBytes, 0}}, 1e9), kBytes / 1e3, 0.1);
    EXPECT_EQ(us_of(*stage, {{3, 3, kBytes, 0}}), 0) << "to itself";
}

TEST(FlowStage, FlowsOfANicShareItAndThoseThatAreLeftHaveWhatOthersHad) {
    const auto stage = stage_of(tapered_tree());
    const double alone = us_of(*stage, {{0, 1, kBytes, 0}});
    EXPECT_NEAR(us_of(*stage, {{0, 1, kBytes, 0}, {0, 2, kBytes, 0}}), 2 * alone, 0.01 * alone);
    // The long flow has half of its NIC until the short one is done, then all of it.
    EXPECT_NEAR(us_of(*stage, {{0, 1, 3 * kBytes, 0}, {0, 2, kBytes, 0}}), 4 * alone, 0.01 * alone);
}

TEST(FlowStage, LeavesWithFewerCablesUpDivideThem) {
    const auto stage = stage_of(tapered_tree());
    Flows flows;
    for (std::uint32_t host = 0; host < 8; ++host) {  // From the first leaf to the second.
        flows.push_back({host, 8 + host, kBytes, 0});
    }
    const double alone = us_of(*stage, {{0, 1, kBytes, 0}});
    EXPECT_NEAR(us_of(*stage, flows), 4 * alone, 0.02 * alone);
}

// The flow model of messages divides all links at once; FlowStage divides those of NICs first.
TEST(FlowStage, AgreesWithMessagesOnTheFlowModel) {
    for (const char* name : {"superpod-h100:1", "hgx-h200:16"}) {
        SCOPED_TRACE(name);
        const Cluster cluster = *find_preset(name);
        for (const RankOrder order : {RankOrder::kTopology, RankOrder::kRandom}) {
            const Layout layout(cluster, 16, order, order == RankOrder::kTopology, 7);
            auto model = net::flow::FlowSimulation::make(
                *topo::generate(cluster.fabric.spec),
                {.hosts = {.adaptive = true, .pcie_block_ps = 1163}});
            ASSERT_TRUE(model) << model.error().message;
            MessageStage messages(*std::move(model), {.flow_slices_max = 8});
            const auto rates = stage_of(cluster);
            for (const Flows& flows : {ring_flows(layout, 8, kBytes), tree_flows(layout, 8, kBytes),
                                       all_to_all_flows(layout, kBytes / 16)}) {
                const auto expected = messages.play(flows, 0);
                ASSERT_TRUE(expected) << expected.error();
                EXPECT_NEAR(us_of(*rates, flows), expected->us, 0.06 * expected->us);
            }
        }
    }
}

// Flows between two leaves have the same links between switches, so that FlowStage may treat them
// as one.
TEST(FlowStage, WaysBetweenTwoLeavesDifferInTheirEndsAlone) {
    for (const char* name : {"superpod-h100:16", "hgx-h200:64", "superpod-a100:4"}) {
        SCOPED_TRACE(name);
        auto routed = net::Routed::make(*topo::generate(find_preset(name)->fabric.spec), "auto", 8);
        ASSERT_TRUE(routed) << routed.error().message;
        const net::flow::FlowNetwork network(*routed, {}, true);
        ASSERT_TRUE(network.adaptive());
        const auto inside = [&](std::uint32_t from, std::uint32_t to) {
            std::vector<net::flow::Hop> hops;
            EXPECT_TRUE(network.find_way(from, to, hops));
            std::erase_if(hops, [&](const net::flow::Hop& hop) {
                return hop.link == network.link_of(from) || hop.link == network.link_to(to);
            });
            return hops;
        };
        const std::uint32_t last = network.end_count() - 1;
        for (std::uint32_t end = 0; end < last; ++end) {
            if (network.leaf_of(end) == network.leaf_of(0)) {
                EXPECT_EQ(inside(end, last), inside(0, last)) << end;
                EXPECT_EQ(inside(last, end), inside(last, 0)) << end;
            }
        }
    }
}

TEST(FlowStage, EndsThatNothingJoinsAreNamed) {
    Cluster cluster = with_nodes(*find_preset("hgx-h200"), 4);
    cluster.fabric.spec.shape = topo::Shape::kRailOnly;
    const auto played = stage_of(cluster)->play({{0, 9, kBytes, 0}}, 0);
    ASSERT_FALSE(played);
    EXPECT_EQ(
        played.error(),
        "no message goes from end port 0 to end port 9: the fabric's routes do not join them");
}

}  // namespace
}  // namespace softib::plan
