// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "core/topo/spec.h"
#include "view/json.h"
#include "view/sharp.h"

namespace softib::view {
namespace {

TEST(ViewJson, NumbersOfTheManagerAreNumbers) {
    OurManager ours;
    ours.state = "MASTER";
    ours.lid = Lid{3};
    ours.priority = 7;
    ours.smps = 12;
    const Json json = to_json(Manager{.master = "softib on sw0, LID 3", .ours = ours});
    for (const char* const name : {"lid", "priority", "adaptive_groups", "nodes", "full_sweeps",
                                   "partial_sweeps", "smps", "lft_blocks", "others"}) {
        EXPECT_TRUE(json.at(name).is_number_unsigned()) << name;
    }
    EXPECT_EQ(json.at("lid"), 3);
    EXPECT_EQ(json.at("smps"), 12);
    EXPECT_TRUE(json.at("guid").is_string());
}

TEST(ViewJson, ManagerOfOthersHasAMasterAndNoMore) {
    EXPECT_EQ(to_json(Manager{.master = "opensm (pid 12) on h0/mlx5_0, LID 1", .ours = {}}).size(),
              1U);
}

TEST(ViewTopology, NodesHaveLidsAndLevelsInATree) {
    topo::Spec spec;
    spec.shape = topo::Shape::kFatTree;
    spec.hosts = 4;
    spec.radix = 4;
    topo::Fabric fabric = topo::generate(spec).value();
    fabric.nodes.front().lid = Lid{5};
    const Topology topology = topology_of(fabric);
    ASSERT_EQ(topology.nodes.size(), fabric.nodes.size());
    EXPECT_EQ(to_json(topology).at("nodes").at(0).at("lid"), 5);
    bool spine = false;
    for (const TopologyNode& node : topology.nodes) {
        EXPECT_EQ(node.level.has_value(), node.kind == topo::NodeKind::kSwitch) << node.name;
        spine = spine || node.level == 1U;
    }
    EXPECT_TRUE(spine);
}

TEST(ViewTopology, SwitchesOfATorusHaveCoordinatesAndNoLevel) {
    topo::Spec spec;
    spec.shape = topo::Shape::kTorus;
    spec.hosts = 4;
    spec.dimensions = {2, 2};
    const Topology topology = topology_of(topo::generate(spec).value());
    std::size_t switches = 0;
    for (const TopologyNode& node : topology.nodes) {
        EXPECT_FALSE(node.level) << node.name;
        switches += node.coordinates.size() == 2 ? 1U : 0U;
    }
    EXPECT_EQ(switches, 4U);
    EXPECT_FALSE(to_json(topology).at("nodes").at(0).contains("lid")) << "it is not up";
}

TEST(ViewTopology, EachCableIsThereOnce) {
    topo::Spec spec;
    spec.hosts = 3;
    EXPECT_EQ(topology_of(topo::generate(spec).value()).cables.size(), 3U);
}

TEST(ViewHealth, WhatEndedIsToldUntilItRuns) {
    EXPECT_EQ(helpers_text({}), "ok");
    EXPECT_EQ(helpers_text({Helper{.name = "carrier", .pid = 3, .reason = {}}}), "ok");
    const std::vector<Helper> waits{
        {.name = "carrier", .state = HelperState::kEnded, .last_end = 1, .reason = "signal 9"}};
    EXPECT_TRUE(helpers_text(waits).ends_with("(signal 9) and waits to be restarted"));
    EXPECT_FALSE(all_run(waits));
    const std::vector<Helper> again{
        {.name = "carrier", .pid = 4, .restarts = 1, .last_end = 1, .reason = "signal 9"}};
    EXPECT_TRUE(helpers_text(again).starts_with("carrier restarted 1 time, last "));
    EXPECT_TRUE(all_run(again));
}

TEST(ViewHealth, WhatHangsIsNamedWithItsRemedy) {
    std::vector<Helper> helpers{
        {.name = "carrier", .state = HelperState::kStopped, .pid = 7, .reason = {}}};
    EXPECT_EQ(helpers_text(helpers),
              "carrier (pid 7) does not answer: it is stopped; kill -CONT 7 lets it go on, kill "
              "-KILL 7 has it restarted");
    EXPECT_FALSE(all_run(helpers));
    helpers[0].state = HelperState::kSilent;
    EXPECT_EQ(helpers_text(helpers),
              "carrier (pid 7) does not answer; kill -KILL 7 has it restarted");
    EXPECT_FALSE(all_run(helpers));
}

TEST(Sharp, LinesBecomeJobsWithTheirTrees) {
    const Sharp sharp = parse_sharp(
        "node\tleaf0\t9\t3\t126\t2\t1024\t4\t4096\t2\t1\t8\n"
        "job\t7\t0x10\tfailed\t2\t0\t1\t64\t1024\t8\t1\ta cable is gone\tSAT\n"
        "switch\t7\tleaf0\t-\t0\t0\nmember\t7\t1\th1/mlx5_0\tleaf0\t2\n"
        "group\t7\t3\t2\tlocked\nsomething else\n");
    ASSERT_EQ(sharp.nodes.size(), 1U);
    EXPECT_EQ(sharp.nodes[0].qps, 4U);
    EXPECT_EQ(sharp.nodes[0].streaming_trees, 2U);
    EXPECT_EQ(sharp.nodes[0].locks, 1U);
    EXPECT_EQ(sharp.nodes[0].locks_max, 8U);
    ASSERT_EQ(sharp.jobs.size(), 1U);
    EXPECT_EQ(sharp.jobs[0].reason, "a cable is gone");
    EXPECT_EQ(sharp.jobs[0].kind, "SAT");
    EXPECT_EQ(sharp.jobs[0].switches.at(0).members.at(0).hca, "h1/mlx5_0");
    EXPECT_EQ(sharp.jobs[0].groups.at(0).lock, "locked");
    EXPECT_TRUE(parse_sharp("member\t1\n\ngroup").jobs.empty());
}

}  // namespace
}  // namespace softib::view
