// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/graph.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "core/routing/test_graphs.h"

namespace softib::routing {
namespace {

/// Returns the builder of a graph of two switches with two cables between them and a host on each.
GraphBuilder small() {
    GraphBuilder builder;
    builder.add_switch(Guid{10});
    builder.add_switch(Guid{11});
    builder.add_cable(0, 3, 1, 1);
    builder.add_cable(0, 2, 1, 5);
    builder.add_target({.guid = Guid{1}, .lid = Lid{4}, .lmc = 2, .port = 1, .at = 0, .order = 1});
    builder.add_target({.guid = Guid{2}, .lid = Lid{2}, .port = 9, .at = 1});
    builder.add_target({.guid = Guid{10}, .lid = Lid{1}, .at = 0});
    return builder;
}

TEST(Graph, LinksAreSortedByPortAndKnowTheirReverse) {
    const Graph graph = small().build().value();
    ASSERT_EQ(graph.degree(0), 2U);
    EXPECT_EQ(graph.links(0)[0].port, 2);
    EXPECT_EQ(graph.links(0)[0].peer_port, 5);
    EXPECT_EQ(graph.links(0)[1].port, 3);
    for (std::uint32_t link = 0; link < graph.links().size(); ++link) {
        EXPECT_EQ(graph.reverse(graph.reverse(link)), link);
        EXPECT_EQ(graph.links()[graph.reverse(link)].port, graph.links()[link].peer_port);
        EXPECT_NE(graph.source(link), graph.links()[link].peer);
    }
    EXPECT_EQ(graph.link_at(1, 5), graph.reverse(graph.link_at(0, 2)));
    EXPECT_EQ(graph.link_at(1, 2), kNone);
    EXPECT_EQ(graph.link_at(1, 0xFF), kNone);
}

TEST(Graph, EveryLidOfATargetLeadsToIt) {
    const Graph graph = small().build().value();
    EXPECT_EQ(graph.lid_max(), Lid{7});
    EXPECT_EQ(graph.target_of(Lid{4}), 0U);
    EXPECT_EQ(graph.target_of(Lid{7}), 0U);
    EXPECT_EQ(graph.target_of(Lid{3}), kNone);
    EXPECT_EQ(graph.target_of(Lid{8}), kNone);
    EXPECT_EQ(graph.host_count(), 2U);
    EXPECT_EQ(graph.host_count(0), 1U);
    ASSERT_EQ(graph.targets(0).size(), 2U);
    EXPECT_TRUE(graph.targets()[graph.targets(0)[1]].is_switch());
}

TEST(Graph, ParallelCablesAreOneNeighbour) {
    const Graph graph = small().build().value();
    const Neighbours neighbours(graph);
    ASSERT_EQ(neighbours.of(0).size(), 1U);
    EXPECT_EQ(neighbours.of(0)[0].peer, 1U);
    const auto links = neighbours.links(neighbours.of(0)[0]);
    ASSERT_EQ(links.size(), 2U);
    EXPECT_EQ(graph.links()[links[0]].port, 2);
    EXPECT_EQ(graph.links()[links[1]].port, 3);
}

TEST(Graph, NeighboursAreThoseOfTheLinks) {
    const Graph graph = random_graph(30, 120, 10, 7);
    const Neighbours neighbours(graph);
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        std::size_t cables = 0;
        for (const Neighbours::Neighbour& next : neighbours.of(sw)) {
            for (const std::uint32_t link : neighbours.links(next)) {
                EXPECT_EQ(graph.links()[link].peer, next.peer);
                EXPECT_EQ(graph.source(link), sw);
                ++cables;
            }
        }
        EXPECT_EQ(cables, graph.degree(sw));
    }
}

TEST(Graph, IslandsHaveTheirLowestSwitchAsName) {
    GraphBuilder builder;
    for (std::uint64_t i = 0; i < 4; ++i) {
        builder.add_switch(Guid{i + 1});
    }
    builder.add_cable(3, 1, 1, 1);
    EXPECT_EQ(find_islands(builder.build().value()), (std::vector<std::uint32_t>{0, 1, 2, 1}));
}

struct Mistake {
    const char* name;
    std::function<void(GraphBuilder&)> make;
    const char* says;
};

class RefusedGraph : public testing::TestWithParam<Mistake> {};

TEST_P(RefusedGraph, SaysWhatToDo) {
    GraphBuilder builder = small();
    GetParam().make(builder);
    const auto graph = builder.build();
    ASSERT_FALSE(graph);
    EXPECT_NE(graph.error().message.find(GetParam().says), std::string::npos)
        << graph.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Graph, RefusedGraph,
    testing::Values(
        Mistake{"NoSuchSwitch", [](GraphBuilder& b) { b.add_cable(0, 7, 2, 1); }, "add the switch"},
        Mistake{"PortZero", [](GraphBuilder& b) { b.add_cable(0, 0, 1, 7); }, "ports 1 to 254"},
        Mistake{"PortTwice", [](GraphBuilder& b) { b.add_cable(0, 3, 1, 7); }, "two cables"},
        Mistake{"LidTwice",
                [](GraphBuilder& b) { b.add_target({.guid = Guid{3}, .lid = Lid{6}, .at = 1}); },
                "give each its own"},
        Mistake{"LidZero",
                [](GraphBuilder& b) { b.add_target({.guid = Guid{3}, .lid = Lid{0}, .at = 1}); },
                "take 1 to 49151"},
        Mistake{"LidMulticast",
                [](GraphBuilder& b) {
                    b.add_target({.guid = Guid{3}, .lid = Lid{0xBFFF}, .lmc = 1, .at = 1});
                },
                "not all unicast"},
        Mistake{"TargetNowhere",
                [](GraphBuilder& b) { b.add_target({.guid = Guid{3}, .lid = Lid{9}, .at = 2}); },
                "a switch that was added"}),
    [](const auto& test) { return test.param.name; });

TEST(Graph, CableFromASwitchToItselfIsNoLink) {
    GraphBuilder builder = small();
    const std::size_t links = builder.build()->links().size();
    builder.add_cable(0, 7, 0, 8);
    const auto graph = builder.build();
    ASSERT_TRUE(graph) << graph.error().message;
    EXPECT_EQ(graph->links().size(), links);
    EXPECT_EQ(graph->link_at(0, 7), kNone);
    EXPECT_EQ(graph->link_at(0, 8), kNone);
}

TEST(GraphOfFabric, HcasHaveTheLowLidsInNodeOrder) {
    const topo::Fabric fabric = make_fabric({.shape = topo::Shape::kFatTree, .hosts = 5});
    const Graph graph = graph_from(fabric);
    EXPECT_EQ(graph.host_count(), 5U);
    EXPECT_EQ(graph.switch_count(), fabric.count(topo::NodeKind::kSwitch));
    EXPECT_EQ(graph.lid_max().value, fabric.nodes.size());
    for (std::uint16_t lid = 1; lid <= 5; ++lid) {
        const Target& target = graph.targets()[graph.target_of(Lid{lid})];
        EXPECT_EQ(target.guid, topo::port_guid(fabric.nodes[lid - 1U], PortNum{1}));
        EXPECT_EQ(target.order, lid - 1U);
    }
}

TEST(GraphOfFabric, LmcGivesAlignedRangesToHcasOnly) {
    const Graph graph = make_graph({.hosts = 3}, 2);
    std::set<std::uint16_t> lids;
    for (const Target& target : graph.targets()) {
        EXPECT_EQ(target.lmc, target.is_switch() ? 0 : 2);
        EXPECT_EQ(target.lid.value % target.lid_count(), 0U);
        lids.insert(target.lid.value);
    }
    EXPECT_EQ(lids, (std::set<std::uint16_t>{4, 8, 12, 16}));
}

TEST(GraphOfFabric, WhatHasNoCableIsNoTarget) {
    topo::Fabric fabric = make_fabric({.hosts = 2});
    unplug(fabric, 0, 1);
    const Graph graph = graph_from(fabric);
    EXPECT_EQ(graph.host_count(), 1U);
    EXPECT_EQ(graph.target_of(Lid{1}), kNone);
    EXPECT_NE(graph.target_of(Lid{2}), kNone);
}

TEST(GraphOfFabric, MoreLidsThanASubnetHasAreRefused) {
    const auto graph = graph_of(make_fabric({.hosts = 200}), 8);
    EXPECT_FALSE(graph);
    topo::Fabric fabric;
    fabric.nodes.resize(49152);
    EXPECT_FALSE(graph_of(fabric, 0));
    fabric.nodes.resize(400);
    EXPECT_FALSE(graph_of(fabric, 7));
    fabric.nodes.resize(300);
    EXPECT_TRUE(graph_of(fabric, 7));
}

}  // namespace
}  // namespace softib::routing
