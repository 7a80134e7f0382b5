// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/nccl_tuning.h"

#include <gtest/gtest.h>

#include <array>

#include "plan/cluster/presets.h"

namespace softib::plan::nccl {
namespace {

/// Returns a communicator on nodes of 8 GPUs with NVLink and an NDR NIC for each GPU.
Communicator nodes_of_eight(std::uint32_t nodes, std::uint32_t compute_capability = 90) {
    return {.ranks = nodes * 8,
            .nodes = nodes,
            .compute_capability = compute_capability,
            .graph = {8, 48, 48},
            .nvls_graph = {8, 46, 48}};
}

// Microseconds of small messages by NCCL's formulas, for rings and trees with LL.
TEST(NcclTuning, LatenciesOfSmallAllReducesAreThoseOfTheFormulas) {
    const struct {
        std::uint32_t nodes;
        double ring, tree;
    } rows[] = {{2, 40, 25.2},   {4, 79.4, 35.2},    {8, 157, 45.2},
                {16, 313, 55.2}, {64, 1246.8, 75.2}, {128, 2492, 85.2}};
    for (const auto& [nodes, ring, tree] : rows) {
        const Communicator comm = nodes_of_eight(nodes);
        const double n = nodes;
        EXPECT_NEAR(estimate(comm, Op::kAllReduce, Algorithm::kRing, Protocol::kLl).latency_us,
                    6.6 + (2 * (8 * n - 1) - 2 * (n - 1)) * 1 + 2 * (n - 1) * 2.7, 1e-9);
        EXPECT_NEAR(estimate(comm, Op::kAllReduce, Algorithm::kRing, Protocol::kLl).latency_us,
                    ring, 0.01 * ring);
        EXPECT_NEAR(estimate(comm, Op::kAllReduce, Algorithm::kTree, Protocol::kLl).latency_us,
                    tree, 1e-9);
    }
}

TEST(NcclTuning, SimpleOnARingCostsThreePostsOrAnNvLinkHopInsideNodes) {
    // 2 nodes: 28 steps inside nodes of max(3.4, 3 * 1) us, 2 between them of 14 us.
    EXPECT_NEAR(
        estimate(nodes_of_eight(2), Op::kAllReduce, Algorithm::kRing, Protocol::kSimple).latency_us,
        8.4 + 28 * 3.4 + 2 * 14, 1e-9);
    Communicator amd = nodes_of_eight(2);
    amd.amd_cpu = true;
    EXPECT_NEAR(estimate(amd, Op::kAllReduce, Algorithm::kRing, Protocol::kSimple).latency_us,
                8.4 + 28 * 6 + 2 * 14, 1e-9);
}

TEST(NcclTuning, BandwidthsHaveTheFactorsOfProtocolAndAlgorithm) {
    const Communicator comm = nodes_of_eight(4);
    const double steps = 32.0 / 62;
    const auto algbw = [&](Algorithm algorithm, Protocol protocol) {
        return estimate(comm, Op::kAllReduce, algorithm, protocol).algbw;
    };
    EXPECT_NEAR(algbw(Algorithm::kRing, Protocol::kSimple), 8 * 48 * steps, 1e-9);
    EXPECT_NEAR(algbw(Algorithm::kRing, Protocol::kLl), 20.4 * steps, 1e-9);
    EXPECT_NEAR(algbw(Algorithm::kRing, Protocol::kLl128), 8 * 36.7 * steps, 1e-9);
    EXPECT_NEAR(algbw(Algorithm::kTree, Protocol::kSimple), 8 * 36.0 * .5, 1e-9);
    EXPECT_EQ(algbw(Algorithm::kNvls, Protocol::kSimple), 0) << "needs SHARP between nodes";
    EXPECT_NEAR(algbw(Algorithm::kNvlsTree, Protocol::kSimple), 8 * 45.5 * steps, 1e-9);
    EXPECT_EQ(algbw(Algorithm::kPat, Protocol::kSimple), 0);
}

TEST(NcclTuning, PatIsForOneGpuANode) {
    Communicator comm{.ranks = 16, .nodes = 16, .graph = {1, 48, 48}};
    EXPECT_NEAR(estimate(comm, Op::kAllGather, Algorithm::kPat, Protocol::kSimple).latency_us,
                8 + 4 * 14 / 3.5 + 16 * 2.8, 1e-9);
    EXPECT_NEAR(estimate(comm, Op::kAllGather, Algorithm::kPat, Protocol::kSimple).algbw, 36, 1e-9);
    EXPECT_EQ(estimate(nodes_of_eight(2), Op::kAllGather, Algorithm::kPat, Protocol::kSimple).algbw,
              0);
}

TEST(NcclTuning, SharpNeedsThePlugIn) {
    Communicator comm = nodes_of_eight(4);
    EXPECT_EQ(estimate(comm, Op::kAllReduce, Algorithm::kSharp, Protocol::kSimple).algbw, 0);
    comm.collnet = true;
    const Estimate sharp = estimate(comm, Op::kAllReduce, Algorithm::kSharp, Protocol::kSimple);
    EXPECT_NEAR(sharp.latency_us, 2 * (3.7 + 7 * .4) + 31, 1e-9);
    EXPECT_NEAR(sharp.algbw, 8 * 48 * .85 * .5, 1e-9);
}

/// NCCL halves the fast channels of a ring on 800G NICs, but not those of CollNetDirect, which has
/// a channel for each GPU (ncclTopoDupChannels, NCCL_MAX_DIRECT_ARITY).
TEST(NcclTuning, CollNetKeepsAWholeChannelForEachGpu) {
    const Communicator fast = communicator_of(*find_preset("hgx-b300:4"), 4);
    EXPECT_EQ(fast.graph.channels, 16U);
    EXPECT_EQ(fast.graph.bw_inter, 48);
    EXPECT_EQ(fast.collnet_graph.channels, 8U);
    EXPECT_EQ(fast.collnet_graph.bw_inter, 96);
    Communicator with = fast;
    with.collnet = true;
    EXPECT_NEAR(estimate(with, Op::kAllGather, Algorithm::kSharp, Protocol::kSimple).algbw,
                8 * .9 * 96, 1e-9);
    const Communicator slow = communicator_of(*find_preset("hgx-b200:4"), 4);
    EXPECT_EQ(slow.graph.channels, slow.collnet_graph.channels);
    EXPECT_EQ(slow.graph.bw_inter, slow.collnet_graph.bw_inter);
}

/// NCCL reads the speed of a NIC from its driver, which knows nothing of headers.
TEST(NcclTuning, EthernetAndInfiniBandOfOneSpeedAreAlikeToNccl) {
    const Communicator ib = communicator_of(*find_preset("hgx-b200:3"), 3);
    const Communicator roce = communicator_of(*find_preset("gcp-a4:3"), 3);
    EXPECT_EQ(ib.nvls_graph.bw_inter, 50);
    EXPECT_EQ(roce.nvls_graph.bw_inter, 50);
}

TEST(NcclTuning, SmallMessagesTakeTreesAndLlLargeOnesTheBestBandwidth) {
    const Communicator comm = nodes_of_eight(16);
    const auto small = choose(comm, Op::kAllReduce, 8);
    ASSERT_TRUE(small);
    EXPECT_EQ(small->algorithm, Algorithm::kTree);
    EXPECT_EQ(small->protocol, Protocol::kLl);
    const auto large = choose(comm, Op::kAllReduce, 8ULL << 30);
    ASSERT_TRUE(large);
    EXPECT_EQ(large->algorithm, Algorithm::kRing);
    EXPECT_EQ(large->protocol, Protocol::kSimple);
    const std::array trees{Algorithm::kTree};
    EXPECT_EQ(choose(comm, Op::kAllReduce, 8ULL << 30, trees)->algorithm, Algorithm::kTree);
    EXPECT_FALSE(choose(comm, Op::kAllToAll, 1024));
}

TEST(NcclTuning, ARingAboveThePlateauPaysLatencyOneAndAHalfTimes) {
    const Communicator comm = nodes_of_eight(4);
    const double base =
        estimate(comm, Op::kAllReduce, Algorithm::kRing, Protocol::kSimple).latency_us;
    EXPECT_NEAR(latency_us(comm, Op::kAllReduce, Algorithm::kRing, Protocol::kSimple, 1024), base,
                1e-9);
    EXPECT_NEAR(latency_us(comm, Op::kAllReduce, Algorithm::kRing, Protocol::kSimple, 1 << 20),
                1.4 * base, 1e-9);
}

/// NCCL divides channels of at least 25 GB/s in two where there are few of them, and lets a tree of
/// two nodes go up to twice as fast inside a node as between nodes.
TEST(NcclTuning, FewNicsHaveTwoChannelsEach) {
    Cluster cluster = *find_preset("hgx-h200:2");
    const Communicator one = communicator_of(cluster, 2, 1, 1);
    EXPECT_EQ(one.graph.channels, 2U);
    EXPECT_EQ(one.graph.bw_inter, 24);
    EXPECT_EQ(one.tree_intra, 48);
    EXPECT_FALSE(one.nvls) << "there is one GPU in a domain";
    EXPECT_EQ(communicator_of(cluster, 2, 8, 4).graph.channels, 8U);
    EXPECT_EQ(communicator_of(cluster, 2, 8, 8).graph.channels, 8U);
}

/// All GPUs of a domain are neighbours in a ring, so its channels share the links of one GPU.
TEST(NcclTuning, NvLinkLimitsTheChannelsOfRings) {
    const Communicator h800 = communicator_of(*find_preset("h800-2048"), 4);
    EXPECT_LE(h800.graph.channels * h800.graph.bw_inter, 8 * 20.6 * 8 / 7);
    const Communicator racks = communicator_of(*find_preset("nvl72-xdr"), 4);
    EXPECT_LE(racks.graph.channels * racks.graph.bw_inter, 18 * 40.1 * 72 / 71);
    EXPECT_GT(racks.graph.channels * racks.graph.bw_inter, 700);
}

TEST(NcclTuning, CollNetTakesAtMostEightGpusOfANode) {
    Communicator rack = communicator_of(*find_preset("nvl72-xdr"), 4);
    rack.collnet = true;
    EXPECT_FALSE(expected_us(rack, Op::kAllReduce, Algorithm::kSharp, Protocol::kSimple, 8));
    EXPECT_TRUE(expected_us(rack, Op::kAllReduce, Algorithm::kNvls, Protocol::kSimple, 8));
    EXPECT_FALSE(expected_us(rack, Op::kAllGather, Algorithm::kNvls, Protocol::kSimple, 8));
}

TEST(NcclTuning, AClusterGivesTheChannelsThatNcclWouldFind) {
    const auto cluster = find_preset("superpod-h100:2");
    ASSERT_TRUE(cluster);
    const Communicator comm = communicator_of(*cluster, 4);
    EXPECT_EQ(comm.ranks, 32U);
    EXPECT_EQ(comm.graph.channels, 8U);
    EXPECT_EQ(comm.graph.bw_inter, 48);
    EXPECT_TRUE(comm.nvls);
}

}  // namespace
}  // namespace softib::plan::nccl
