// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/sharp.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/topo/spec.h"

namespace softib::plan {
namespace {

net::Routed routed_of(topo::Spec spec) {
    auto fabric = topo::generate(spec);
    EXPECT_TRUE(fabric) << fabric.error().message;
    auto routed = net::Routed::make(*std::move(fabric), "auto", 8);
    EXPECT_TRUE(routed) << routed.error().message;
    return *std::move(routed);
}

std::vector<std::uint32_t> first_ends(std::uint32_t count) {
    std::vector<std::uint32_t> ends(count);
    std::iota(ends.begin(), ends.end(), 0U);
    return ends;
}

topo::Spec two_levels(topo::Generation generation) {
    topo::Spec spec;
    spec.shape = topo::Shape::kFatTree;
    spec.hosts = 32;
    spec.radix = 16;
    spec.levels = 2;
    spec.generation = generation;
    return spec;
}

TEST(SharpTrees, MembersOfOneLeafHaveItAsTheirRoot) {
    const net::Routed routed = routed_of(two_levels(topo::Generation::kNdr));
    TreeBook manager(routed, sharp_limits(topo::Generation::kNdr));
    const auto tree = manager.add(first_ends(4), SharpTree::kSat);
    ASSERT_TRUE(tree) << tree.error();
    EXPECT_EQ(manager.tree(*tree).levels, 1U);
    EXPECT_TRUE(manager.tree(*tree).edges.empty());
}

TEST(SharpTrees, AreSubgraphsOfTheRoutes) {
    const net::Routed routed = routed_of(two_levels(topo::Generation::kNdr));
    TreeBook manager(routed, sharp_limits(topo::Generation::kNdr));
    const auto id = manager.add(first_ends(32), SharpTree::kSat);
    ASSERT_TRUE(id) << id.error();
    const AggregationTree& tree = manager.tree(*id);
    EXPECT_EQ(tree.levels, 2U);
    EXPECT_EQ(tree.edges.size() + 1, tree.switches.size());
    for (const TreeEdge& edge : tree.edges) {
        const std::uint32_t link = routed.graph.link_at(edge.child, edge.port);
        ASSERT_NE(link, routing::kNone);
        EXPECT_EQ(routed.graph.links()[link].peer, edge.parent);
    }
}

TEST(SharpTrees, ASwitchOfQuantumHasOneStreamingTree) {
    const net::Routed routed = routed_of(two_levels(topo::Generation::kHdr));
    TreeBook manager(routed, sharp_limits(topo::Generation::kHdr));
    const auto first = manager.add(first_ends(32), SharpTree::kSat);
    ASSERT_TRUE(first);
    const auto second = manager.add(first_ends(32), SharpTree::kSat);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error(),
              "every streaming tree of these members meets another at a switch, which has one at a "
              "time");
    EXPECT_TRUE(manager.add(first_ends(32), SharpTree::kLlt)) << "low-latency trees share";
    manager.remove(*first);
    EXPECT_TRUE(manager.add(first_ends(32), SharpTree::kSat));
}

TEST(SharpTrees, APortOfQuantum2HasOneStreamingTree) {
    const net::Routed routed = routed_of(two_levels(topo::Generation::kNdr));
    TreeBook manager(routed, sharp_limits(topo::Generation::kNdr));
    // Each leaf has 8 ports up, so at most 8 trees find ports of their own.
    std::uint32_t found = 0;
    while (found <= 8 && manager.add(first_ends(32), SharpTree::kSat)) {
        ++found;
    }
    EXPECT_GE(found, 2U);
    EXPECT_LE(found, 8U);
}

TEST(SharpTrees, ASubnetHasAsManyAsItsGenerationAllows) {
    const net::Routed routed = routed_of(two_levels(topo::Generation::kHdr));
    TreeBook manager(routed, sharp_limits(topo::Generation::kHdr));
    for (int i = 0; i < 63; ++i) {
        ASSERT_TRUE(manager.add(first_ends(2), SharpTree::kLlt)) << i;
    }
    EXPECT_EQ(manager.add(first_ends(2), SharpTree::kLlt).error(),
              "all 63 low-latency trees of the subnet are taken");
    EXPECT_EQ(sharp_limits(topo::Generation::kNdr).llt_trees, 511U);
    EXPECT_EQ(sharp_limits(topo::Generation::kNdr).sat_trees, 511U);
    EXPECT_FALSE(sharp_limits(topo::Generation::kNdr).sat_per_switch);
}

TEST(SharpTrees, EdrHasNoStreamingTrees) {
    const net::Routed routed = routed_of(two_levels(topo::Generation::kEdr));
    TreeBook manager(routed, sharp_limits(topo::Generation::kEdr));
    EXPECT_EQ(manager.add(first_ends(2), SharpTree::kSat).error(),
              "the switches have no streaming trees");
}

TEST(SharpTimes, DependOnLevelsAndNotOnMembers) {
    const SharpTimes times = sharp_times(topo::Generation::kNdr, 49.7e9);
    const double level = llt_us(times, 3, 8) - llt_us(times, 2, 8);
    EXPECT_NEAR(level, 2 * (times.hop_us + times.cable_us + times.reduce_us), 1e-9);
    // A streaming operation approaches the rate of a link.
    const double us = sat_us(times, 3, 1ULL << 30);
    EXPECT_NEAR((1ULL << 30) / us / 1e3, 0.95 * 49.7, 0.1);
}

TEST(SharpTimes, ShortVectorsTakeDatagramsLongOnesStreams) {
    const SharpTimes times = sharp_times(topo::Generation::kHdr, 24.8e9);
    EXPECT_EQ(sharp_us(times, 2, 256), llt_us(times, 2, 256));
    EXPECT_EQ(sharp_us(times, 2, 1 << 20), sat_us(times, 2, 1 << 20));
}

}  // namespace
}  // namespace softib::plan
