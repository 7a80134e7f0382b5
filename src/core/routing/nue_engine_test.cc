// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "core/routing/test_graphs.h"
#include "core/topo/spec.h"

namespace softib::routing {
namespace {

class Nue : public testing::TestWithParam<int> {
  protected:
    Options options() const { return {.data_vls = static_cast<std::uint8_t>(GetParam())}; }

    void expect_good(const Graph& graph, std::uint64_t seed = 0) const {
        const Tables tables = route("nue", graph, options());
        EXPECT_TRUE(holds(graph, tables)) << seed;
        EXPECT_LE(tables.vls, GetParam());
        EXPECT_EQ(check(graph, tables).reach.switch_pairs_lost, 0U) << seed;
    }
};

TEST_P(Nue, RoutesEveryShape) {
    for (const topo::Spec& spec :
         {torus({9}), torus({5, 7}), torus({4, 4, 4}), torus({6, 3, 5}), dragonfly(9, 4, 2),
          dragonfly(3, 5, 2), two_levels(), three_levels(), topo::Spec{.hosts = 20}}) {
        expect_good(make_graph(spec));
    }
}

TEST_P(Nue, RoutesDamagedShapes) {
    for (const topo::Spec& spec :
         {torus({5, 5}), torus({4, 4, 3}), dragonfly(9, 4, 1),
          topo::Spec{.shape = topo::Shape::kFatTree, .hosts = 128, .radix = 8}}) {
        const topo::Fabric whole = make_fabric(spec);
        for (std::uint64_t seed = 1; seed <= last_seed(10); ++seed) {
            expect_good(graph_from(damage(whole, seed * 2, seed % 3, seed)), seed);
        }
    }
}

TEST_P(Nue, RoutesRandomGraphs) {
    for (std::uint64_t seed = 1; seed <= last_seed(25); ++seed) {
        expect_good(random_graph(40, 40 + 4 * static_cast<std::uint32_t>(seed), 50, seed), seed);
    }
}

TEST_P(Nue, UsesTheLanesItIsGiven) {
    const Graph graph = make_graph(torus({5, 5}));
    EXPECT_EQ(route("nue", graph, options()).vls, GetParam());
    Options off = options();
    off.qos = false;
    EXPECT_EQ(route("nue", graph, off).vls, 1);
}

INSTANTIATE_TEST_SUITE_P(Lanes, Nue, testing::Values(1, 2, 4, 8),
                         [](const auto& test) { return std::to_string(test.param); });

TEST(NueBalance, FullTreesHaveNoContentionInShifts) {
    for (const topo::Spec& spec : {two_levels(), three_levels()}) {
        const Graph graph = make_graph(spec);
        const Report report =
            verify(graph, route("nue", graph, {.data_vls = 1}), {.random_samples = 0});
        EXPECT_EQ(report.shifts.worst, 1U);
    }
}

TEST(NueBalance, MoreLanesSpreadATorusBetter) {
    const Graph graph = make_graph(torus({6, 6, 6}));
    const auto max = [&](std::uint8_t vls) {
        return check(graph, route("nue", graph, {.data_vls = vls})).load.max;
    };
    EXPECT_LT(max(4), max(1));
}

}  // namespace
}  // namespace softib::routing
