// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/detours.h"

#include <gtest/gtest.h>

#include "core/routing/test_graphs.h"

namespace softib::routing {
namespace {

void erase_route(const Graph& graph, std::uint32_t from, std::uint32_t to, Tables& tables) {
    for (const Lid lid : graph.lids(to)) {
        tables.lfts.at(from, lid) = kNoPath;
    }
}

constexpr std::uint8_t kSls[] = {0, 1, 2, 3};

TEST(Detours, DeadEndsAreErasedAndNamed) {
    const Graph graph = make_graph(torus({7}));
    Tables tables = route("updn", graph);
    // Switches that send to switch 0 through switch 3 lose their route too.
    erase_route(graph, 3, 0, tables);
    std::vector<Hole> expected;
    for (std::uint32_t from = 1; from < 7; ++from) {
        const Lid lid = graph.lids(0)[0];
        if (path_to(graph, tables, from, lid).empty()) {
            expected.push_back({from, 0});
        }
    }
    EXPECT_EQ(erase_dead_ends(graph, tables), expected);
    EXPECT_FALSE(expected.empty());
    for (const Hole& hole : expected) {
        EXPECT_EQ(tables.lfts.at(hole.from, graph.lids(0)[0]), kNoPath);
    }
}

TEST(Detours, IslandsAreNoHoles) {
    topo::Fabric fabric = make_fabric({.shape = topo::Shape::kFatTree, .hosts = 2});
    unplug(fabric, 3, 2);
    const Graph graph = graph_from(fabric);
    Tables tables = route("minhop", graph);
    EXPECT_TRUE(erase_dead_ends(graph, tables).empty());
}

TEST(Detours, FillWhatWasErasedWithoutACycle) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const Graph graph = random_graph(20, 45, 25, seed);
        Tables tables = route("updn", graph);
        Prng prng(seed);
        for (int i = 0; i < 12; ++i) {
            const auto from = static_cast<std::uint32_t>(prng.below(20));
            const auto to = static_cast<std::uint32_t>(prng.below(20));
            if (from != to) {
                erase_route(graph, from, to, tables);
            }
        }
        const std::vector<Hole> holes = erase_dead_ends(graph, tables);
        EXPECT_TRUE(fill_holes(graph, holes, kSls, tables).empty()) << seed;
        EXPECT_TRUE(holds(graph, tables)) << seed;
    }
}

TEST(Detours, ARuleIsKept) {
    // Two leaves and three spines; leaf 0 has lost spine 2, and leaf 1 may not turn packets.
    topo::Fabric fabric =
        make_fabric({.shape = topo::Shape::kFatTree, .hosts = 9, .radix = 6, .levels = 2});
    const auto leaf = fabric.find_node("leaf0")->value;
    const auto spine = *fabric.find_node("spine2");
    for (std::size_t port = 1; port < fabric.nodes[leaf].ports.size(); ++port) {
        if (fabric.nodes[leaf].ports[port].peer == spine) {
            unplug(fabric, leaf, port);
        }
    }
    const Graph graph = graph_from(fabric);
    Tables tables = route("minhop", graph);
    const std::uint32_t to = graph.switch_count() - 1;
    for (std::uint32_t sw = 3; sw < to; ++sw) {
        erase_route(graph, sw, to, tables);
    }
    erase_route(graph, 0, to, tables);
    const std::vector<Hole> hole{{0, to}};
    Tables closed = tables;
    const auto nobody = [](std::uint32_t, std::uint32_t) { return false; };
    EXPECT_EQ(fill_holes_by_rule(graph, hole, 0, nobody, closed), hole);
    EXPECT_EQ(closed, tables) << "what did not help is taken back";
    const auto only_leaf_2 = [&](std::uint32_t link, std::uint32_t) {
        const std::uint32_t at = graph.links()[link].peer;
        return at == 2 || at >= 3;
    };
    EXPECT_TRUE(fill_holes_by_rule(graph, hole, 0, only_leaf_2, tables).empty());
    const auto path = path_to(graph, tables, 0, graph.lids(to)[0]);
    ASSERT_EQ(path.size(), 4U);
    EXPECT_EQ(path[2], 2U);
    // One spine helps on the way; the others still have no route.
    EXPECT_EQ(check(graph, tables).reach.lost, 0U);
}

}  // namespace
}  // namespace softib::routing
