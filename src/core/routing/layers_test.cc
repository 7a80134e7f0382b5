// SPDX-License-Identifier: BSD-2-Clause
// Tests of the engines with layers, dfsssp and lash, and of the layers themselves.
#include "core/routing/layers.h"

#include <gtest/gtest.h>

#include "core/routing/sssp.h"
#include "core/routing/test_graphs.h"
#include "core/topo/spec.h"

namespace softib::routing {
namespace {

class Layered : public testing::TestWithParam<const char*> {};

TEST_P(Layered, RoutesEveryShapeOnTheLanesOfUsualSwitches) {
    for (const topo::Spec& spec :
         {topo::Spec{.hosts = 6},
          topo::Spec{.shape = topo::Shape::kFatTree, .hosts = 128, .radix = 8}, torus({5, 6}),
          torus({4, 4, 4}), torus({9}), dragonfly(9, 4, 2),
          topo::Spec{.shape = topo::Shape::kDragonflyPlus, .hosts = 90},
          topo::Spec{.shape = topo::Shape::kHyperX, .hosts = 100}}) {
        const Graph graph = make_graph(spec);
        const Tables tables = route(GetParam(), graph, {.data_vls = 8});
        EXPECT_TRUE(holds(graph, tables));
        EXPECT_EQ(check(graph, tables).one_way_sls, 0U) << "answers go back on the same SL";
        std::uint32_t farthest = 0;
        for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
            for (const std::uint32_t hops : hops_from(graph, sw)) {
                farthest = std::max(farthest, hops);
            }
        }
        EXPECT_EQ(check(graph, tables).reach.hops_max, farthest) << "paths are the shortest";
    }
}

TEST_P(Layered, RoutesDamagedAndRandomGraphs) {
    const topo::Fabric whole = make_fabric(torus({5, 5}));
    for (std::uint64_t seed = 1; seed <= last_seed(12); ++seed) {
        const Graph damaged = graph_from(damage(whole, seed % 5, seed % 3, seed));
        EXPECT_TRUE(holds(damaged, route(GetParam(), damaged, {.data_vls = 15}))) << seed;
        const Graph random = random_graph(16, 30, 20, seed);
        EXPECT_TRUE(holds(random, route(GetParam(), random, {.data_vls = 15}))) << seed;
    }
}

TEST_P(Layered, TreesNeedOneLaneForTheTrafficOfHosts) {
    const Graph graph = make_graph({.shape = topo::Shape::kFatTree, .hosts = 50, .radix = 16});
    EXPECT_EQ(route(GetParam(), graph, {.data_vls = 8}).vls, 1);
}

TEST_P(Layered, TooFewLanesAreRefusedWithAdvice) {
    const Graph graph = make_graph(torus({6, 6}));
    const auto tables = find_engine(GetParam())->route(graph, {.data_vls = 1});
    ASSERT_FALSE(tables);
    EXPECT_NE(tables.error().message.find("nue"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Engines, Layered, testing::Values("dfsssp", "lash"));

TEST(Layers, RoutesWithoutCyclesStayOnOneLane) {
    const Graph graph = make_graph(torus({3, 3}));
    Tables tables = route("dor", graph);
    ASSERT_TRUE(tables.sls.uniform());
    EXPECT_TRUE(break_cycles(graph, 1, tables));
    EXPECT_TRUE(add_pair_by_pair(graph, 1, tables));
    EXPECT_EQ(tables.vls, 1);
}

TEST(Layers, ARingIsBrokenByASecondLane) {
    const Graph graph = make_graph(torus({7}));
    for (const auto part : {break_cycles, add_pair_by_pair}) {
        Tables tables{.engine = "test", .lfts = route_by_switch(graph, false)};
        ASSERT_FALSE(holds(graph, tables));
        EXPECT_FALSE(part(graph, 1, tables));
        EXPECT_TRUE(tables.sls.uniform()) << "nothing changed";
        ASSERT_TRUE(part(graph, 2, tables));
        EXPECT_EQ(tables.vls, 2);
        EXPECT_TRUE(holds(graph, tables));
    }
}

TEST(Sssp, ParallelCablesShareTheTraffic) {
    GraphBuilder builder;
    builder.add_switch(Guid{1});
    builder.add_switch(Guid{2});
    for (std::uint8_t port = 1; port <= 4; ++port) {
        builder.add_cable(0, port, 1, port);
    }
    for (std::uint16_t lid = 1; lid <= 16; ++lid) {
        builder.add_target({.guid = Guid{10U + lid},
                            .lid = Lid{lid},
                            .port = static_cast<std::uint8_t>(4 + lid),
                            .at = lid % 2U,
                            .order = lid});
    }
    const Graph graph = builder.build().value();
    const Report report = check(graph, {.engine = "test", .lfts = route_by_weights(graph)});
    EXPECT_EQ(report.load.min, report.load.max);
}

}  // namespace
}  // namespace softib::routing
