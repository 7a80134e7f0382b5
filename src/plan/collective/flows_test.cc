// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/flows.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <set>

#include "plan/cluster/presets.h"

namespace softib::plan {
namespace {

Cluster eight_gpus(std::uint32_t nodes) {
    return with_nodes(*find_preset("hgx-h200"), nodes);
}

Layout layout_of(std::uint32_t nodes, RankOrder order = RankOrder::kTopology, bool aligned = true) {
    return Layout(eight_gpus(nodes), nodes, order, aligned, 7);
}

std::map<std::uint32_t, std::uint64_t> sent_by_end(const std::vector<Flows>& rounds) {
    std::map<std::uint32_t, std::uint64_t> sent;
    for (const Flows& flows : rounds) {
        for (const NicFlow& flow : flows) {
            sent[flow.from] += flow.bytes;
        }
    }
    return sent;
}

TEST(Flows, ARingHasEveryNicSendToTheSameRailOfTheNextNode) {
    const Flows flows = ring_flows(layout_of(4), 8, 100);
    ASSERT_EQ(flows.size(), 32U);
    for (const NicFlow& flow : flows) {
        EXPECT_EQ(flow.to, (flow.from + 8) % 32);
    }
}

TEST(Flows, CrossedRailsArriveAtTheNextNic) {
    const Flows flows = ring_flows(layout_of(2, RankOrder::kTopology, false), 8, 100);
    EXPECT_EQ(flows.front().from % 8, 0U);
    EXPECT_EQ(flows.front().to % 8, 1U);
}

TEST(Flows, DomainsOfANodeWithFewerNicsShareThem) {
    Cluster cluster = with_nodes(*find_preset("hgx-h200"), 2);
    cluster.nvlink.domain_gpus = 1;
    cluster.fabric.spec.hcas_per_host = 2;
    const Layout two(cluster, 16, RankOrder::kTopology, true, 1);
    EXPECT_EQ(two.nics_per_domain(), 1U);
    for (std::uint32_t gpu = 0; gpu < 16; ++gpu) {
        EXPECT_EQ(two.end(gpu, 0), gpu / 4) << gpu;
    }
    // Three NICs for two domains of a node: those of the next node begin with its first.
    cluster.nvlink.domain_gpus = 4;
    cluster.fabric.spec.hcas_per_host = 3;
    const Layout three(cluster, 4, RankOrder::kTopology, true, 1);
    EXPECT_EQ(three.end(1, 0), 1U);
    EXPECT_EQ(three.end(2, 0), 3U);
}

TEST(Flows, ARandomOrderVisitsEveryNodeOnce) {
    const Flows flows = ring_flows(layout_of(16, RankOrder::kRandom), 1, 100);
    std::set<std::uint32_t> from;
    std::set<std::uint32_t> to;
    bool sorted = true;
    for (const NicFlow& flow : flows) {
        from.insert(flow.from);
        to.insert(flow.to);
        sorted = sorted && flow.to == (flow.from + 8) % 128;
    }
    EXPECT_EQ(from.size(), 16U);
    EXPECT_EQ(to.size(), 16U);
    EXPECT_FALSE(sorted);
}

class DoubleTree : public testing::TestWithParam<std::uint32_t> {};

TEST_P(DoubleTree, ReachesEveryNodeAndLoadsNoneInBothTrees) {
    const std::uint32_t count = GetParam();
    const TreePair trees = double_tree(count);
    std::vector<std::uint32_t> children(count);
    for (const auto* parents : {&trees.first, &trees.second}) {
        std::uint32_t roots = 0;
        std::vector<std::uint32_t> own(count);
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::uint32_t parent = (*parents)[i];
            roots += parent == i ? 1 : 0;
            own[parent] += parent == i ? 0 : 1;
            std::uint32_t at = i;
            std::uint32_t steps = 0;
            while ((*parents)[at] != at && steps <= count) {
                at = (*parents)[at];
                ++steps;
            }
            EXPECT_LE(steps, 2 * static_cast<std::uint32_t>(std::bit_width(count)));
        }
        EXPECT_EQ(roots, 1U);
        for (std::uint32_t i = 0; i < count; ++i) {
            EXPECT_LE(own[i], 2U);
            children[i] += own[i];
        }
    }
    for (const std::uint32_t each : children) {
        EXPECT_LE(each, 3U) << "two in one tree, and the root's one in the other";
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, DoubleTree, testing::Values(2, 3, 4, 5, 8, 13, 16, 31, 32, 127));

TEST(Flows, ABroadcastDownTreesGivesEveryPositionAllBytes) {
    for (const std::uint32_t count : {2U, 3U, 4U, 5U, 8U, 13U, 16U}) {
        std::map<std::uint32_t, std::uint64_t> came;
        std::uint64_t sent = 0;
        for (const NicFlow& flow : tree_down_flows(layout_of(count), 8, 1000)) {
            came[flow.to] += flow.bytes;
            sent += flow.from < 8 ? flow.bytes : 0;
        }
        EXPECT_EQ(sent, 8U * 1000) << "from the first of " << count;
        EXPECT_EQ(came.size(), (count - 1) * 8U);
        for (const auto& [end, bytes] : came) {
            EXPECT_GE(end, 8U) << "the first has them";
            EXPECT_EQ(bytes, 1000U) << end << " of " << count;
        }
    }
    EXPECT_EQ(tree_down_depth(2), 1U);
    EXPECT_EQ(tree_down_depth(3), 2U);
    EXPECT_EQ(tree_down_depth(8), 4U);
}

TEST(Flows, RecursiveHalvingAndDoublingMoveWhatARingDoes) {
    for (const auto& rounds :
         {halving_rounds(layout_of(8), 8000), doubling_rounds(layout_of(8), 8000)}) {
        EXPECT_EQ(rounds.size(), 3U);
        for (const auto& [end, bytes] : sent_by_end(rounds)) {
            EXPECT_EQ(bytes, 7000U);
        }
    }
}

TEST(Flows, NodesBeyondAPowerOfTwoFoldInAndOut) {
    const auto halving = halving_rounds(layout_of(6), 8000);
    EXPECT_EQ(halving.size(), 3U);
    EXPECT_EQ(halving.front().size(), 2U * 8);
    EXPECT_EQ(halving.front().front().from / 8, 4U);
    const auto doubling = doubling_rounds(layout_of(6), 8000);
    EXPECT_EQ(doubling.back().front().to / 8, 4U);
}

TEST(Flows, PatSendsEveryBlockButItsOwnOnce) {
    for (const std::uint32_t nodes : {2U, 5U, 8U, 12U}) {
        for (const auto& [end, bytes] : sent_by_end(pat_rounds(layout_of(nodes), nodes * 1000))) {
            EXPECT_EQ(bytes, (nodes - 1) * 1000U) << nodes;
        }
    }
}

TEST(Flows, AllToAllJoinsAllPairsOnEachRail) {
    const Flows flows = all_to_all_flows(layout_of(4), 10);
    EXPECT_EQ(flows.size(), 4U * 3 * 8);
    for (const NicFlow& flow : flows) {
        EXPECT_NE(flow.from / 8, flow.to / 8);
        EXPECT_EQ(flow.from % 8, flow.to % 8);
    }
}

TEST(Flows, AnNvLinkDomainOfSeveralNodesIsOnePosition) {
    const Cluster racks = *find_preset("nvl72-xdr:2");
    const Layout layout(racks, 2, RankOrder::kTopology, true, 1);
    EXPECT_EQ(layout.gpus_per_domain(), 72U);
    EXPECT_EQ(layout.nics_per_domain(), 72U);
    EXPECT_EQ(layout.end(1, 0), 72U);
    EXPECT_EQ(layout.end(1, 71), 143U);
}

TEST(Flows, ALargeAllToAllIsASampleWithTheBytesOfAll) {
    const Cluster large = *find_preset("superpod-h100:64");
    const Layout layout(large, 2048, RankOrder::kTopology, true, 1);
    const Flows flows = all_to_all_flows(layout, 1 << 20);
    EXPECT_LE(flows.size(), 1U << 18);
    std::uint64_t sent = 0;
    for (const NicFlow& flow : flows) {
        sent += flow.from == 0 ? flow.bytes : 0;
    }
    EXPECT_NEAR(static_cast<double>(sent), 2047.0 * (1 << 20), 1e3);
}

}  // namespace
}  // namespace softib::plan
