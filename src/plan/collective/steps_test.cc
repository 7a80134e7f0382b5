// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "plan/cluster/presets.h"
#include "plan/collective/nccl_parts.h"

namespace softib::plan {
namespace {

using Between = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t>;

Layout eight_rails(std::uint32_t nodes) {
    return Layout(with_nodes(*find_preset("hgx-h200"), nodes), nodes, RankOrder::kTopology, true,
                  7);
}

Between bytes_of(const Flows& flows) {
    Between bytes;
    for (const NicFlow& flow : flows) {
        bytes[{flow.from, flow.to}] += flow.bytes;
    }
    return bytes;
}

Between bytes_of(const CollectiveSteps& steps) {
    Between bytes;
    for (const CollectiveStep& step : steps.all) {
        bytes[{step.flow.from, step.flow.to}] += step.flow.bytes;
    }
    return bytes;
}

/// Checks that each step waits only for earlier steps: those received by its sender, and one sent
/// by it.
void expect_in_order(const CollectiveSteps& steps) {
    for (std::uint32_t i = 0; i < steps.all.size(); ++i) {
        for (const std::uint32_t before : steps.all[i].after) {
            ASSERT_LT(before, i);
            EXPECT_EQ(steps.all[before].flow.to, steps.all[i].flow.from);
        }
        if (steps.all[i].behind != kNoStep) {
            ASSERT_LT(steps.all[i].behind, i);
            EXPECT_EQ(steps.all[steps.all[i].behind].flow.from, steps.all[i].flow.from);
        }
    }
}

/// Returns the most leading steps that wait one for the other.
std::uint32_t longest(const CollectiveSteps& steps) {
    std::vector<std::uint32_t> length(steps.all.size());
    for (std::size_t i = 0; i < steps.all.size(); ++i) {
        for (const std::uint32_t before : steps.all[i].after) {
            length[i] = std::max(length[i], length[before]);
        }
        length[i] += steps.all[i].leads ? 1U : 0U;
    }
    return *std::ranges::max_element(length);
}

TEST(Steps, AStepOfARingWaitsForTheOneBeforeIt) {
    const Layout layout = eight_rails(4);
    const Flows flows = ring_flows(layout, 16, 1 << 20);
    const CollectiveSteps steps =
        steps_of(layout, Op::kAllReduce, Algorithm::kRing, {&flows, 1}, 0);
    // There are 2 (32 - 1) steps from GPU to GPU; eight of them are one step between nodes.
    ASSERT_EQ(steps.all.size(), 8U * 32U);
    EXPECT_EQ(steps.hops, 8U);
    EXPECT_EQ(longest(steps), 8U);
    EXPECT_EQ(bytes_of(steps), bytes_of(flows));
    expect_in_order(steps);
    for (std::size_t i = 32; i < steps.all.size(); ++i) {
        EXPECT_EQ(steps.all[i].after.size(), 1U);
    }
}

TEST(Steps, ALevelOfNodesGoesAroundTwice) {
    const Layout layout = eight_rails(4);
    const Flows flows = ring_flows(layout, 16, 1 << 20);
    const auto hops = [&](Op op) {
        return steps_of(layout, op, Algorithm::kHierarchical, {&flows, 1}, 0).hops;
    };
    EXPECT_EQ(hops(Op::kAllReduce), 6U);
    EXPECT_EQ(hops(Op::kAllGather), 3U);
}

TEST(Steps, PartsOfABroadcastFollowEachOtherFromTheRootOn) {
    const Layout layout = eight_rails(4);
    const Flows flows = ring_flows(layout, 8, 1 << 20);
    const CollectiveSteps steps =
        steps_of(layout, Op::kBroadcast, Algorithm::kRing, {&flows, 1}, 2);
    ASSERT_EQ(steps.all.size(), 8U * 32U);
    EXPECT_EQ(bytes_of(steps), bytes_of(flows));
    expect_in_order(steps);
    EXPECT_EQ(longest(steps), 4U);
    for (const CollectiveStep& step : steps.all) {
        EXPECT_EQ(step.after.empty(), step.flow.from / 8 == 2);
    }
}

TEST(Steps, ATreesPartsGoUpWhenAllChildrenHaveSentThem) {
    for (const std::uint32_t nodes : {2U, 3U, 6U, 8U, 13U}) {
        const Layout layout = eight_rails(nodes);
        const Flows flows = tree_flows(layout, 16, 1 << 20);
        const CollectiveSteps steps =
            steps_of(layout, Op::kAllReduce, Algorithm::kTree, {&flows, 1}, 0);
        EXPECT_EQ(bytes_of(steps), bytes_of(flows));
        expect_in_order(steps);
        EXPECT_EQ(longest(steps), steps.hops);
    }
}

TEST(Steps, ARoundWaitsForAllThatCameBefore) {
    const Layout layout = eight_rails(8);
    const std::vector<Flows> rounds = pat_rounds(layout, 1 << 20);
    const CollectiveSteps steps = steps_of(layout, Op::kAllGather, Algorithm::kPat, rounds, 0);
    expect_in_order(steps);
    EXPECT_EQ(longest(steps), 3U);
    EXPECT_EQ(steps.all.back().after.size(), 2U);
}

TEST(Steps, StepsOfALargeRingArePutTogether) {
    const Layout layout(with_nodes(*find_preset("superpod-h100"), 400), 400, RankOrder::kTopology,
                        true, 7);
    const Flows flows = ring_flows(layout, 16, 1 << 20);
    const CollectiveSteps steps =
        steps_of(layout, Op::kAllReduce, Algorithm::kRing, {&flows, 1}, 0);
    EXPECT_EQ(steps.hops, kStepsMax);
    EXPECT_EQ(bytes_of(steps), bytes_of(flows));
}

}  // namespace
}  // namespace softib::plan
