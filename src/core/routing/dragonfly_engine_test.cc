// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <set>

#include "core/routing/groups.h"
#include "core/routing/test_graphs.h"
#include "core/topo/spec.h"

namespace softib::routing {
namespace {

/// Returns the groups that the generator made, by switch, each as its lowest switch.
std::vector<std::uint32_t> drawn_groups(const topo::Fabric& fabric) {
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> result;
    for (const topo::Node& node : fabric.nodes) {
        if (node.kind == topo::NodeKind::kSwitch) {
            first.resize(std::max<std::size_t>(first.size(), node.coordinates[0] + 1), kNone);
            std::uint32_t& group = first[node.coordinates[0]];
            group = std::min(group, static_cast<std::uint32_t>(result.size()));
            result.push_back(group);
        }
    }
    return result;
}

std::vector<std::uint32_t> groups_in(const topo::Fabric& fabric) {
    const Graph graph = graph_from(fabric);
    return find_groups(graph, Neighbours(graph));
}

TEST(Groups, AreThoseOfTheGenerator) {
    for (const topo::Spec& spec : {dragonfly(9, 4, 2), dragonfly(3, 5, 1), dragonfly(2, 4, 1),
                                   dragonfly(17, 8, 1), dragonfly(33, 8, 1)}) {
        const topo::Fabric fabric = make_fabric(spec);
        EXPECT_EQ(groups_in(fabric), drawn_groups(fabric));
    }
}

TEST(Groups, SurviveDamage) {
    const topo::Fabric whole = make_fabric(dragonfly(17, 8, 1));
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const topo::Fabric fabric = damage(whole, 40, 0, seed);
        EXPECT_EQ(groups_in(fabric), drawn_groups(fabric)) << seed;
    }
}

TEST(DragonflyRouting, TwoLanesAndThreeHops) {
    for (const topo::Spec& spec : {dragonfly(9, 4, 2), dragonfly(5, 4, 2), dragonfly(3, 5, 2),
                                   dragonfly(2, 4, 1), dragonfly(17, 8, 2),
                                   // In this one, three groups together look like one group.
                                   dragonfly(9, 3, 1)}) {
        const Graph graph = make_graph(spec);
        const Tables tables = route("dragonfly", graph);
        EXPECT_TRUE(holds(graph, tables));
        EXPECT_LE(tables.vls, 2);
        const Report report = check(graph, tables);
        EXPECT_LE(report.reach.hops_max, 3U);
        EXPECT_EQ(report.one_way_sls, 0U);
    }
}

/// Returns the report on all choices that switches can make.
Report check_choices(const Graph& graph, const Tables& tables) {
    return verify(graph, tables,
                  {.shifts_max = 0, .shift_samples = 0, .random_samples = 0, .choices = true});
}

TEST(DragonflyRouting, LongWaysNeedThreeLanesAndFiveHopsAndCloseNoCircle) {
    for (const topo::Spec& spec : {dragonfly(9, 4, 2), dragonfly(5, 4, 2), dragonfly(3, 5, 2),
                                   dragonfly(2, 4, 1), dragonfly(17, 8, 2), dragonfly(33, 8, 1)}) {
        const Graph graph = make_graph(spec);
        const Tables tables = route("dragonfly", graph, {.adaptive = true});
        ASSERT_FALSE(tables.long_ways.empty());
        EXPECT_EQ(tables.vls, 3);
        const Report report = check_choices(graph, tables);
        EXPECT_TRUE(report.good()) << summary(tables, report);
        EXPECT_LE(report.reach.hops_max, 3U);
        EXPECT_LE(report.reach.chosen_hops_max, 5U);
    }
}

TEST(DragonflyRouting, HalfOfTheGroupsAreLeftToGoRoundBy) {
    const topo::Fabric fabric = make_fabric(dragonfly(33, 8, 1));
    const Graph graph = graph_from(fabric);
    const std::vector<std::uint32_t> group_of = drawn_groups(fabric);
    const Tables tables = route("dragonfly", graph, {.adaptive = true});
    // By group: the third groups on ways to group 1.
    std::vector<std::set<std::uint32_t>> thirds(graph.switch_count());
    const std::uint32_t to = 8;
    ASSERT_EQ(group_of[to], to);
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        if (group_of[sw] == group_of[to]) {
            continue;
        }
        const PortGroups& beside = tables.long_ways.beside;
        for (const std::uint8_t port : beside.ports(sw, beside.of(sw, to))) {
            thirds[group_of[sw]].insert(group_of[graph.links()[graph.link_at(sw, port)].peer]);
        }
    }
    for (std::uint32_t group = 0; group < graph.switch_count(); ++group) {
        if (group_of[group] == group && group != to) {
            thirds[group].erase(group);
            EXPECT_GE(thirds[group].size(), 15U) << group;
        }
    }
}

TEST(DragonflyRouting, WithoutThatOrderLongWaysCloseACircle) {
    const Graph graph = make_graph(dragonfly(9, 4, 2));
    Tables tables = route("dragonfly", graph, {.adaptive = true});
    // Here all packets stay on the same lane.
    SlToVl flat(graph.switch_count(), 1, 1);
    flat.set_row(0, 0, {});
    tables.sl_to_vl = flat;
    EXPECT_FALSE(check_choices(graph, tables).acyclic());
}

TEST(DragonflyRouting, ADamagedOneHasNoLongWays) {
    const Graph graph = graph_from(damage(make_fabric(dragonfly(9, 4, 2)), 3, 0, 1));
    const Tables tables = route("dragonfly", graph, {.adaptive = true});
    EXPECT_TRUE(tables.long_ways.empty());
    EXPECT_TRUE(holds(graph, tables));
}

TEST(DragonflyRouting, CablesBetweenGroupsAreEvenlyUsed) {
    const Graph graph = make_graph(dragonfly(9, 4, 2));
    const Report ours = check(graph, route("dragonfly", graph));
    const Report minhop = check(graph, route("minhop", graph));
    EXPECT_EQ(ours.load.unused, 0U);
    EXPECT_LE(ours.load.max, minhop.load.max);
}

TEST(DragonflyRouting, DamagedOnesKeepToTwoLanesOrAreRefusedWithAdvice) {
    int routed = 0;
    int tried = 0;
    for (const topo::Spec& spec : {dragonfly(9, 4, 2), dragonfly(17, 8, 1), dragonfly(3, 5, 2)}) {
        const topo::Fabric whole = make_fabric(spec);
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            const Graph graph = graph_from(damage(whole, seed % 7, seed % 2, seed));
            const auto tables = route_with_dragonfly(graph, {.data_vls = 2});
            ++tried;
            if (tables) {
                ++routed;
                EXPECT_TRUE(holds(graph, *tables)) << seed;
                EXPECT_LE(tables->vls, 2);
            } else {
                EXPECT_NE(tables.error().message.find("nue"), std::string::npos);
            }
        }
    }
    EXPECT_GE(routed * 100, tried * 90);
}

TEST(DragonflyRouting, OneGroupNeedsOneLane) {
    GraphBuilder builder;  // Five switches, each cabled to all others.
    for (std::uint32_t i = 0; i < 5; ++i) {
        builder.add_switch(Guid{i + 1});
        builder.add_target({.guid = Guid{10 + i},
                            .lid = Lid{static_cast<std::uint16_t>(i + 1)},
                            .port = 20,
                            .at = i});
    }
    for (std::uint8_t a = 0; a < 5; ++a) {
        for (std::uint8_t b = 0; b < a; ++b) {
            builder.add_cable(a, static_cast<std::uint8_t>(b + 1), b,
                              static_cast<std::uint8_t>(a + 1));
        }
    }
    const Graph graph = builder.build().value();
    const Tables tables = route("dragonfly", graph, {.data_vls = 1});
    EXPECT_TRUE(holds(graph, tables));
    EXPECT_EQ(tables.vls, 1);
}

TEST(DragonflyRouting, OneLaneIsRefused) {
    const auto tables = route_with_dragonfly(make_graph(dragonfly(5, 4, 1)), {.data_vls = 1});
    ASSERT_FALSE(tables);
    EXPECT_NE(tables.error().message.find("two virtual lanes"), std::string::npos);
}

TEST(DragonflyRouting, OtherShapesAreRefusedWithAdvice) {
    for (const topo::Spec& spec : {three_levels(), torus({4, 4}), torus({3, 3}), torus({9})}) {
        const auto tables = route_with_dragonfly(make_graph(spec), {});
        ASSERT_FALSE(tables);
        EXPECT_NE(tables.error().message.find("nue"), std::string::npos);
    }
}

}  // namespace
}  // namespace softib::routing
