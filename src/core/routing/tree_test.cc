// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "core/routing/columns.h"
#include "core/routing/numbering.h"
#include "core/routing/test_graphs.h"
#include "core/topo/spec.h"

namespace softib::routing {
namespace {

/// Returns the levels that the generator made, by switch.
std::vector<std::uint32_t> drawn_levels(const topo::Fabric& fabric) {
    std::vector<std::uint32_t> levels;
    for (const topo::Node& node : fabric.nodes) {
        if (node.kind == topo::NodeKind::kSwitch) {
            levels.push_back(node.level);
        }
    }
    return levels;
}

std::optional<TreeLevels> levels_of(const Graph& graph, std::span<const std::uint32_t> roots = {}) {
    return find_levels(graph, Neighbours(graph), roots);
}

TEST(TreeLevels, AreThoseOfTheGenerator) {
    for (const topo::Spec& spec :
         {two_levels(), three_levels(),
          topo::Spec{.shape = topo::Shape::kFatTree, .hosts = 100, .radix = 8},
          topo::Spec{.shape = topo::Shape::kFatTree, .hosts = 24, .hcas_per_host = 8},
          topo::Spec{.hosts = 9}}) {
        const topo::Fabric fabric = make_fabric(spec);
        const auto levels = levels_of(graph_from(fabric));
        ASSERT_TRUE(levels);
        EXPECT_EQ(levels->level, drawn_levels(fabric));
    }
}

TEST(TreeLevels, SurviveDamage) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const topo::Fabric fabric = damage(make_fabric(three_levels()), 40, 0, seed);
        const auto levels = levels_of(graph_from(fabric));
        ASSERT_TRUE(levels) << seed;
        EXPECT_EQ(levels->level, drawn_levels(fabric)) << seed;
    }
}

TEST(TreeLevels, HostsOnASpineDoNotMakeItALeaf) {
    topo::Fabric fabric = make_fabric(three_levels());
    // The first host moves to a port that a spine has lost.
    const auto spine = fabric.find_node("spine0")->value;
    unplug(fabric, spine, 12);
    unplug(fabric, 0, 1);
    fabric.nodes[0].ports[1] = {topo::NodeIndex{spine}, PortNum{12}};
    fabric.nodes[spine].ports[12] = {topo::NodeIndex{0}, PortNum{1}};
    ASSERT_TRUE(topo::validate(fabric));
    const auto levels = levels_of(graph_from(fabric));
    ASSERT_TRUE(levels);
    EXPECT_EQ(levels->level, drawn_levels(fabric));
}

TEST(TreeLevels, ALeafWithoutHostsIsNoRoot) {
    for (const topo::Spec& spec : {two_levels(), three_levels()}) {
        topo::Fabric fabric = make_fabric(spec);
        const auto leaf = fabric.find_node("leaf3")->value;
        for (std::size_t port = 1; port < fabric.nodes[leaf].ports.size(); ++port) {
            const topo::NodeIndex peer = fabric.nodes[leaf].ports[port].peer;
            if (peer != topo::kNoNode && fabric.node(peer).kind == topo::NodeKind::kHca) {
                unplug(fabric, leaf, port);
            }
        }
        const auto levels = levels_of(graph_from(fabric));
        ASSERT_TRUE(levels);
        EXPECT_EQ(levels->level, drawn_levels(fabric));
    }
}

TEST(TreeLevels, GivenRootsAreTheTop) {
    const topo::Fabric fabric = make_fabric(three_levels());
    std::vector<std::uint32_t> cores;
    const auto drawn = drawn_levels(fabric);
    for (std::uint32_t sw = 0; sw < drawn.size(); ++sw) {
        if (drawn[sw] == 2) {
            cores.push_back(sw);
        }
    }
    EXPECT_EQ(levels_of(graph_from(fabric), cores)->level, drawn);
}

TEST(TreeLevels, OtherShapesHaveNone) {
    EXPECT_FALSE(levels_of(make_graph(torus({4, 4}))));
    EXPECT_FALSE(levels_of(make_graph(dragonfly(5, 4, 2))));
}

TEST(Places, CentreOfAnIslandComesFirst) {
    // In a row of seven switches the one in the middle is the root.
    GraphBuilder builder;
    for (std::uint32_t i = 0; i < 7; ++i) {
        builder.add_switch(Guid{i + 1});
    }
    for (std::uint32_t i = 0; i < 6; ++i) {
        builder.add_cable(i, 2, i + 1, 1);
    }
    const Graph graph = builder.build().value();
    EXPECT_EQ(places_by_distance(graph, {}), (Places{5, 3, 1, 0, 2, 4, 6}));
    const std::array<std::uint32_t, 1> root{6};
    EXPECT_EQ(places_by_distance(graph, root), (Places{6, 5, 4, 3, 2, 1, 0}));
}

TEST(FindSwitches, NamesTheRootThatIsNone) {
    const Graph graph = make_graph({.hosts = 2});
    const std::array good{graph.guid(0)};
    EXPECT_EQ(find_switches(graph, good).value(), std::vector<std::uint32_t>{0});
    const std::array bad{Guid{0x1234}};
    const auto result = find_switches(graph, bad);
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find("0x0000000000001234"), std::string::npos);
}

TEST(Columns, OfAFullTreeAreItsUpperSwitches) {
    const Graph graph = make_graph(three_levels());
    const Neighbours neighbours(graph);
    const TreeLevels levels = *find_levels(graph, neighbours, {});
    const Columns columns = find_columns(neighbours, levels);
    EXPECT_EQ(columns.count, (std::vector<std::uint32_t>{6, 6, 1}));
    EXPECT_EQ(columns.divider, (std::vector<std::uint32_t>{1, 6, 36}));
    for (std::uint32_t leaf = 0; leaf < 72; ++leaf) {
        std::vector<bool> seen(6);
        for (const Neighbours::Neighbour& spine : neighbours.of(leaf)) {
            EXPECT_FALSE(seen[columns.of[spine.peer]]);
            seen[columns.of[spine.peer]] = true;
        }
    }
}

TEST(Columns, ALostSpineLeavesAGap) {
    const topo::Fabric whole = make_fabric(three_levels());
    topo::Fabric fabric = whole;
    const auto lost = fabric.find_node("spine8")->value;  // The third spine of the second pod.
    for (std::size_t port = 1; port < fabric.nodes[lost].ports.size(); ++port) {
        unplug(fabric, lost, port);
    }
    const auto columns_in = [](const topo::Fabric& f) {
        const Graph graph = graph_from(f);
        const Neighbours neighbours(graph);
        return find_columns(neighbours, *find_levels(graph, neighbours, {})).of;
    };
    auto before = columns_in(whole);
    auto after = columns_in(fabric);
    before[72 + 8] = after[72 + 8] = 0;  // The column of the lost switch does not matter.
    EXPECT_EQ(before, after);
}

TEST(Numbering, HostsOfOneSubtreeFollowEachOther) {
    // The hosts have an order that has nothing to do with the tree.
    const Graph drawn = make_graph(three_levels());
    GraphBuilder builder;
    for (std::uint32_t sw = 0; sw < drawn.switch_count(); ++sw) {
        builder.add_switch(drawn.guid(sw));
    }
    for (std::uint32_t link = 0; link < drawn.links().size(); ++link) {
        if (link < drawn.reverse(link)) {
            const Link& to = drawn.links()[link];
            builder.add_cable(drawn.source(link), to.port, to.peer, to.peer_port);
        }
    }
    for (Target target : drawn.targets()) {
        target.order = target.order * 5 % 432;
        builder.add_target(target);
    }
    const Graph graph = builder.build().value();
    const Neighbours neighbours(graph);
    const TreeLevels levels = *find_levels(graph, neighbours, {});
    const auto order = order_by_subtrees(graph, find_subtrees(neighbours, levels));
    const Numbering numbering(graph, order);
    for (std::uint32_t leaf = 0; leaf < 72; ++leaf) {
        EXPECT_EQ(numbering.hosts(leaf).size(), 6U);
        EXPECT_EQ(numbering.first(leaf) % 6, 0U);
        EXPECT_EQ(numbering.first(leaf) / 36, numbering.first(leaf / 6 * 6) / 36) << "same pod";
    }
    EXPECT_TRUE(holds(graph, route("ftree", graph)));
}

}  // namespace
}  // namespace softib::routing
