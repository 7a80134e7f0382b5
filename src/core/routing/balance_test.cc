// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/balance.h"

#include <gtest/gtest.h>

#include "core/routing/test_graphs.h"

namespace softib::routing {
namespace {

TEST(Balance, FewerFlowsMeetAndNothingElseChanges) {
    for (std::uint64_t seed = 1; seed <= last_seed(8); ++seed) {
        const Graph graph = uneven_tree(seed);
        for (const char* const engine : {"ftree", "updn"}) {
            const Tables before = route(engine, graph);
            Tables after = before;
            const std::uint64_t moved = balance(graph, before.groups, after.lfts);
            std::uint64_t differ = 0;
            for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
                graph.for_each_lid([&](const Target& target, Lid lid) {
                    if (before.lfts.at(sw, lid) == after.lfts.at(sw, lid)) {
                        return;
                    }
                    ++differ;
                    const auto ports = before.groups.ports(sw, before.groups.of(sw, target.at));
                    EXPECT_NE(std::ranges::find(ports, after.lfts.at(sw, lid)), ports.end());
                    EXPECT_FALSE(target.is_switch());
                });
            }
            EXPECT_LE(differ, moved);
            EXPECT_TRUE(holds(graph, after)) << engine << ", seed " << seed;
            const Report was = verify(graph, before);
            const Report is = verify(graph, after);
            EXPECT_LE(is.shifts.mean, was.shifts.mean) << engine << ", seed " << seed;
        }
    }
}

TEST(Balance, DetoursRoundDamageStayFreeOfCreditLoops) {
    const topo::Fabric whole =
        make_fabric({.shape = topo::Shape::kFatTree, .hosts = 96, .radix = 8, .levels = 3});
    for (std::uint64_t seed = 1; seed <= last_seed(10); ++seed) {
        const Graph graph = graph_from(damage(whole, 6 + seed, seed % 3, seed));
        const auto tables = route_with_ftree(graph, {});
        if (!tables) {
            continue;
        }
        Tables after = *tables;
        EXPECT_NE(balance(graph, after.groups, after.lfts), 0U);
        EXPECT_TRUE(holds(graph, after)) << seed;
    }
}

TEST(Balance, LargeGraphsAreLeftAlone) {
    const Graph graph = make_graph({.shape = topo::Shape::kFatTree, .hosts = 1200, .radix = 64});
    EXPECT_FALSE(may_balance(graph));
    Tables tables = route("ftree", graph);
    EXPECT_EQ(balance(graph, tables.groups, tables.lfts), 0U);
}

}  // namespace
}  // namespace softib::routing
