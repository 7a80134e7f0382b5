// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <map>

#include "core/routing/test_graphs.h"
#include "core/topo/spec.h"

namespace softib::routing {
namespace {

using topo::Shape;

/// Returns the hops from every switch to one of them; kNone if it cannot be reached.
std::vector<std::uint32_t> distances_to(const Graph& graph, std::uint32_t to) {
    std::vector<std::uint32_t> distance(graph.switch_count(), kNone);
    std::vector<std::uint32_t> queue{to};
    distance[to] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i) {
        for (const Link& link : graph.links(queue[i])) {
            if (distance[link.peer] == kNone) {
                distance[link.peer] = distance[queue[i]] + 1;
                queue.push_back(link.peer);
            }
        }
    }
    return distance;
}

struct MinHopCase {
    const char* name;
    topo::Spec spec;
};

class MinHop : public testing::TestWithParam<MinHopCase> {};

TEST_P(MinHop, EverySwitchReachesEveryLidOnAShortestPath) {
    const Graph graph = make_graph(GetParam().spec);
    const Tables tables = route("minhop", graph);
    for (const Target& target : graph.targets()) {
        const auto distance = distances_to(graph, target.at);
        EXPECT_EQ(tables.lfts.at(target.at, target.lid), target.port);
        for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
            ASSERT_EQ(path_to(graph, tables, sw, target.lid).size(), distance[sw] + 1);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, MinHop,
    testing::Values(
        MinHopCase{"OneHost", {.hosts = 1}}, MinHopCase{"SingleSwitch", {.hosts = 254}},
        MinHopCase{"SmallestTree", {.shape = Shape::kFatTree, .hosts = 2}},
        MinHopCase{"Tree2", {.shape = Shape::kFatTree, .hosts = 100, .radix = 16}},
        MinHopCase{"Tree3", {.shape = Shape::kFatTree, .hosts = 100, .radix = 8}},
        MinHopCase{"Tree3OddRadix", {.shape = Shape::kFatTree, .hosts = 60, .radix = 7}},
        MinHopCase{"Rails", {.shape = Shape::kFatTree, .hosts = 24, .hcas_per_host = 8}},
        MinHopCase{"Ring", torus({9})}, MinHopCase{"Torus2", torus({5, 7})},
        MinHopCase{"Torus5", torus({2, 3, 2, 3, 2})},
        MinHopCase{"Dragonfly", {.shape = Shape::kDragonfly, .hosts = 72}},
        MinHopCase{"DragonflyManyCables", dragonfly(3, 5, 4)}),
    [](const auto& test) { return test.param.name; });

TEST(MinHop, RandomGraphsAreReachedAsFarAsTheyAreJoined) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const Graph graph = random_graph(70, 90, 100, seed);
        const Report report = check(graph, route("minhop", graph));
        EXPECT_TRUE(report.arrives()) << seed;
        EXPECT_GT(report.reach.apart, 0U) << "the test should see islands";
    }
}

TEST(MinHop, UplinksOfAFullTreeCarryEqualNumbersOfLids) {
    const Graph graph = make_graph({.shape = Shape::kFatTree, .hosts = 128, .radix = 16});
    const Tables tables = route("minhop", graph);
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        if (graph.host_count(sw) == 0) {
            continue;
        }
        std::map<std::uint8_t, int> uses;
        for (std::uint16_t lid = 1; lid <= 128; ++lid) {
            if (graph.targets()[graph.target_of(Lid{lid})].at != sw) {
                ++uses[tables.lfts.at(sw, Lid{lid})];
            }
        }
        EXPECT_EQ(uses.size(), 8U);
        for (const auto& [port, count] : uses) {
            EXPECT_EQ(count, 15) << "switch " << sw << " port " << int{port};
        }
    }
}

TEST(MinHop, TheLowestOfTheLeastUsedPortsIsTaken) {
    // Three parallel cables between two switches; LIDs 1 to 4 are hosts of the far switch.
    GraphBuilder builder;
    builder.add_switch(Guid{1});
    builder.add_switch(Guid{2});
    for (const std::uint8_t port : {std::uint8_t{4}, std::uint8_t{2}, std::uint8_t{9}}) {
        builder.add_cable(0, port, 1, port);
    }
    for (std::uint16_t lid = 1; lid <= 4; ++lid) {
        builder.add_target({.guid = Guid{10U + lid},
                            .lid = Lid{lid},
                            .port = static_cast<std::uint8_t>(20 + lid),
                            .at = 1});
    }
    const Graph graph = builder.build().value();
    const Tables tables = route("minhop", graph);
    const auto row = tables.lfts.row(0);
    EXPECT_EQ(std::vector(row.begin() + 1, row.begin() + 5),
              (std::vector<std::uint8_t>{2, 4, 9, 2}));
}

}  // namespace
}  // namespace softib::routing
