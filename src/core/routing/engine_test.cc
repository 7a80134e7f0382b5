// SPDX-License-Identifier: BSD-2-Clause
// Tests of what all engines have in common.
#include "core/routing/engine.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "core/routing/test_graphs.h"
#include "core/topo/netlist.h"
#include "core/topo/spec.h"

namespace softib::routing {
namespace {

/// Returns fabrics of the shapes that an engine is for.
std::vector<topo::Spec> shapes_for(std::string_view engine) {
    const topo::Spec tree{.shape = topo::Shape::kFatTree, .hosts = 128, .radix = 8};
    const topo::Spec partial{.shape = topo::Shape::kFatTree, .hosts = 50, .radix = 16};
    if (engine == "ftree") {
        return {tree, partial};
    }
    if (engine == "dor" || engine == "torus-2QoS") {
        return {torus({5, 6}), torus({4, 4})};
    }
    if (engine == "dragonfly") {
        return {dragonfly(9, 4, 2), dragonfly(3, 5, 2)};
    }
    return {tree, partial, torus({5, 6}), dragonfly(9, 4, 2)};
}

/// Returns whether an engine may need more lanes than there are.
bool counts_lanes(std::string_view engine) {
    return engine == "dfsssp" || engine == "lash" || engine == "torus-2QoS";
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
        // Dimension order, and single cables between groups of a dragonfly, leave no choice, and
        // lash takes one way for all LIDs of a switch.
        if (spec.shape == topo::Shape::kFatTree && GetParam().name != "lash") {
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
            EXPECT_TRUE(GetParam().name == "dor" || GetParam().name == "torus-2QoS")
                << tables.error().message;
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
            if (!tables && counts_lanes(GetParam().name) && vls < 8) {
                EXPECT_NE(tables.error().message.find("lanes"), std::string::npos);
                continue;
            }
            ASSERT_TRUE(tables) << tables.error().message;
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
                         [](const auto& test) {
                             std::string name(test.param.name);
                             std::erase(name, '-');
                             return name;
                         });

TEST(Auto, TakesWhatSuitsTheShape) {
    const auto engine = [](const topo::Spec& spec) {
        return route_auto(make_graph(spec), {})->engine;
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
    EXPECT_EQ(engine({.shape = topo::Shape::kHyperX, .hosts = 256}), "dfsssp, balanced");
}

/// Returns the flows on the busiest link, on average over shifts and random permutations.
double flows_that_meet(const Graph& graph, const Tables& tables) {
    const Report report = verify(graph, tables, {.random_samples = 32});
    return report.shifts.mean + report.random.mean;
}

TEST(Auto, LetsNoMoreFlowsMeetThanAnyOtherEngine) {
    for (std::uint64_t seed = 1; seed <= last_seed(8); ++seed) {
        const Graph graph = seed % 4 == 0 ? random_graph(12, 40, 60, seed) : uneven_tree(seed);
        const Tables tables = route("auto", graph);
        EXPECT_TRUE(holds(graph, tables)) << seed;
        const double here = flows_that_meet(graph, tables);
        for (const char* const other : {"minhop", "updn", "ftree", "dfsssp", "lash", "nue"}) {
            if (const auto theirs = find_engine(other)->route(graph, {})) {
                EXPECT_LE(here, flows_that_meet(graph, *theirs)) << other << ", seed " << seed;
            }
        }
    }
}

TEST(Auto, RegularTreesAreLeftToFtree) {
    for (const std::uint32_t hosts : {5U, 16U, 50U, 97U, 180U, 432U}) {
        for (const std::uint32_t rails : {1U, 4U}) {
            for (const std::uint32_t radix : {8U, 16U, 36U}) {
                const Graph graph = make_graph(
                    {.shape = rails == 1 ? topo::Shape::kFatTree : topo::Shape::kRailOptimized,
                     .hosts = std::min(hosts, radix * radix * radix / 4 / rails),
                     .hcas_per_host = rails,
                     .radix = radix});
                EXPECT_EQ(route("auto", graph), route("ftree", graph)) << hosts << " " << radix;
            }
        }
    }
}

TEST(Auto, SwitchesThatChooseByLoadGetTheirSetsOfPorts) {
    const Graph graph = uneven_tree(1);
    EXPECT_FALSE(route("auto", graph, {.adaptive = true}).groups.empty());
}

/// Dumps of real clusters are other people's, so they are not in this tree: the directory of such
/// files is in SOFTIB_TEST_DUMPS.
TEST(Auto, LetsNoMoreFlowsMeetOnRealClustersEither) {
    const char* const folder = std::getenv("SOFTIB_TEST_DUMPS");
    if (folder == nullptr) {
        GTEST_SKIP() << "SOFTIB_TEST_DUMPS names no directory";
    }
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
        std::ifstream in(file.path(), std::ios::binary);
        const std::string text(std::istreambuf_iterator<char>(in), {});
        const auto fabric = topo::read_netlist(text, file.path().string());
        ASSERT_TRUE(fabric) << fabric.error().message;
        const Graph graph = graph_from(*fabric);
        const Tables tables = route("auto", graph);
        EXPECT_TRUE(verify(graph, tables, kSoundness).good()) << file.path();
        const double here = flows_that_meet(graph, tables);
        for (const char* const other : {"minhop", "updn", "ftree", "dfsssp", "lash", "nue"}) {
            if (const auto theirs = find_engine(other)->route(graph, {})) {
                EXPECT_LE(here, flows_that_meet(graph, *theirs)) << other << ", " << file.path();
            }
        }
    }
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
    EXPECT_EQ(names,
              (std::set<std::string_view>{"auto", "minhop", "updn", "ftree", "dor", "torus-2QoS",
                                          "dragonfly", "dfsssp", "lash", "nue"}));
    EXPECT_EQ(find_engine("sssp"), nullptr);
}

}  // namespace
}  // namespace softib::routing
