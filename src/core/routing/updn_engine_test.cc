// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "core/routing/test_graphs.h"
#include "core/routing/tree.h"
#include "core/topo/spec.h"

namespace softib::routing {
namespace {

/// Returns the order of switches that updn finds if no roots are given.
Places places_of(const Graph& graph) {
    const Neighbours neighbours(graph);
    const auto levels = find_levels(graph, neighbours, {});
    return levels ? places_by_level(*levels) : places_by_distance(graph, {});
}

/// Returns how many times a path goes up after it has gone down.
int second_climbs(const Places& places, const std::vector<std::uint32_t>& path) {
    int climbs = 0;
    bool down = false;
    for (std::size_t i = 1; i < path.size(); ++i) {
        const bool up = places[path[i]] < places[path[i - 1]];
        climbs += up && down ? 1 : 0;
        down = !up;
    }
    return climbs;
}

void expect_hosts_turn_once(const Graph& graph, const Tables& tables, const Places& places) {
    for (const Target& to : graph.targets()) {
        for (const Target& from : graph.targets()) {
            if (!to.is_switch() && !from.is_switch()) {
                const auto path = path_to(graph, tables, from.at, to.lid);
                ASSERT_EQ(second_climbs(places, path), 0);
            }
        }
    }
}

TEST(UpDown, APacketTurnsOnce) {
    for (const topo::Spec& spec :
         {topo::Spec{.shape = topo::Shape::kFatTree, .hosts = 128, .radix = 8},
          topo::Spec{.shape = topo::Shape::kFatTree, .hosts = 60, .radix = 16}, torus({5, 4}),
          torus({3, 3, 3}), dragonfly(5, 4, 1)}) {
        const Graph graph = make_graph(spec);
        const Tables tables = route("updn", graph);
        EXPECT_TRUE(holds(graph, tables));
        EXPECT_EQ(tables.vls, 1);
        expect_hosts_turn_once(graph, tables, places_of(graph));
    }
}

TEST(UpDown, HostsOnSpinesDoNotTurnTheTreeIntoOneWithASingleRoot) {
    // As on switches with an aggregation node each, which is a host on the spine.
    GraphBuilder builder;
    constexpr std::uint32_t kLeaves = 6;
    constexpr std::uint32_t kSpines = 4;
    for (std::uint32_t i = 0; i < kLeaves + kSpines; ++i) {
        builder.add_switch(Guid{i + 1});
    }
    std::uint16_t lid = 1;
    for (std::uint32_t sw = 0; sw < kLeaves + kSpines; ++sw) {
        const std::uint8_t hosts = sw < kLeaves ? 8 : 1;
        for (std::uint8_t port = 1; port <= hosts; ++port, ++lid) {
            builder.add_target(
                {.guid = Guid{100U + lid}, .lid = Lid{lid}, .port = port, .at = sw, .order = lid});
        }
        for (std::uint32_t spine = 0; sw < kLeaves && spine < kSpines; ++spine) {
            builder.add_cable(sw, static_cast<std::uint8_t>(9 + spine), kLeaves + spine,
                              static_cast<std::uint8_t>(9 + sw));
        }
    }
    const Graph graph = builder.build().value();
    const Tables tables = route("updn", graph, {.data_vls = 1});
    const Report report = verify(graph, tables, kSoundness);
    EXPECT_TRUE(report.good());
    EXPECT_EQ(report.load.unused, 0U) << "the cables of all spines carry traffic";
}

TEST(UpDown, AlsoOnADamagedTree) {
    const topo::Fabric whole =
        make_fabric({.shape = topo::Shape::kFatTree, .hosts = 128, .radix = 8});
    for (std::uint64_t seed = 1; seed <= last_seed(40); ++seed) {
        const Graph graph = graph_from(damage(whole, seed % 12, seed % 3, seed));
        const Tables tables = route("updn", graph);
        EXPECT_TRUE(holds(graph, tables)) << seed;
        expect_hosts_turn_once(graph, tables, places_of(graph));
    }
}

TEST(UpDown, OneLaneIsEnoughForDamagedTrees) {
    for (const topo::Spec& spec : {two_levels(), three_levels()}) {
        const topo::Fabric whole = make_fabric(spec);
        for (std::uint64_t seed = 1; seed <= last_seed(15); ++seed) {
            const Graph graph = graph_from(damage(whole, 10 + seed, 1, seed));
            EXPECT_TRUE(holds(graph, route("updn", graph, {.data_vls = 1}))) << seed;
        }
    }
}

TEST(UpDown, DamagedToriAndDragonfliesAreReached) {
    for (const topo::Spec& spec : {torus({5, 7}), torus({4, 4, 4}), dragonfly(9, 4, 2)}) {
        const topo::Fabric whole = make_fabric(spec);
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            const Graph graph = graph_from(damage(whole, 2 * seed, seed % 3, seed));
            EXPECT_TRUE(holds(graph, route("updn", graph))) << seed;
        }
    }
}

TEST(UpDown, RandomGraphs) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const Graph graph = random_graph(40, 70, 60, seed);
        EXPECT_TRUE(holds(graph, route("updn", graph))) << seed;
    }
}

TEST(UpDown, GivenRootsAreUsed) {
    // Packets from the root's neighbours never cross the far side of the ring: behind it they would
    // go up again.
    const Graph graph = make_graph(torus({9}));
    const Tables tables = route("updn", graph, {.roots = {graph.guid(2)}});
    EXPECT_TRUE(holds(graph, tables));
    const Neighbours neighbours(graph);
    const std::vector<std::uint32_t> root{2};
    expect_hosts_turn_once(graph, tables, places_by_distance(graph, root));
}

TEST(UpDown, RootsWithoutACommonOneDoNotSeparateHosts) {
    // With roots at both ends of a row, hosts near one root could not reach those near the other.
    GraphBuilder builder;
    for (std::uint32_t i = 0; i < 5; ++i) {
        builder.add_switch(Guid{i + 1});
        builder.add_target({.guid = Guid{10 + i},
                            .lid = Lid{static_cast<std::uint16_t>(i + 1)},
                            .port = 9,
                            .at = i,
                            .order = i});
    }
    for (std::uint32_t i = 0; i < 4; ++i) {
        builder.add_cable(i, 2, i + 1, 1);
    }
    const Graph graph = builder.build().value();
    EXPECT_TRUE(holds(graph, route("updn", graph, {.roots = {Guid{1}, Guid{5}}})));
}

TEST(UpDown, UnknownRootIsRefused) {
    const Graph graph = make_graph(torus({3}));
    EXPECT_FALSE(route_with_updn(graph, {.roots = {Guid{99}}}));
}

/// Packets between hosts of a dragonfly+ go up, across and down, by all cables alike, on one lane.
/// Two more lanes are for packets from switches that have no cable to the group they answer to.
TEST(UpDown, GroupsOfADragonflyPlusAreCrossedDirectly) {
    for (const std::uint32_t hosts : {90U, 200U, 400U}) {
        const Graph graph = make_graph({.shape = topo::Shape::kDragonflyPlus, .hosts = hosts});
        const Tables tables = route("updn", graph);
        EXPECT_TRUE(holds(graph, tables));
        EXPECT_LE(tables.vls, 3);
        for (std::uint32_t from = 0; from < graph.switch_count(); ++from) {
            for (const Target& target : graph.targets()) {
                if (graph.host_count(from) != 0 && !target.is_switch() && target.at != from) {
                    ASSERT_LE(path_to(graph, tables, from, target.lid).size(), 4U);
                    ASSERT_EQ(tables.sls.at(from, target.at), 0);
                }
            }
        }
        EXPECT_EQ(check(graph, tables).load.unused, 0U);
    }
}

TEST(UpDown, ADragonflyPlusOnOneLaneHasOneRoot) {
    const Graph graph = make_graph({.shape = topo::Shape::kDragonflyPlus, .hosts = 90});
    EXPECT_TRUE(holds(graph, route("updn", graph, {.data_vls = 1})));
}

TEST(UpDown, DamagedDragonflyPlusIsReached) {
    const topo::Fabric whole = make_fabric({.shape = topo::Shape::kDragonflyPlus, .hosts = 200});
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const Graph graph = graph_from(damage(whole, seed, seed % 3, seed));
        EXPECT_TRUE(holds(graph, route("updn", graph))) << seed;
        EXPECT_TRUE(holds(graph, route("auto", graph))) << seed;
    }
}

TEST(UpDown, FullTreesHaveNoContentionInShifts) {
    for (const topo::Spec& spec : {two_levels(), three_levels()}) {
        const Graph graph = make_graph(spec);
        const Report report = verify(graph, route("updn", graph), {.random_samples = 0});
        EXPECT_EQ(report.shifts.worst, 1U);
    }
}

}  // namespace
}  // namespace softib::routing
