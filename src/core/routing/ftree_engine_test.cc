// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "core/routing/test_graphs.h"
#include "core/topo/spec.h"

namespace softib::routing {
namespace {

using topo::Shape;
using topo::Spec;

Report with_shifts(const Graph& graph, const Tables& tables) {
    return verify(graph, tables, {.random_samples = 0});
}

struct TreeCase {
    const char* name;
    Spec spec;
};

class FullTree : public testing::TestWithParam<TreeCase> {};

TEST_P(FullTree, EveryShiftPutsOneFlowOnALink) {
    const Graph graph = make_graph(GetParam().spec);
    const Tables tables = route("ftree", graph, {.data_vls = 1});
    EXPECT_TRUE(holds(graph, tables));
    const Report report = with_shifts(graph, tables);
    EXPECT_EQ(report.shifts.tried, graph.host_count() - 1);
    EXPECT_EQ(report.shifts.worst, 1U);
    EXPECT_EQ(report.load.unused, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    FatTree, FullTree,
    testing::Values(TreeCase{"TwoLevels512", two_levels()},
                    TreeCase{"ThreeLevels432", three_levels()},
                    TreeCase{"TwoLevelsSmall", {.shape = Shape::kFatTree, .hosts = 32, .radix = 8}},
                    TreeCase{"ThreeLevels128",
                             {.shape = Shape::kFatTree, .hosts = 128, .radix = 8}},
                    // With fewer pods, several cables lead to the same core.
                    TreeCase{"ParallelCables",
                             {.shape = Shape::kFatTree, .hosts = 256, .radix = 16, .levels = 3}}),
    [](const auto& test) { return test.param.name; });

TEST(FatTreeRouting, PartlyFilledTreesHaveNearlyNone) {
    for (const std::uint32_t hosts : {33U, 60U, 100U, 111U}) {
        const Graph graph = make_graph({.shape = Shape::kFatTree, .hosts = hosts, .radix = 8});
        const Tables tables = route("ftree", graph);
        EXPECT_TRUE(holds(graph, tables));
        EXPECT_LE(with_shifts(graph, tables).shifts.mean, 2) << hosts;
    }
}

TEST(FatTreeRouting, ContentionOfDamagedTreesStaysSmall) {
    // Trees that have lost 5 % of 512 and 3 % of 864 cables. OpenSM's ftree has 3.44 and 3.43
    // there.
    double two = 0;
    double three = 0;
    constexpr int kSeeds = 8;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        const Graph flat = graph_from(damage(make_fabric(two_levels()), 25, 0, seed));
        two += with_shifts(flat, route("ftree", flat)).shifts.mean / kSeeds;
        const Graph deep = graph_from(damage(make_fabric(three_levels()), 25, 0, seed));
        three += with_shifts(deep, route("ftree", deep)).shifts.mean / kSeeds;
    }
    EXPECT_LE(two, 2.1);
    EXPECT_LE(three, 3.1);
}

TEST(FatTreeRouting, DamagedTreesAreReachedOnOneLane) {
    const topo::Fabric flat = make_fabric({.shape = Shape::kFatTree, .hosts = 32, .radix = 8});
    const topo::Fabric deep = make_fabric({.shape = Shape::kFatTree, .hosts = 128, .radix = 8});
    for (std::uint64_t seed = 1; seed <= last_seed(40); ++seed) {
        for (const topo::Fabric& whole : {flat, deep}) {
            const Graph graph = graph_from(damage(whole, seed % 10, seed % 3, seed));
            EXPECT_TRUE(holds(graph, route("ftree", graph, {.data_vls = 1}))) << seed;
        }
    }
}

TEST(FatTreeRouting, BadlyDamagedTreesAreReachedOnSeveralLanes) {
    const topo::Fabric whole = make_fabric(three_levels());
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const Graph graph = graph_from(damage(whole, 150, 0, seed));
        EXPECT_TRUE(holds(graph, route("ftree", graph))) << seed;
    }
}

TEST(FatTreeRouting, SeveralWaysDownIntoAPodShareTheHosts) {
    for (const char* const engine : {"ftree", "updn"}) {
        const Graph full =
            make_directors({.pods = 4, .leaves = 6, .directors = 2, .share = 3, .hosts = 6});
        const Tables tables = route(engine, full, {.data_vls = 1});
        EXPECT_TRUE(holds(full, tables));
        const Report report = with_shifts(full, tables);
        EXPECT_EQ(report.shifts.worst, 1U) << engine;
        EXPECT_EQ(report.load.unused, 0U) << engine;
        EXPECT_EQ(report.reach.hops_max, 4U) << engine;
    }
}

TEST(FatTreeRouting, FewerHostsThanCablesUpMeetAtMostTwice) {
    for (const char* const engine : {"ftree", "updn"}) {
        const Graph partial =
            make_directors({.pods = 4, .leaves = 10, .directors = 2, .share = 5, .hosts = 8});
        const Tables tables = route(engine, partial, {.data_vls = 1});
        EXPECT_TRUE(holds(partial, tables));
        EXPECT_LE(with_shifts(partial, tables).shifts.worst, 2U) << engine;
    }
}

TEST(FatTreeRouting, AnotherCableOfABundleTakesAShareOfWhatALostOneHad) {
    // Two leaves with 12 hosts each and two spines; one bundle of four cables has lost one.
    GraphBuilder builder;
    for (std::uint32_t i = 0; i < 4; ++i) {
        builder.add_switch(Guid{i + 1});
    }
    std::uint16_t lid = 1;
    for (std::uint32_t leaf = 0; leaf < 2; ++leaf) {
        for (std::uint8_t port = 1; port <= 12; ++port, ++lid) {
            builder.add_target({.guid = Guid{100U + lid},
                                .lid = Lid{lid},
                                .port = port,
                                .at = leaf,
                                .order = lid});
        }
        for (std::uint32_t spine = 0; spine < 2; ++spine) {
            for (std::uint32_t cable = 0; cable < (leaf + spine == 0 ? 3U : 4U); ++cable) {
                builder.add_cable(leaf, static_cast<std::uint8_t>(13 + 4 * spine + cable),
                                  2 + spine, static_cast<std::uint8_t>(1 + 4 * leaf + cable));
            }
        }
    }
    const Graph graph = builder.build().value();
    const Tables tables = route("ftree", graph);
    EXPECT_TRUE(verify(graph, tables, kSoundness).good());
    EXPECT_EQ(shift_contention(graph, tables, 12), 2U);
}

TEST(FatTreeRouting, SeveralHcasPerHost) {
    const Graph graph =
        make_graph({.shape = Shape::kFatTree, .hosts = 48, .hcas_per_host = 4, .radix = 16});
    EXPECT_TRUE(holds(graph, route("ftree", graph)));
}

TEST(FatTreeRouting, NoTreeIsRefusedWithAdvice) {
    const Graph graph = make_graph(torus({4, 4}));
    const auto tables = route_with_ftree(graph, {});
    ASSERT_FALSE(tables);
    EXPECT_NE(tables.error().message.find("updn or nue"), std::string::npos);
}

}  // namespace
}  // namespace softib::routing
