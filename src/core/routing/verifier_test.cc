// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/verifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "core/routing/permutations.h"
#include "core/routing/test_graphs.h"
#include "core/topo/spec.h"

namespace softib::routing {
namespace {

std::string text_of(const Graph& graph, const Report& report) {
    std::string text;
    for (const std::string& line : render(graph, report)) {
        text += line + "\n";
    }
    return text;
}

/// Returns a graph of leaves 0 and 1 and spine 2; hosts have LIDs 1 and 2, switches 3 to 5.
Graph tiny() {
    return make_graph({.shape = topo::Shape::kFatTree, .hosts = 2});
}

TEST(Verifier, CountsWhatIsFineOnATinyTree) {
    const Graph graph = tiny();
    const Report report = verify(graph, route("minhop", graph));
    EXPECT_TRUE(report.good());
    // Pairs from each host to the other and to three switches, and from each switch to both hosts.
    EXPECT_EQ(report.reach.pairs, 2U + 2 * 3 + 3 * 2);
    EXPECT_EQ(report.reach.lost, 0U);
    EXPECT_EQ(report.reach.hops_max, 2U);
    EXPECT_EQ(report.load.links, 4U);
    EXPECT_EQ(report.load.min, 1U);
    EXPECT_EQ(report.load.max, 1U);
    EXPECT_EQ(report.load.unused, 0U);
    EXPECT_DOUBLE_EQ(report.load.balance, 1);
    EXPECT_EQ(report.dependencies, 2U);
    EXPECT_EQ(report.shifts.tried, 1U);
    EXPECT_EQ(report.shifts.worst, 1U);
    EXPECT_NE(text_of(graph, report).find("14 pairs of end ports reach each other, at most 2 hops"),
              std::string::npos);
}

TEST(Verifier, FindsAHole) {
    const Graph graph = tiny();
    Tables tables = route("minhop", graph);
    tables.lfts.at(2, Lid{2}) = kNoPath;
    const Report report = check(graph, tables);
    EXPECT_FALSE(report.arrives());
    // The pairs from host 1, switch 0 and the spine itself to host 2 are lost.
    EXPECT_EQ(report.reach.lost, 3U);
    EXPECT_EQ(report.reach.looping, 0U);
    EXPECT_EQ(report.reach.examples, (std::vector<Fault>{{0, Lid{2}, false}, {2, Lid{2}, false}}));
    EXPECT_NE(text_of(graph, report).find("3 of 14 pairs"), std::string::npos);
    EXPECT_NE(text_of(graph, report).find("to LID 2: no path"), std::string::npos);
}

TEST(Verifier, FindsAWrongDelivery) {
    const Graph graph = tiny();
    Tables tables = route("minhop", graph);
    const Target& host = graph.targets()[graph.target_of(Lid{2})];
    tables.lfts.at(host.at, Lid{2}) = 0;
    EXPECT_EQ(check(graph, tables).reach.lost, 4U) << "all but the host itself send in vain";
    tables.lfts.at(host.at, Lid{2}) = 77;
    EXPECT_EQ(check(graph, tables).reach.lost, 4U) << "a port that does not exist";
}

TEST(Verifier, FindsALoop) {
    const Graph graph = make_graph(torus({5}));
    Tables tables = route("updn", graph);
    const Lid lid{3};
    // Two neighbours, both far from the destination, send to each other.
    const std::uint32_t a = 0;
    const std::uint32_t b = graph.links(a)[0].peer == 4 ? 4 : graph.links(a)[1].peer;
    ASSERT_EQ(b, 4U);
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
        for (const Link& link : graph.links(from)) {
            if (link.peer == to) {
                tables.lfts.at(from, lid) = link.port;
            }
        }
    }
    const Report report = check(graph, tables);
    EXPECT_GT(report.reach.looping, 0U);
    EXPECT_EQ(report.reach.looping, report.reach.lost);
    ASSERT_FALSE(report.reach.examples.empty());
    EXPECT_TRUE(report.reach.examples[0].loop);
    EXPECT_NE(text_of(graph, report).find("runs in a circle"), std::string::npos);
}

TEST(Verifier, FindsTheCreditLoopOfMinHopOnATorus) {
    const Graph graph = make_graph(torus({4, 4}));
    const Report report = check(graph, route("minhop", graph));
    EXPECT_TRUE(report.arrives());
    ASSERT_GE(report.cycle.size(), 3U);
    for (std::size_t i = 0; i < report.cycle.size(); ++i) {
        const Channel& next = report.cycle[(i + 1) % report.cycle.size()];
        EXPECT_EQ(graph.links()[report.cycle[i].link].peer, graph.source(next.link))
            << "each channel leads to where the next one starts";
    }
    EXPECT_NE(text_of(graph, report).find("credit loop of"), std::string::npos);
}

TEST(Verifier, CountsOnlyDependenciesOfRealTraffic) {
    // Spines of a tree reach each other through leaves, which closes cycles; hosts never do that.
    const Graph graph = make_graph(two_levels());
    const Tables tables = route("minhop", graph);
    EXPECT_FALSE(check(graph, tables).acyclic());
    const Report hosts = verify(graph, tables, {.switches_send = false, .shifts_max = 0});
    EXPECT_TRUE(hosts.acyclic());
    EXPECT_LT(hosts.dependencies, check(graph, tables).dependencies);
}

TEST(Verifier, FollowsLanesByServiceLevelAndPort) {
    // Dimension order routing on a ring has a cycle with one lane, and none with two.
    const Graph graph = make_graph(torus({8}));
    Tables tables = route("dor", graph);
    EXPECT_TRUE(holds(graph, tables));
    tables.sl_to_vl = SlToVl(graph.switch_count(), 1, 1);
    EXPECT_FALSE(check(graph, tables).acyclic());
    tables.sl_to_vl = {};
    EXPECT_TRUE(check(graph, tables).acyclic()) << "VL = SL serves as well here";
    tables.sls = {};
    EXPECT_FALSE(check(graph, tables).acyclic());
}

/// Returns SL2VL tables without classes, as if they had been read from the switches.
SlToVl as_written(const Graph& graph, const SlToVl& lanes) {
    constexpr std::uint32_t kPorts = 16;
    std::vector<SlToVl::Row> rows;
    std::vector<SlToVl::PortTables> tables(graph.switch_count());
    std::vector<std::uint32_t> tables_of;
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        tables_of.push_back(sw);
        tables[sw].ports = kPorts;
        for (std::uint8_t in = 0; in < kPorts; ++in) {
            for (std::uint8_t out = 0; out < kPorts; ++out) {
                tables[sw].row_of.push_back(static_cast<std::uint16_t>(rows.size()));
                rows.push_back(lanes.row(sw, in, out));
            }
        }
    }
    return SlToVl(rows, tables, tables_of);
}

TEST(Verifier, LanesReadFromSwitchesAreThoseOfTheEngine) {
    const Graph graph = make_graph(torus({5, 6}));
    Tables tables = route("dor", graph);
    ASSERT_FALSE(tables.sl_to_vl.empty());
    const Report planned = check(graph, tables);
    tables.sl_to_vl = as_written(graph, tables.sl_to_vl);
    const Report written = check(graph, tables);
    EXPECT_TRUE(written.good());
    EXPECT_EQ(written.dependencies, planned.dependencies);
}

TEST(Verifier, PacketsOfHostsComeInByTheirPorts) {
    const Graph graph = make_graph(torus({8}));
    Tables tables = route("dor", graph);
    tables.sls = {};
    SlToVl lanes(graph.switch_count(), 2, 1);
    SlToVl::Row up{};
    up.fill(1);
    lanes.set_row(1, 0, up);
    for (const Target& target : graph.targets()) {
        if (!target.is_switch()) {
            lanes.set_in_class(target.at, target.port, 1);
        }
    }
    const VerifyOptions options{.switches_send = false, .shifts_max = 0, .random_samples = 0};
    const Report one_lane = verify(graph, tables, options);
    tables.sl_to_vl = lanes;
    tables.vls = 2;
    EXPECT_GT(verify(graph, tables, options).dependencies, one_lane.dependencies)
        << "the first hop is on VL 1, all others on VL 0";
}

TEST(Verifier, ServiceLevelWithoutALaneIsDiscarded) {
    const Graph graph = make_graph(torus({5, 6}));
    Tables tables = route("dor", graph);
    SlToVl::Row none{};
    none.fill(kVlDiscard);
    tables.sl_to_vl = SlToVl(graph.switch_count(), 1, 2);
    tables.sl_to_vl.set_row(0, 1, none);
    tables.sl_to_vl.set_out_class(0, graph.links(0)[0].port, 1);
    const Report report = check(graph, tables);
    EXPECT_GT(report.discarded, 0U);
    EXPECT_FALSE(report.good());
    EXPECT_NE(text_of(graph, report).find("no lane for the service level"), std::string::npos);
}

TEST(Verifier, WhatSwitchesReceiveCountsOnlyIfAsked) {
    // Three switches in a row, of which the last has no host.
    GraphBuilder builder;
    for (std::uint16_t i = 0; i < 3; ++i) {
        builder.add_switch(Guid{i + 1U});
        builder.add_target(
            {.guid = Guid{i + 1U}, .lid = Lid{static_cast<std::uint16_t>(i + 1)}, .at = i});
    }
    builder.add_cable(0, 1, 1, 1);
    builder.add_cable(1, 2, 2, 1);
    builder.add_target({.guid = Guid{9}, .lid = Lid{9}, .port = 3, .at = 0});
    const Graph graph = builder.build().value();
    const Tables tables = route("minhop", graph);
    const VerifyOptions programs{.switches_send = false,
                                 .switches_receive = false,
                                 .shifts_max = 0,
                                 .shift_samples = 0,
                                 .random_samples = 0};
    VerifyOptions all = programs;
    all.switches_receive = true;
    EXPECT_EQ(verify(graph, tables, programs).dependencies, 0U);
    EXPECT_EQ(verify(graph, tables, all).dependencies, 1U);
}

/// Counts all dependencies by following every path from every switch on its own.
std::size_t count_by_walking(const Graph& graph, const Tables& tables) {
    std::set<std::tuple<std::uint32_t, int, std::uint32_t, int>> found;
    graph.for_each_lid([&](const Target& target, Lid lid) {
        for (std::uint32_t from = 0; from < graph.switch_count(); ++from) {
            const std::uint8_t sl = tables.sls.at(from, target.at);
            std::uint8_t in_port = 0;
            std::uint32_t last = kNone;
            int last_vl = 0;
            const auto path = path_to(graph, tables, from, lid);
            for (std::size_t i = 0; i + 1 < path.size(); ++i) {
                const std::uint8_t out = tables.lfts.at(path[i], lid);
                const std::uint32_t link = graph.link_at(path[i], out);
                const int vl = tables.vl(path[i], in_port, out, sl);
                if (last != kNone) {
                    found.emplace(last, last_vl, link, vl);
                }
                last = link;
                last_vl = vl;
                in_port = graph.links()[link].peer_port;
            }
        }
    });
    return found.size();
}

TEST(Verifier, DependenciesAreThoseOfAllPaths) {
    const std::pair<const char*, topo::Spec> cases[] = {
        {"updn", torus({4, 5})},
        {"dor", torus({5, 6})},
        {"nue", torus({5, 5})},
        {"nue", dragonfly(5, 4, 1)},
        {"dragonfly", dragonfly(5, 4, 1)},
        {"minhop", torus({3, 5})},
        {"ftree", {.shape = topo::Shape::kFatTree, .hosts = 50, .radix = 8}}};
    for (const auto& [engine, spec] : cases) {
        const Graph graph = graph_from(damage(make_fabric(spec), 2, 0, 3));
        const Tables tables = route(engine, graph);
        EXPECT_EQ(check(graph, tables).dependencies, count_by_walking(graph, tables)) << engine;
    }
}

TEST(Verifier, IslandsAreNoFault) {
    topo::Fabric fabric = make_fabric({.shape = topo::Shape::kFatTree, .hosts = 2});
    unplug(fabric, 3, 2);  // The cable from leaf1 to the spine.
    const Graph graph = graph_from(fabric);
    const Report report = check(graph, route("minhop", graph));
    EXPECT_TRUE(report.good());
    // One island has a host and its leaf, the other a host, its leaf and the spine.
    EXPECT_EQ(report.reach.pairs, 2U + 4);
    EXPECT_EQ(report.reach.apart, 14U - 6);
    EXPECT_NE(text_of(graph, report).find("8 pairs are not joined by cables"), std::string::npos);
}

TEST(Verifier, SwitchPairsCountApart) {
    const Graph graph = make_graph(two_levels());
    const Report report = check(graph, route("ftree", graph));
    EXPECT_TRUE(report.good());
    EXPECT_EQ(report.reach.switch_pairs_lost, 16U * 15) << "spine to spine";
}

TEST(Verifier, LoadIsThatOfAllPairs) {
    const Graph graph = make_graph(two_levels());
    const Report full = check(graph, route("ftree", graph));
    EXPECT_EQ(full.load.min, 496U);
    EXPECT_EQ(full.load.max, 496U);
    EXPECT_DOUBLE_EQ(full.load.balance, 1);
    const Graph deep = make_graph(three_levels());
    const Report minhop = check(deep, route("minhop", deep));
    EXPECT_EQ(minhop.load.unused, 720U);
    EXPECT_EQ(minhop.load.max, 2376U);
    EXPECT_NEAR(minhop.load.mean, 411, 0.1);
    EXPECT_NEAR(minhop.load.balance, 0.173, 0.001);
}

TEST(Verifier, TellsOneWayServiceLevels) {
    const Graph graph = make_graph(torus({5}));
    Tables tables = route("dor", graph);
    EXPECT_EQ(check(graph, tables).one_way_sls, 0U);
    tables.sls.set(0, 1, 1, 5);
    const Report report = check(graph, tables);
    EXPECT_EQ(report.one_way_sls, 1U);
    EXPECT_NE(text_of(graph, report).find("different service levels in the two directions"),
              std::string::npos);
}

TEST(Permutations, ShiftsOfManyHostsAreSampled) {
    const Graph graph = make_graph(two_levels());
    const Tables tables = route("ftree", graph);
    const Report all = verify(graph, tables, {.shifts_max = 511, .random_samples = 3});
    EXPECT_EQ(all.shifts.tried, 511U);
    EXPECT_EQ(all.random.tried, 3U);
    EXPECT_GT(all.random.mean, 2);
    const Report some = verify(graph, tables, {.shifts_max = 510, .shift_samples = 5});
    EXPECT_EQ(some.shifts.tried, 5U);
}

TEST(Permutations, ContentionIsCountedPerLink) {
    // Three switches in a row with 6 hosts: a shift by 2 puts two flows of a switch on one link.
    GraphBuilder builder;
    for (std::uint32_t i = 0; i < 3; ++i) {
        builder.add_switch(Guid{i + 1});
    }
    builder.add_cable(0, 1, 1, 1);
    builder.add_cable(1, 2, 2, 1);
    for (std::uint16_t i = 0; i < 6; ++i) {
        builder.add_target({.guid = Guid{10U + i},
                            .lid = Lid{static_cast<std::uint16_t>(i + 1)},
                            .port = static_cast<std::uint8_t>(10 + i),
                            .at = i / 2U,
                            .order = i});
    }
    const Graph graph = builder.build().value();
    const Tables tables = route("minhop", graph);
    EXPECT_EQ(shift_contention(graph, tables, 2), 2U);
    EXPECT_EQ(shift_contention(graph, tables, 4), 2U);
    EXPECT_EQ(shift_contention(graph, tables, 1), 1U);
}

}  // namespace
}  // namespace softib::routing
