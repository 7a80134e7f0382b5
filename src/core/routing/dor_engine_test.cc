// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "core/routing/test_graphs.h"

namespace softib::routing {
namespace {

TEST(Dor, RingsOfAnySizeHaveNoCreditLoopOnTwoLanes) {
    for (std::uint32_t size = 3; size <= 17; ++size) {
        const Graph graph = make_graph(torus({size}));
        const Tables tables = route("dor", graph, {.data_vls = 2});
        EXPECT_TRUE(holds(graph, tables)) << size;
        EXPECT_EQ(tables.vls, size > 4 ? 2 : 1) << size;
        EXPECT_EQ(check(graph, tables).reach.hops_max, size / 2) << size;
    }
}

TEST(Dor, ToriOfSeveralDimensions) {
    for (const auto& dimensions : {std::vector<std::uint32_t>{4, 4},
                                   {5, 7},
                                   {6, 6},
                                   {8, 3},
                                   {2, 3, 4},
                                   {5, 4, 6},
                                   {3, 3, 3},
                                   {4, 4, 4},
                                   {2, 3, 2, 3, 2},
                                   {5, 5, 3, 5}}) {
        const Graph graph = make_graph(torus(dimensions));
        const Tables tables = route("dor", graph, {.data_vls = 2});
        EXPECT_TRUE(holds(graph, tables));
        const Report report = check(graph, tables);
        EXPECT_EQ(report.one_way_sls, 0U) << "answers go back on the same service level";
        std::uint32_t farthest = 0;
        for (const std::uint32_t size : dimensions) {
            farthest += size / 2;
        }
        EXPECT_EQ(report.reach.hops_max, farthest) << "paths are as short as can be";
    }
}

TEST(Dor, LinksOfATorusAreEvenlyUsed) {
    const Graph graph = make_graph(torus({8, 8}));
    const Report report = check(graph, route("dor", graph));
    EXPECT_EQ(report.load.unused, 0U);
    EXPECT_GT(report.load.balance, 0.8);
}

TEST(Dor, SeveralHostsPerSwitchAndParallelCables) {
    const Graph graph = make_graph(
        {.shape = topo::Shape::kTorus, .hosts = 150, .dimensions = {5, 5}, .hosts_per_switch = 6});
    EXPECT_TRUE(holds(graph, route("dor", graph)));
    GraphBuilder builder;  // A ring of five switches with two cables between neighbours.
    for (std::uint32_t i = 0; i < 5; ++i) {
        builder.add_switch(Guid{i + 1});
    }
    std::uint16_t lid = 1;
    for (std::uint32_t i = 0; i < 5; ++i) {
        builder.add_cable(i, 1, (i + 1) % 5, 3);
        builder.add_cable(i, 2, (i + 1) % 5, 4);
        for (const std::uint8_t port : {std::uint8_t{8}, std::uint8_t{9}}) {
            builder.add_target({.guid = Guid{100U + lid}, .lid = Lid{lid}, .port = port, .at = i});
            ++lid;
        }
    }
    const Graph doubled = builder.build().value();
    const Tables tables = route("dor", doubled);
    EXPECT_TRUE(holds(doubled, tables));
    EXPECT_NE(tables.lfts.at(0, Lid{3}), tables.lfts.at(0, Lid{4})) << "hosts of switch 1";
}

TEST(Dor, ABrokenRingIsALine) {
    for (const std::uint32_t size : {5U, 6U, 9U}) {
        for (std::uint64_t seed = 1; seed <= 6; ++seed) {
            const Graph graph = graph_from(damage(make_fabric(torus({size})), 1, 0, seed));
            EXPECT_TRUE(holds(graph, route("dor", graph))) << size;
        }
    }
}

TEST(Dor, DamagedToriAreReachedOrRefusedWithAdvice) {
    int routed = 0;
    int tried = 0;
    for (const auto& dimensions :
         {std::vector<std::uint32_t>{6, 6}, {4, 4, 4}, {5, 5, 5}, {5, 3, 4}}) {
        const topo::Fabric whole = make_fabric(torus(dimensions));
        for (std::uint64_t seed = 1; seed <= 15; ++seed) {
            const Graph graph = graph_from(damage(whole, 1 + seed % 5, seed % 2, seed));
            const auto tables = route_with_dor(graph, {.data_vls = 2});
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
    EXPECT_GE(routed * 100, tried * 85);
}

TEST(Dor, MoreLanesHelpAroundDamage) {
    const topo::Fabric whole = make_fabric(torus({6, 5, 5}));
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const Graph graph = graph_from(damage(whole, 20, 1, seed));
        const auto tables = route_with_dor(graph, {.data_vls = 8});
        if (tables) {
            EXPECT_TRUE(holds(graph, *tables)) << seed;
        } else {
            EXPECT_NE(tables.error().message.find("nue"), std::string::npos);
        }
    }
}

TEST(Dor, OneLaneIsRefusedForRings) {
    const Graph graph = make_graph(torus({5, 5}));
    for (const Options& options : {Options{.data_vls = 1}, Options{.data_vls = 8, .qos = false}}) {
        const auto tables = route_with_dor(graph, options);
        ASSERT_FALSE(tables);
        EXPECT_NE(tables.error().message.find("two virtual lanes"), std::string::npos);
    }
    const Graph small = make_graph(torus({3, 4}));
    EXPECT_TRUE(holds(small, route("dor", small, {.data_vls = 1}))) << "no long ring";
}

TEST(Dor, TooManyLongRingsAreRefused) {
    const Graph graph = make_graph(torus({5, 5, 5, 5, 5}));
    const auto tables = route_with_dor(graph, {});
    ASSERT_FALSE(tables);
    EXPECT_NE(tables.error().message.find("nue"), std::string::npos);
}

TEST(Dor, DimensionsMustBeThoseExpected) {
    const Graph graph = make_graph(torus({4, 6}));
    EXPECT_TRUE(route_with_dor(graph, {.torus_dimensions = {6, 4, 1}}));
    const auto wrong = route_with_dor(graph, {.torus_dimensions = {6, 5}});
    ASSERT_FALSE(wrong);
    EXPECT_NE(wrong.error().message.find("6x5"), std::string::npos);
}

TEST(Dor, NoTorusIsRefusedWithAdvice) {
    const auto tables = route_with_dor(make_graph(three_levels()), {});
    ASSERT_FALSE(tables);
    EXPECT_NE(tables.error().message.find("nue"), std::string::npos);
}

/// Returns the tables as traffic of the second level of quality of service uses them.
Tables second_level(const Graph& graph, Tables tables) {
    SlMap sls = SlMap::by_pair(graph.switch_count());
    for (std::uint32_t a = 0; a < graph.switch_count(); ++a) {
        for (std::uint32_t b = 0; b < graph.switch_count(); ++b) {
            sls.set(a, b, static_cast<std::uint8_t>(tables.sls.at(a, b) | tables.free_sl_bits),
                    graph.switch_count());
        }
    }
    tables.sls = std::move(sls);
    return tables;
}

TEST(Torus2Qos, BothLevelsAreFreeOfCreditLoops) {
    for (const auto& dimensions : {std::vector<std::uint32_t>{5, 5}, {6, 4}, {5, 6, 7}, {3, 3}}) {
        for (const std::uint8_t vls : {std::uint8_t{4}, std::uint8_t{8}, std::uint8_t{15}}) {
            const Graph graph = make_graph(torus(dimensions));
            const Tables tables = route("torus-2QoS", graph, {.data_vls = vls});
            EXPECT_LE(tables.vls, vls);
            EXPECT_EQ(tables.free_sl_bits, 8);
            EXPECT_TRUE(holds(graph, tables));
            EXPECT_TRUE(holds(graph, second_level(graph, tables)));
            EXPECT_EQ(check(graph, tables).one_way_sls, 0U);
        }
    }
}

TEST(Torus2Qos, LevelsShareNoLane) {
    const Graph graph = make_graph(torus({5, 5}));
    const Tables tables = route("torus-2QoS", graph, {.data_vls = 4});
    for (const Link& link : graph.links(0)) {
        const SlToVl::Row& row = tables.sl_to_vl.row(0, 0, link.port);
        for (std::uint8_t sl = 0; sl < 8; ++sl) {
            EXPECT_LT(row[sl], 2);
            EXPECT_EQ(row[sl + 8U], row[sl] + 2);
        }
    }
}

TEST(Torus2Qos, DamagedToriAreReachedOrRefusedWithAdvice) {
    const topo::Fabric whole = make_fabric(torus({5, 6}));
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const Graph graph = graph_from(damage(whole, 1 + seed % 3, seed % 2, seed));
        const auto tables = route_with_torus_2qos(graph, {.data_vls = 8});
        if (tables) {
            EXPECT_TRUE(holds(graph, *tables)) << seed;
            EXPECT_TRUE(holds(graph, second_level(graph, *tables))) << seed;
        } else {
            EXPECT_NE(tables.error().message.find("nue"), std::string::npos);
        }
    }
}

TEST(Torus2Qos, WhatItCannotRouteIsRefusedWithAdvice) {
    const auto says = [](const std::vector<std::uint32_t>& dimensions, const Options& options) {
        const auto tables = route_with_torus_2qos(make_graph(torus(dimensions)), options);
        return tables ? "routed" : tables.error().message;
    };
    EXPECT_NE(says({5, 5}, {.data_vls = 2}).find("four virtual lanes"), std::string::npos);
    EXPECT_NE(says({5, 5}, {.data_vls = 1}).find("one lane"), std::string::npos);
    EXPECT_NE(says({5, 5, 5, 5}, {}).find("torus-2QoS has 3"), std::string::npos);
    const auto tree = route_with_torus_2qos(make_graph(three_levels()), {});
    ASSERT_FALSE(tree);
    EXPECT_NE(tree.error().message.find("no torus"), std::string::npos);
}

}  // namespace
}  // namespace softib::routing
