// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/fabric_communication.h"

#include <gtest/gtest.h>

#include <numeric>

#include "plan/cluster/presets.h"
#include "plan/train/mapping.h"
#include "plan/train/step.h"

namespace softib::plan {
namespace {

constexpr double kGigabyte = 1e9;

std::unique_ptr<FabricCommunication> fabric_of(const Cluster& cluster, std::uint32_t gpus,
                                               const PlacementOptions& options = {}) {
    auto made = FabricCommunication::make(cluster, gpus, options);
    EXPECT_TRUE(made) << made.error();
    return made ? *std::move(made) : nullptr;
}

std::vector<std::uint32_t> ranks_of(std::uint32_t count, std::uint32_t stride) {
    std::vector<std::uint32_t> ranks(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        ranks[i] = i * stride;
    }
    return ranks;
}

/// Returns 32 nodes of 8 GPUs and one NIC; a leaf has 8 nodes and 8 / down cables up.
Cluster narrow(std::uint32_t down) {
    Cluster cluster = with_nodes(*find_preset("hgx-h200"), 32);
    cluster.fabric.spec.shape = topo::Shape::kFatTree;
    cluster.fabric.spec.hcas_per_host = 1;
    cluster.fabric.spec.radix = 64;
    cluster.fabric.spec.hosts_per_switch = 8;
    cluster.fabric.spec.oversubscription = {.down = down, .up = 1};
    return cluster;
}

TEST(FabricCommunication, EqualsRatesAloneWhereNothingCollides) {
    const Cluster cluster = *find_preset("superpod-h100:4");
    const auto fabric = fabric_of(cluster, 1016);
    const LinkCommunication links(cluster);
    for (const Exchange exchange : {Exchange::kAllReduce, Exchange::kReduceScatter,
                                    Exchange::kAllGather, Exchange::kAllToAll, Exchange::kSend}) {
        for (const std::uint32_t stride : {1U, 2U, 8U}) {
            if (exchange == Exchange::kSend && stride != 8) {
                continue;  // The next rank of rank 0 is in its node, that of others is not.
            }
            const auto ranks = ranks_of(16, stride);
            const ExchangeCost ours = fabric->cost(exchange, kGigabyte, ranks);
            const ExchangeCost rates = links.cost(exchange, kGigabyte, ranks);
            EXPECT_NEAR(ours.seconds, rates.seconds, 0.001 * rates.seconds) << stride;
            EXPECT_EQ(ours.fabric_bytes, rates.fabric_bytes);
        }
    }
    EXPECT_FALSE(fabric->fault());
}

TEST(FabricCommunication, GroupsThatMeetOnANarrowSpineSlowEachOther) {
    // Groups of every second node have rings that leave a leaf.
    const auto ranks = ranks_of(16, 16);
    const double wide =
        fabric_of(narrow(1), 256)->cost(Exchange::kAllReduce, kGigabyte, ranks).seconds;
    double before = 1.001 * wide;
    for (const std::uint32_t down : {2U, 4U, 8U}) {
        const double us =
            fabric_of(narrow(down), 256)->cost(Exchange::kAllReduce, kGigabyte, ranks).seconds;
        EXPECT_GE(us, before / 1.001) << down;
        before = us;
    }
    EXPECT_GT(before, 1.5 * wide);
}

TEST(FabricCommunication, ARandomPlacementCostsWhereLeavesAreNarrowAndNotWhereTheyAreFull) {
    const auto ranks = ranks_of(32, 8);
    const PlacementOptions random{.order = RankOrder::kRandom};
    const auto seconds = [&](std::uint32_t down, const PlacementOptions& options) {
        return fabric_of(narrow(down), 256, options)
            ->cost(Exchange::kReduceScatter, kGigabyte, ranks)
            .seconds;
    };
    EXPECT_GT(seconds(8, random), 1.5 * seconds(8, {}));
    EXPECT_NEAR(seconds(1, random), seconds(1, {}), 0.01 * seconds(1, {}));
}

TEST(FabricCommunication, MoreBandwidthNeverSlows) {
    for (const Exchange exchange : {Exchange::kAllReduce, Exchange::kReduceScatter,
                                    Exchange::kAllGather, Exchange::kAllToAll, Exchange::kSend}) {
        double before = 1e9;
        for (const topo::Generation generation :
             {topo::Generation::kEdr, topo::Generation::kHdr, topo::Generation::kNdr}) {
            Cluster cluster = narrow(4);
            cluster.fabric.spec.radix = 32;
            cluster.fabric.spec.generation = generation;
            const double seconds =
                fabric_of(cluster, 256)->cost(exchange, kGigabyte, ranks_of(16, 16)).seconds;
            EXPECT_LT(seconds, before);
            before = seconds;
        }
    }
}

TEST(FabricCommunication, ASetOfGroupsIsPlayedOnce) {
    const auto fabric = fabric_of(*find_preset("superpod-h100:1"), 248);
    const auto ranks = ranks_of(31, 8);
    const double one = fabric->cost(Exchange::kAllReduce, kGigabyte, ranks).stream_s;
    EXPECT_NEAR(fabric->cost(Exchange::kAllReduce, 2 * kGigabyte, ranks).stream_s, 2 * one,
                1e-9 * one);
    EXPECT_NEAR(fabric->cost(Exchange::kAllGather, kGigabyte, ranks).stream_s, one / 2, 1e-9 * one);
    EXPECT_EQ(fabric->played(), 1U);
    fabric->cost(Exchange::kAllToAll, kGigabyte, ranks);
    EXPECT_EQ(fabric->played(), 2U);
    // Inside a node nothing is played.
    fabric->cost(Exchange::kAllReduce, kGigabyte, ranks_of(8, 1));
    EXPECT_EQ(fabric->played(), 2U);
}

TEST(FabricCommunication, PacketsAndFlowsAgree) {
    Cluster cluster = narrow(4);
    const auto ranks = ranks_of(4, 32);
    const PlacementOptions packets{.model = net::ModelKind::kPacket};
    const double flow =
        fabric_of(cluster, 128)->cost(Exchange::kAllReduce, kGigabyte, ranks).seconds;
    const double packet =
        fabric_of(cluster, 128, packets)->cost(Exchange::kAllReduce, kGigabyte, ranks).seconds;
    EXPECT_NEAR(packet, flow, 0.1 * flow);
}

TEST(FabricCommunication, RailsThatNothingJoinsAreAFaultOfTheStep) {
    Cluster cluster = with_nodes(*find_preset("hgx-h200"), 4);
    cluster.fabric.spec.shape = topo::Shape::kRailOnly;
    const auto crossed = fabric_of(cluster, 32, {.rails_aligned = false});
    crossed->cost(Exchange::kAllReduce, kGigabyte, ranks_of(4, 8));
    ASSERT_TRUE(crossed->fault());
    EXPECT_NE(crossed->fault()->find("the fabric's routes do not join them"), std::string::npos);
    const auto aligned = fabric_of(cluster, 32);
    aligned->cost(Exchange::kAllReduce, kGigabyte, ranks_of(4, 8));
    EXPECT_FALSE(aligned->fault());
}

// If neighbouring ranks are stages of a pipeline, their traffic stays in a leaf, and that of
// replicas does not.
TEST(FabricCommunication, AnotherOrderOfRanksMovesTrafficToAnotherDimension) {
    Mapping mapping;
    mapping.gpus = 256;
    mapping.tp = 8;
    mapping.pp = 4;
    mapping.pp_inside = true;
    EXPECT_EQ(groups_of(mapping).pipeline, ranks_of(4, 8));
    EXPECT_EQ(groups_of(mapping).data, ranks_of(8, 32));
    const auto fabric = fabric_of(narrow(8), 256);
    const auto send = [&] {
        return fabric->cost(Exchange::kSend, kGigabyte, groups_of(mapping).pipeline).seconds;
    };
    const auto reduce = [&] {
        return fabric->cost(Exchange::kReduceScatter, kGigabyte, groups_of(mapping).data).seconds;
    };
    const double send_inside = send();
    const double reduce_outside = reduce();
    mapping.pp_inside = false;
    EXPECT_LT(send_inside, send());
    EXPECT_GT(reduce_outside, reduce());
}

TEST(FabricCommunication, SwitchesThatAddUpHalveTheBytesOfAnAllReduce) {
    Cluster cluster = *find_preset("hgx-h200:8");
    const auto ranks = ranks_of(8, 8);
    const auto bytes = [&](Exchange exchange) {
        return LinkCommunication(cluster).cost(exchange, kGigabyte, ranks).fabric_bytes;
    };
    const auto seconds = [&](Exchange exchange) {
        return fabric_of(cluster, 64)->cost(exchange, kGigabyte, ranks).seconds;
    };
    const double ring = bytes(Exchange::kAllReduce);
    const double ring_s = seconds(Exchange::kAllReduce);
    const double scatter_s = seconds(Exchange::kReduceScatter);
    cluster.fabric.collnet = true;
    EXPECT_NEAR(ring / bytes(Exchange::kAllReduce), 2 * 7.0 / 8, 1e-9);
    EXPECT_LT(seconds(Exchange::kAllReduce), 0.65 * ring_s);
    EXPECT_EQ(seconds(Exchange::kReduceScatter), scatter_s);
}

}  // namespace
}  // namespace softib::plan
