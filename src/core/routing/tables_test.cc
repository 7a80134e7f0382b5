// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/tables.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/routing/test_graphs.h"

namespace softib::routing {
namespace {

TEST(Lfts, RowsAreWholeBlocksOfNoPath) {
    Lfts lfts(2, Lid{64});
    EXPECT_EQ(lfts.block_count(), 2U);
    EXPECT_EQ(lfts.row(1).size(), 128U);
    EXPECT_TRUE(std::ranges::all_of(lfts.row(1), [](std::uint8_t p) { return p == kNoPath; }));
    lfts.at(1, Lid{64}) = 7;
    EXPECT_EQ(lfts.block(1, 1)[0], 7);
    EXPECT_EQ(lfts.at(0, Lid{64}), kNoPath);
    EXPECT_EQ(Lfts(1, Lid{63}).block_count(), 1U);
}

TEST(SlMap, GrowsFromUniformToDestinationToPair) {
    SlMap map;
    EXPECT_EQ(map.at(1, 2), 0);
    map.set(1, 2, 0, 3);
    EXPECT_TRUE(map.uniform()) << "nothing changed";
    map = SlMap::by_destination({4, 5, 6});
    EXPECT_EQ(map.at(0, 2), 6);
    map.set(1, 2, 9, 3);
    EXPECT_TRUE(map.pairwise());
    EXPECT_EQ(map.at(1, 2), 9);
    EXPECT_EQ(map.at(0, 2), 6);
    EXPECT_EQ(map.at(2, 0), 4);
}

TEST(SlToVl, RowBelongsToTheClassesOfBothPorts) {
    SlToVl map(2, 2, 2);
    EXPECT_FALSE(map.empty());
    SlToVl::Row row{};
    row[3] = 5;
    map.set_row(1, 1, row);
    map.set_in_class(0, 7, 1);
    map.set_out_class(0, 8, 1);
    EXPECT_EQ(map.row(0, 7, 8)[3], 5);
    EXPECT_EQ(map.row(0, 8, 7)[3], 0);
    EXPECT_EQ(map.row(0, 0, 8)[3], 0);
    EXPECT_EQ(map.row(1, 7, 8)[3], 0);
    EXPECT_EQ(map.highest(3), 5);
    EXPECT_EQ(map.highest(2), 0);
}

TEST(SlToVl, TablesOfSwitchesMayBeShared) {
    SlToVl::Row row{};
    row[3] = 5;
    const SlToVl map({SlToVl::Row{}, row}, {{2, {0, 0, 0, 0}}, {2, {0, 1, 0, 0}}}, {0, 1, 1});
    EXPECT_EQ(map.row(0, 0, 1)[3], 0);
    EXPECT_EQ(map.row(1, 0, 1)[3], 5);
    EXPECT_EQ(map.row(2, 0, 1)[3], 5);
    EXPECT_EQ(map.row(2, 1, 0)[3], 0);
    EXPECT_TRUE(map.same_in(0, 0, 1));
    EXPECT_FALSE(map.same_in(1, 0, 1));
}

TEST(Tables, SlIsAskedForByLid) {
    const Graph graph = make_graph(torus({3}));
    Tables tables;
    EXPECT_EQ(tables.sl(graph, Lid{1}, Lid{3}), 0);
    tables.sls = SlMap::by_destination({0, 1, 2});
    EXPECT_EQ(tables.sl(graph, Lid{1}, Lid{3}), 2);
    EXPECT_EQ(tables.sl(graph, Lid{1}, Lid{6}), 2) << "the switch itself";
    EXPECT_EQ(tables.sl(graph, Lid{1}, Lid{7}), 0) << "nobody";
}

TEST(Tables, VlIsSlUnlessMapped) {
    Tables tables;
    EXPECT_EQ(tables.vl(0, 1, 2, 3), 3);
    tables.sl_to_vl = SlToVl(1, 1, 1);
    EXPECT_EQ(tables.vl(0, 1, 2, 3), 0);
}

TEST(PortGroups, HoldTheEntryOfTheForwardingTable) {
    const Graph graph = make_graph({.shape = topo::Shape::kFatTree, .hosts = 128, .radix = 8});
    for (const char* engine : {"updn", "ftree"}) {
        const Tables tables = route(engine, graph);
        ASSERT_FALSE(tables.groups.empty());
        std::size_t choices = 0;
        for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
            EXPECT_TRUE(tables.groups.ports(sw, 0).empty());
            EXPECT_LE(tables.groups.count(sw), 35U) << "sets are stored once";
            for (const Target& target : graph.targets()) {
                const auto ports = tables.groups.ports(sw, tables.groups.of(sw, target.at));
                const std::uint8_t port = tables.lfts.at(sw, target.lid);
                if (target.at == sw || port == kNoPath) {
                    EXPECT_TRUE(ports.empty());
                } else {
                    EXPECT_TRUE(std::ranges::is_sorted(ports));
                    EXPECT_TRUE(std::ranges::binary_search(ports, port));
                    choices += ports.size() - 1;
                }
            }
        }
        EXPECT_GT(choices, 1000U) << engine;
    }
}

}  // namespace
}  // namespace softib::routing
