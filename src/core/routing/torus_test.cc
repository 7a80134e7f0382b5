// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/torus.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/routing/test_graphs.h"

namespace softib::routing {
namespace {

std::optional<Torus> torus_in(const Graph& graph) {
    return find_torus(graph, Neighbours(graph));
}

std::vector<std::uint32_t> sizes(const Torus& torus) {
    std::vector<std::uint32_t> result;
    for (const Torus::Dimension& dimension : torus.dimensions) {
        result.push_back(dimension.size);
    }
    std::ranges::sort(result);
    return result;
}

/// Returns a torus without the cables that join the ends of its lines.
topo::Fabric mesh(std::vector<std::uint32_t> dimensions) {
    topo::Fabric fabric = make_fabric(torus(std::move(dimensions)));
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        for (std::size_t port = 1; port < fabric.nodes[i].ports.size(); ++port) {
            const topo::NodeIndex peer = fabric.nodes[i].ports[port].peer;
            if (peer == topo::kNoNode || fabric.node(peer).kind == topo::NodeKind::kHca ||
                fabric.nodes[i].kind == topo::NodeKind::kHca) {
                continue;
            }
            const auto& a = fabric.nodes[i].coordinates;
            const auto& b = fabric.node(peer).coordinates;
            for (std::size_t d = 0; d < a.size(); ++d) {
                if (a[d] > b[d] + 1 || b[d] > a[d] + 1) {
                    unplug(fabric, i, port);
                    break;
                }
            }
        }
    }
    return fabric;
}

TEST(FindTorus, SizesAreThoseOfTheGenerator) {
    EXPECT_EQ(sizes(*torus_in(make_graph(torus({9})))), (std::vector<std::uint32_t>{9}));
    EXPECT_EQ(sizes(*torus_in(make_graph(torus({5, 7})))), (std::vector<std::uint32_t>{5, 7}));
    EXPECT_EQ(sizes(*torus_in(make_graph(torus({3, 3, 3})))),
              (std::vector<std::uint32_t>{3, 3, 3}));
    EXPECT_EQ(sizes(*torus_in(make_graph(torus({2, 5, 3, 6})))),
              (std::vector<std::uint32_t>{2, 3, 5, 6}));
    EXPECT_EQ(sizes(*torus_in(make_graph(torus({4, 5})))), (std::vector<std::uint32_t>{2, 2, 5}));
}

TEST(FindTorus, LinesAndRingsAreToldApart) {
    const auto ring = torus_in(make_graph(torus({6, 3})));
    ASSERT_TRUE(ring);
    EXPECT_TRUE(std::ranges::all_of(ring->dimensions, &Torus::Dimension::ring));
    const auto line = torus_in(graph_from(mesh({6, 4, 3})));
    ASSERT_TRUE(line);
    EXPECT_EQ(sizes(*line), (std::vector<std::uint32_t>{3, 4, 6}));
    EXPECT_TRUE(std::ranges::none_of(line->dimensions, &Torus::Dimension::ring));
}

TEST(FindTorus, StepsFollowCables) {
    const Graph graph = make_graph(torus({5, 2, 3}));
    const Torus torus = *torus_in(graph);
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        EXPECT_EQ(torus.switch_at[torus.index(sw)], sw);
        for (std::size_t d = 0; d < 3; ++d) {
            const std::uint32_t next = torus.step(sw, d, true);
            if (next == kNone) {
                EXPECT_EQ(torus.dimensions[d].size, 2U);
                continue;
            }
            EXPECT_EQ(torus.step(next, d, false), sw);
            EXPECT_TRUE(std::ranges::any_of(graph.links(sw),
                                            [&](const Link& link) { return link.peer == next; }));
        }
    }
}

TEST(FindTorus, SurvivesDamage) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const auto found = torus_in(graph_from(damage(make_fabric(torus({5, 5, 5})), 12, 2, seed)));
        ASSERT_TRUE(found) << seed;
        EXPECT_EQ(sizes(*found), (std::vector<std::uint32_t>{5, 5, 5})) << seed;
    }
}

TEST(FindTorus, OtherShapesAreNone) {
    EXPECT_FALSE(torus_in(make_graph(three_levels())));
    EXPECT_FALSE(torus_in(make_graph(two_levels())));
    EXPECT_FALSE(torus_in(make_graph(dragonfly(9, 4, 2))));
    EXPECT_FALSE(torus_in(make_graph({.hosts = 4}))) << "one switch";
    EXPECT_FALSE(torus_in(random_graph(30, 80, 10, 3)));
}

TEST(Dor, MeshesNeedOneLane) {
    for (const auto& dimensions : {std::vector<std::uint32_t>{9}, {6, 5}, {5, 3, 6}}) {
        const Graph graph = graph_from(mesh(dimensions));
        const Tables tables = route("dor", graph, {.data_vls = 1});
        EXPECT_TRUE(holds(graph, tables));
        EXPECT_EQ(tables.vls, 1);
    }
}

}  // namespace
}  // namespace softib::routing
