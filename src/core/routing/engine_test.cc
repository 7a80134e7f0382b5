// SPDX-License-Identifier: BSD-2-Clause
// Tests of what all engines have in common.
#include "core/routing/engine.h"

#include <gtest/gtest.h>

#include <set>

#include "core/routing/test_graphs.h"

namespace softib::routing {
namespace {

/// Returns fabrics of the shapes that an engine is for.
std::vector<topo::Spec> shapes_for(std::string_view engine) {
    const topo::Spec tree{.shape = topo::Shape::kFatTree, .hosts = 128, .radix = 8};
    const topo::Spec partial{.shape = topo::Shape::kFatTree, .hosts = 50, .radix = 16};
    if (engine == "ftree") {
        return {tree, partial};
    }
    if (engine == "dor") {
        return {torus({5, 6}), torus({4, 4})};
    }
    if (engine == "dragonfly") {
        return {dragonfly(9, 4, 2), dragonfly(3, 5, 2)};
    }
    return {tree, partial, torus({5, 6}), dragonfly(9, 4, 2)};
}

class EveryEngine : public testing::TestWithParam<Engine> {};

TEST_P(EveryEngine, SameInputGivesSameTables) {
    for (const topo::Spec& spec : shapes_for(GetParam().name)) {
        const topo::Fabric fabric = damage(make_fabric(spec), 1, 0, 5);
        const auto first = GetParam().route(graph_from(fabric), {});
        const auto second = GetParam().route(graph_from(fabric), {});
        ASSERT_TRUE(first);
        EXPECT_EQ(*first, *second);
        if (GetParam().name != "auto") {
            EXPECT_EQ(first->engine, GetParam().name);
        }
    }
}

TEST_P(EveryEngine, LidsOfOnePortTakeDifferentWays) {
    for (const topo::Spec& spec : shapes_for(GetParam().name)) {
        const Graph graph = make_graph(spec, 2);
        const auto tables = GetParam().route(graph, {});
        ASSERT_TRUE(tables);
        const Report report = check(graph, *tables);
        EXPECT_TRUE(report.arrives());
        EXPECT_TRUE(report.acyclic() || GetParam().name == "minhop");
        std::size_t spread = 0;
        for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
            for (const Target& target : graph.targets()) {
                std::set<std::uint8_t> ports;
                for (std::uint16_t i = 0; i < target.lid_count(); ++i) {
                    ports.insert(
                        tables->lfts.at(sw, Lid{static_cast<std::uint16_t>(target.lid.value + i)}));
                }
                spread += ports.size() - 1;
            }
        }
        // Dimension order, and single cables between groups of a dragonfly, leave no choice.
        if (spec.shape == topo::Shape::kFatTree) {
            EXPECT_GT(spread, graph.host_count() * 10U);
        }
    }
}

TEST_P(EveryEngine, NothingToRouteIsNoProblem) {
    GraphBuilder builder;
    for (int switches = 0; switches < 3; ++switches) {
        const Graph graph = builder.build().value();
        const auto tables = GetParam().route(graph, {});
        if (tables) {
            EXPECT_TRUE(check(graph, *tables).good());
        } else {
            EXPECT_EQ(GetParam().name, "dor") << tables.error().message;
        }
        builder.add_switch(Guid{static_cast<std::uint64_t>(switches) + 1});
    }
}

TEST_P(EveryEngine, RowsOutsideTheLidsHaveNoPath) {
    const Graph graph = make_graph(shapes_for(GetParam().name)[0]);
    const auto tables = GetParam().route(graph, {});
    ASSERT_TRUE(tables);
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        const auto row = tables->lfts.row(sw);
        EXPECT_EQ(row[0], kNoPath);
        for (std::size_t lid = graph.lid_max().value + 1U; lid < row.size(); ++lid) {
            EXPECT_EQ(row[lid], kNoPath);
        }
    }
}

TEST_P(EveryEngine, LanesFitWhatThereIs) {
    for (const topo::Spec& spec : shapes_for(GetParam().name)) {
        const Graph graph = make_graph(spec);
        for (const int vls : {2, 3, 15}) {
            const auto tables =
                GetParam().route(graph, {.data_vls = static_cast<std::uint8_t>(vls)});
            ASSERT_TRUE(tables);
            EXPECT_LE(tables->vls, vls);
            for (std::uint32_t a = 0; a < graph.switch_count(); ++a) {
                for (std::uint32_t b = 0; b < graph.switch_count(); ++b) {
                    ASSERT_LT(tables->sls.at(a, b), kSlCount);
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Engines, EveryEngine,
                         testing::ValuesIn(engines().begin(), engines().end()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Auto, TakesWhatSuitsTheShape) {
    const auto engine = [](const topo::Spec& spec) {
        return route_by_shape(make_graph(spec), {})->engine;
    };
    EXPECT_EQ(engine({.shape = topo::Shape::kSingleSwitch, .hosts = 4}), "ftree");
    EXPECT_EQ(engine({.shape = topo::Shape::kFatTree, .hosts = 32, .radix = 8}), "ftree");
    EXPECT_EQ(engine(torus({5, 5})), "dor");
    EXPECT_EQ(engine({.shape = topo::Shape::kDragonfly, .hosts = 36}), "dragonfly");
    for (const topo::Shape rails :
         {topo::Shape::kRailOptimized, topo::Shape::kRailOnly, topo::Shape::kSuperPod}) {
        EXPECT_EQ(engine({.shape = rails, .hosts = 12, .hcas_per_host = 4, .radix = 8}), "ftree");
    }
    EXPECT_EQ(engine({.shape = topo::Shape::kDragonflyPlus, .hosts = 90}), "updn");
    EXPECT_EQ(engine({.shape = topo::Shape::kHyperX, .hosts = 256}), "nue");
    EXPECT_EQ(route_by_shape(random_graph(20, 45, 25, 1), {})->engine, "nue");
}

class EveryShape : public testing::TestWithParam<topo::Shape> {};

TEST_P(EveryShape, IsRoutedWithoutCreditLoops) {
    const bool rails = GetParam() == topo::Shape::kRailOptimized ||
                       GetParam() == topo::Shape::kRailOnly || GetParam() == topo::Shape::kSuperPod;
    for (const std::uint32_t hosts : {5U, 40U, 180U}) {
        const Graph graph = make_graph({.shape = GetParam(),
                                        .hosts = hosts,
                                        .hcas_per_host = rails ? 4U : 1U,
                                        .radix = rails ? 16U : 0U});
        for (const char* const engine : {"auto", "updn", "nue"}) {
            EXPECT_TRUE(holds(graph, route(engine, graph))) << hosts;
            EXPECT_TRUE(holds(graph, route("nue", graph, {.data_vls = 1}))) << hosts;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, EveryShape, testing::ValuesIn(topo::kShapes),
                         [](const auto& test) {
                             std::string name = topo::to_string(test.param);
                             std::erase(name, '-');
                             return name;
                         });

TEST(Registry, FindsEnginesByName) {
    std::set<std::string_view> names;
    for (const Engine& engine : engines()) {
        EXPECT_EQ(find_engine(engine.name), &engine);
        EXPECT_FALSE(engine.purpose.empty());
        names.insert(engine.name);
    }
    EXPECT_EQ(names, (std::set<std::string_view>{"auto", "minhop", "updn", "ftree", "dor",
                                                 "dragonfly", "nue"}));
    EXPECT_EQ(find_engine("lash"), nullptr);
}

}  // namespace
}  // namespace softib::routing
