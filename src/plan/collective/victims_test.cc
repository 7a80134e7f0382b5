// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/victims.h"

#include <gtest/gtest.h>

#include "plan/cluster/presets.h"

namespace softib::plan {
namespace {

double us_of(const Cluster& cluster, VictimOp op, std::uint64_t bytes, Aggressor aggressor) {
    const auto us = victim_us(cluster, op, bytes, aggressor);
    EXPECT_TRUE(us) << us.error();
    return us.value_or(0);
}

/// Returns a tree whose leaves have 8 hosts.
Cluster tree_of(std::uint32_t hosts) {
    Cluster cluster = with_nodes(*find_preset("hgx-h200"), hosts);
    cluster.fabric.spec.shape = topo::Shape::kFatTree;
    cluster.fabric.spec.radix = 16;
    return cluster;
}

TEST(Victims, AloneTheyNeedWhatTheirNicsNeed) {
    const Cluster cluster = tree_of(8);
    constexpr std::uint64_t kVector = 8 << 20;
    const double block_us = kVector / 4 / cluster.nic_bytes_per_s() * 1e6;
    // A ring of four has three steps, each with its latency; an all-to-all has three blocks at
    // once.
    const double ring = us_of(cluster, VictimOp::kAllGather, kVector, Aggressor::kNone);
    EXPECT_GT(ring, 3 * block_us);
    EXPECT_LT(ring, 3 * (block_us + 3));
    const double all = us_of(cluster, VictimOp::kAllToAll, kVector / 4, Aggressor::kNone);
    EXPECT_GT(all, 3 * block_us);
    EXPECT_LT(all, 3 * block_us + 5);
}

TEST(Victims, AnIncastOnOneLeafHurtsNobodyElse) {
    Cluster cluster = tree_of(8);
    cluster.fabric.spec.shape = topo::Shape::kSingleSwitch;
    const double alone = us_of(cluster, VictimOp::kAllGather, 4 << 20, Aggressor::kNone);
    EXPECT_NEAR(us_of(cluster, VictimOp::kAllGather, 4 << 20, Aggressor::kIncast), alone,
                0.02 * alone);
}

TEST(Victims, AnIncastAcrossLeavesHoldsUpThoseWhoShareTheWay) {
    const Cluster cluster = tree_of(32);
    const double alone = us_of(cluster, VictimOp::kAllToAll, 64 << 10, Aggressor::kNone);
    EXPECT_GT(us_of(cluster, VictimOp::kAllToAll, 64 << 10, Aggressor::kIncast), 1.5 * alone);
}

}  // namespace
}  // namespace softib::plan
