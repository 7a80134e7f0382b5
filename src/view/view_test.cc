// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "view/json.h"

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
    EXPECT_EQ(health_text({}), "ok");
    EXPECT_EQ(health_text({Helper{.name = "carrier", .pid = 3, .reason = {}}}), "ok");
    const std::vector<Helper> waits{{.name = "carrier", .last_end = 1, .reason = "signal 9"}};
    EXPECT_TRUE(health_text(waits).ends_with("(signal 9) and waits to be restarted"));
    EXPECT_FALSE(all_run(waits));
    const std::vector<Helper> again{
        {.name = "carrier", .pid = 4, .restarts = 1, .last_end = 1, .reason = "signal 9"}};
    EXPECT_TRUE(health_text(again).starts_with("carrier restarted 1 time, last "));
    EXPECT_TRUE(all_run(again));
}

}  // namespace
}  // namespace softib::view
