// SPDX-License-Identifier: BSD-2-Clause
// Further shapes than generate_test.cc has, checked against published sizes or formulas.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <ostream>
#include <set>
#include <string>

#include "core/topo/graph.h"
#include "core/topo/render.h"
#include "core/topo/report.h"
#include "core/topo/spec.h"
#include "core/topo/test_fabric.h"
#include "core/topo/topology.h"

namespace softib::topo {
namespace {

/// Returns the number of switches of each level.
std::array<std::uint32_t, 3> switches_by_level(const Fabric& fabric) {
    std::array<std::uint32_t, 3> result{};
    for (const Node& node : fabric.nodes) {
        result.at(node.level) += node.kind == NodeKind::kSwitch ? 1 : 0;
    }
    return result;
}

/// Returns the number of cables by the levels of their ends; the level of HCAs is -1.
std::map<std::pair<int, int>, std::uint32_t> cables_by_level(const Fabric& fabric) {
    std::map<std::pair<int, int>, std::uint32_t> result;
    const auto level = [](const Node& node) {
        return node.kind == NodeKind::kSwitch ? static_cast<int>(node.level) : -1;
    };
    for (const Node& node : fabric.nodes) {
        for (const PortLink& link : node.ports) {
            if (link.peer != kNoNode && level(node) <= level(fabric.node(link.peer))) {
                ++result[{level(node), level(fabric.node(link.peer))}];
            }
        }
    }
    return result;
}

// ---- SuperPOD ----

struct Pod {
    Generation generation;
    std::uint32_t nodes;
    std::array<std::uint32_t, 3> switches;  ///< Leaf, spine, core.
    std::uint32_t cables;                   ///< Between two levels.
};

void PrintTo(const Pod& pod, std::ostream* out) {
    *out << pod.nodes << " nodes";
}

class SuperPod : public testing::TestWithParam<Pod> {};

TEST_P(SuperPod, HasTheComponentsOfTheReferenceArchitecture) {
    const Pod& pod = GetParam();
    const Fabric fabric = make({.shape = Shape::kSuperPod,
                                .hosts = pod.nodes,
                                .hcas_per_host = 8,
                                .generation = pod.generation});
    EXPECT_EQ(switches_by_level(fabric), pod.switches);
    auto cables = cables_by_level(fabric);
    const std::uint32_t of_hosts = cables[{-1, 0}];
    const std::uint32_t leaf_spine = cables[{0, 1}];
    const std::uint32_t spine_core = cables[{1, 2}];
    EXPECT_EQ(of_hosts, pod.nodes * 8);
    EXPECT_EQ(leaf_spine, pod.cables);
    EXPECT_EQ(spine_core, pod.switches[2] == 0 ? 0 : pod.cables);
}

// NVIDIA RA-11333, tables 3 and 4 (one node of the last unit makes room for the UFM), and the
// B300 with 144-port switches.
INSTANTIATE_TEST_SUITE_P(H100, SuperPod,
                         testing::Values(Pod{Generation::kNdr, 31, {8, 4, 0}, 256},
                                         Pod{Generation::kNdr, 63, {16, 8, 0}, 512},
                                         Pod{Generation::kNdr, 95, {24, 16, 0}, 768},
                                         Pod{Generation::kNdr, 127, {32, 16, 0}, 1024},
                                         Pod{Generation::kNdr, 256, {64, 32, 0}, 2048},
                                         Pod{Generation::kNdr, 512, {128, 128, 64}, 4096},
                                         Pod{Generation::kNdr, 1024, {256, 256, 128}, 8192},
                                         Pod{Generation::kNdr, 2048, {512, 512, 256}, 16384}));
INSTANTIATE_TEST_SUITE_P(B300, SuperPod,
                         testing::Values(Pod{Generation::kXdr, 72, {8, 4, 0}, 576},
                                         Pod{Generation::kXdr, 144, {16, 8, 0}, 1152},
                                         Pod{Generation::kXdr, 288, {32, 18, 0}, 2304},
                                         Pod{Generation::kXdr, 576, {64, 36, 0}, 4608},
                                         Pod{Generation::kXdr, 1296, {144, 72, 0}, 10368}));

TEST(SuperPodUnits, AreFilledOneAfterTheOther) {
    const Fabric fabric = make({.shape = Shape::kSuperPod, .hosts = 33, .hcas_per_host = 8});
    const auto leaf = [&](std::uint32_t host, std::size_t rail) {
        return fabric.node(fabric.node(fabric.hosts[host].hcas[rail]).ports[1].peer).name;
    };
    EXPECT_EQ(leaf(0, 0), "leaf0");
    EXPECT_EQ(leaf(31, 7), "leaf7");
    EXPECT_EQ(leaf(32, 0), "leaf8");
}

// ---- Rails ----

TEST(RailOptimized, HcasOfOneNumberShareALeafWithinAUnit) {
    const Fabric fabric =
        make({.shape = Shape::kRailOptimized, .hosts = 16, .hcas_per_host = 4, .radix = 16});
    for (std::uint32_t h = 0; h < 16; ++h) {
        std::set<std::uint32_t> leaves;
        for (std::size_t r = 0; r < 4; ++r) {
            const NodeIndex leaf = fabric.node(fabric.hosts[h].hcas[r]).ports[1].peer;
            leaves.insert(leaf.value);
            EXPECT_EQ(leaf, fabric.node(fabric.hosts[h / 8 * 8].hcas[r]).ports[1].peer);
        }
        EXPECT_EQ(leaves.size(), 4U);
    }
}

TEST(RailOptimized, RefusesWhatAFatTreeWouldSpreadOtherwise) {
    const Spec spec{
        .shape = Shape::kRailOptimized, .hosts = 8, .hcas_per_host = 3, .radix = 4, .levels = 2};
    const auto fabric = generate(spec);
    ASSERT_FALSE(fabric);
    EXPECT_NE(fabric.error().message.find("a leaf for each HCA"), std::string::npos)
        << fabric.error().message;
}

TEST(RailOnly, ARailIsASwitchIfItHasEnoughPorts) {
    const Fabric fabric = make({.shape = Shape::kRailOnly, .hosts = 64, .hcas_per_host = 8});
    EXPECT_EQ(fabric.count(NodeKind::kSwitch), 8U);
    EXPECT_EQ(fabric.node(fabric.node(fabric.hosts[63].hcas[7]).ports[1].peer).name, "rail7");
    EXPECT_EQ(cables_by_level(fabric).size(), 1U);  // None between switches.
    ASSERT_EQ(fabric.warnings.size(), 1U);
    EXPECT_TRUE(fabric.warnings[0].ends_with("softib exec h0 -- softib-sm -C mlx5_7"));
}

TEST(RailOnly, LargerRailsAreTreesThatNothingJoins) {
    const Fabric fabric =
        make({.shape = Shape::kRailOnly, .hosts = 20, .hcas_per_host = 2, .radix = 8});
    EXPECT_TRUE(fabric.find_node("rail1-leaf4"));
    for (const Node& node : fabric.nodes) {
        for (const PortLink& link : node.ports) {
            if (node.kind == NodeKind::kSwitch && link.peer != kNoNode &&
                fabric.node(link.peer).kind == NodeKind::kSwitch) {
                EXPECT_EQ(node.name.substr(0, 5), fabric.node(link.peer).name.substr(0, 5));
            }
        }
    }
    // Each rail has the full bisection, so the fabric has it too.
    const Bisection bisection = find_bisection(fabric);
    EXPECT_EQ(bisection.mbps, bisection.full_mbps);
}

TEST(Rails, NeedMoreThanOneHca) {
    for (const Shape shape : {Shape::kRailOptimized, Shape::kRailOnly, Shape::kSuperPod}) {
        const auto fabric = generate({.shape = shape, .hosts = 4});
        ASSERT_FALSE(fabric);
        EXPECT_NE(fabric.error().message.find("take hcas 2 or more"), std::string::npos);
    }
}

// ---- Oversubscription ----

TEST(Oversubscription, LeavesHaveFewerCablesUp) {
    const Fabric fabric = make({.shape = Shape::kFatTree,
                                .hosts = 48 * 8,
                                .radix = 64,
                                .levels = 2,
                                .oversubscription = {.down = 3, .up = 1}});
    EXPECT_EQ(switches_by_level(fabric), (std::array{8U, 2U, 0U}));
    auto cables = cables_by_level(fabric);
    const std::uint32_t up = cables[{0, 1}];
    EXPECT_EQ(up, 8U * 16);
    const Bisection bisection = find_bisection(fabric);
    EXPECT_EQ(bisection.mbps * 3, bisection.full_mbps);
}

TEST(Oversubscription, SpinesOfThreeLevelsMayHaveTheirOwn) {
    const Fabric fabric = make({.shape = Shape::kFatTree,
                                .hosts = 8 * 12 * 4,
                                .radix = 16,
                                .levels = 3,
                                .spine_oversubscription = {.down = 3, .up = 1}});
    auto cables = cables_by_level(fabric);
    const std::uint32_t leaf_spine = cables[{0, 1}];
    const std::uint32_t spine_core = cables[{1, 2}];
    EXPECT_EQ(leaf_spine, 8U * 12 * 4);
    EXPECT_EQ(spine_core * 3, leaf_spine);
    const Bisection bisection = find_bisection(fabric);
    EXPECT_EQ(bisection.mbps * 3, bisection.full_mbps);
}

TEST(FatTree, ALeafWithAGivenNumberOfHcasKeepsHostsTogetherAndHasNoPortsLeft) {
    const Fabric fabric = make({.shape = Shape::kFatTree,
                                .hosts = 32,
                                .hcas_per_host = 4,
                                .radix = 36,
                                .levels = 3,
                                .spine_oversubscription = {.down = 7, .up = 1},
                                .hosts_per_switch = 8});
    EXPECT_EQ(switches_by_level(fabric)[0], 16U);
    for (const Host& host : fabric.hosts) {
        const NodeIndex leaf = fabric.node(host.hcas.front()).ports[1].peer;
        EXPECT_EQ(fabric.node(host.hcas.back()).ports[1].peer, leaf);
        const std::vector<PortLink>& ports = fabric.node(leaf).ports;
        EXPECT_GE(ports.size(), 1U + 8 + 8);
        EXPECT_EQ(std::ranges::count(ports, kNoNode, &PortLink::peer), 1) << "port 0 alone";
    }
}

TEST(Oversubscription, OfSpinesNeedsThreeLevels) {
    const auto fabric = generate({.shape = Shape::kFatTree,
                                  .hosts = 16,
                                  .radix = 16,
                                  .spine_oversubscription = {.down = 3, .up = 1}});
    ASSERT_FALSE(fabric);
    EXPECT_NE(fabric.error().message.find("take levels 3"), std::string::npos);
}

TEST(Oversubscription, MakesATreeOfARail) {
    const Fabric fabric = make({.shape = Shape::kRailOnly,
                                .hosts = 32,
                                .hcas_per_host = 2,
                                .oversubscription = {.down = 2, .up = 1}});
    EXPECT_TRUE(fabric.find_node("rail0-spine0"));
}

TEST(Oversubscription, IsReadFromText) {
    EXPECT_EQ(parse_taper("2"), (Taper{2, 1}));
    EXPECT_EQ(parse_taper("7:1"), (Taper{7, 1}));
    EXPECT_EQ(parse_taper("3:2"), (Taper{3, 2}));
    for (const char* const wrong : {"", "0", "1:2", "2:", ":1", "2:0", "2:1:1", "255", "two"}) {
        EXPECT_EQ(parse_taper(wrong), std::nullopt) << wrong;
    }
}

// ---- Dragonfly+ and HyperX ----

TEST(DragonflyPlus, GroupsAreTreesJoinedBySpines) {
    const Fabric fabric =
        make({.shape = Shape::kDragonflyPlus, .hosts = 80, .groups = 5, .switches_per_group = 4});
    EXPECT_EQ(switches_by_level(fabric), (std::array{20U, 20U, 0U}));
    auto cables = cables_by_level(fabric);
    const std::uint32_t inside = cables[{0, 1}];
    const std::uint32_t between = cables[{1, 1}] / 2;
    EXPECT_EQ(inside, 5U * 4 * 4);
    EXPECT_EQ(between, 5U * 4 / 2 * 4);  // 4 spines with 4 cables each, for 4 other groups.
    EXPECT_EQ(find_diameter(fabric), 3U);
    const Node& spine = fabric.node(*fabric.find_node("g4spine3"));
    EXPECT_EQ(spine.coordinates, (std::vector{4U, 7U}));
}

TEST(DragonflyPlus, ChosenSizeIsBalanced) {
    // Three HCAs, three spines above each leaf, three leaves and cables out at each spine.
    const Fabric fabric = make({.shape = Shape::kDragonflyPlus, .hosts = 90});
    EXPECT_EQ(switches_by_level(fabric), (std::array{30U, 30U, 0U}));
    EXPECT_EQ(fabric.nodes.back().ports.size(), 7U);
}

TEST(HyperX, EveryLineIsFullyConnected) {
    const Fabric fabric =
        make({.shape = Shape::kHyperX, .hosts = 48, .dimensions = {4, 3}, .hosts_per_switch = 4});
    EXPECT_EQ(fabric.count(NodeKind::kSwitch), 12U);
    auto cables = cables_by_level(fabric);
    const std::uint32_t between = cables[{0, 0}] / 2;
    EXPECT_EQ(between, 3U * 6 + 4U * 3);  // Columns of 4 and rows of 3, complete.
    EXPECT_EQ(find_diameter(fabric), 2U);
    for (const Node& node : fabric.nodes) {
        for (const PortLink& link : node.ports) {
            if (node.kind == NodeKind::kSwitch && link.peer != kNoNode &&
                fabric.node(link.peer).kind == NodeKind::kSwitch) {
                const auto& peer = fabric.node(link.peer).coordinates;
                EXPECT_EQ((node.coordinates[0] == peer[0]) + (node.coordinates[1] == peer[1]), 1);
            }
        }
    }
}

TEST(HyperX, ChosenSizeHasHalfOfTheSideAsHcas) {
    const Fabric fabric = make({.shape = Shape::kHyperX, .hosts = 256});
    EXPECT_EQ(fabric.count(NodeKind::kSwitch), 64U);  // 8x8 with 4 each.
    const Bisection bisection = find_bisection(fabric);
    EXPECT_EQ(bisection.mbps, bisection.full_mbps);
}

// ---- Report ----

TEST(Report, FullFatTreesFollowTheFormulas) {
    for (const std::uint32_t k : {4U, 8U, 16U}) {
        SCOPED_TRACE(k);
        const Fabric fabric =
            make({.shape = Shape::kFatTree, .hosts = k * k * k / 4, .radix = k, .levels = 3});
        const Report report = make_report(fabric);
        ASSERT_EQ(report.levels.size(), 3U);
        EXPECT_EQ(report.levels[0].switches, k * k / 2);
        EXPECT_EQ(report.levels[1].switches, k * k / 2);
        EXPECT_EQ(report.levels[2].switches, k * k / 4);
        for (const LevelReport& level : report.levels) {
            EXPECT_EQ(level.radix, k);
            EXPECT_EQ(level.ports_used, level.ports);
        }
        std::uint32_t cables = 0;
        for (const CableReport& cable : report.cables) {
            cables += cable.count;
        }
        EXPECT_EQ(cables, 3 * k * k * k / 4);
        EXPECT_EQ(report.diameter, 4U);
        EXPECT_EQ(report.bisection.mbps, std::uint64_t{k} * k * k / 8 * 400'000);
        EXPECT_EQ(report.bisection.mbps, report.bisection.full_mbps);
        EXPECT_EQ(report.lids.used(0), k * k * k / 4 + 5 * k * k / 4);
    }
}

TEST(Report, ToriAndDragonfliesHaveTheBisectionOfTheirCut) {
    const Report torus = make_report(
        make({.shape = Shape::kTorus, .hosts = 256, .dimensions = {8, 8}, .hosts_per_switch = 4}));
    EXPECT_EQ(torus.bisection.mbps, 2U * 8 * 400'000);  // Two cuts through 8 rings.
    EXPECT_EQ(torus.diameter, 8U);
    const Report dragonfly = make_report(make({.shape = Shape::kDragonfly, .hosts = 72}));
    EXPECT_EQ(dragonfly.diameter, 3U);
}

TEST(Report, LidBudgetCountsLmc) {
    const Report report = make_report(make({.shape = Shape::kFatTree, .hosts = 2048}), {}, 4);
    EXPECT_EQ(report.lids.used(4), 2048U * 16 + 96);
    EXPECT_TRUE(report.lids.fits());
    EXPECT_EQ(report.lids.lmc_max(), 4);
    EXPECT_FALSE((LidBudget{.hca_ports = 49'000, .switches = 152}).fits());
}

TEST(Cabling, TheShortestKindThatReachesIsTaken) {
    EXPECT_EQ(cable_for(Generation::kNdr, 200).kind, CableKind::kDac);
    EXPECT_EQ(cable_for(Generation::kNdr, 201).kind, CableKind::kAcc);
    EXPECT_EQ(cable_for(Generation::kNdr, 501).kind, CableKind::kMultiMode);
    EXPECT_EQ(cable_for(Generation::kNdr, 5001).kind, CableKind::kSingleMode);
    EXPECT_EQ(cable_for(Generation::kEdr, 500).kind, CableKind::kDac);
    EXPECT_EQ(cable_for(Generation::kHdr, 500).kind, CableKind::kAoc);
    EXPECT_EQ(cable_for(Generation::kXdr, 300).kind, CableKind::kSingleMode);
}

TEST(Cabling, LengthsFollowTheFloorPlan) {
    const FloorPlan plan{.hosts_per_rack = 4};
    EXPECT_EQ(cable_length_cm(plan, 3, 3), 200U);
    EXPECT_EQ(cable_length_cm(plan, 3, 4), 60U + 300 + 50);
    EXPECT_EQ(cable_length_cm(plan, 0, 17), 60U + 300 + 300 + 50);
}

TEST(Cabling, ALeafStandsAmongItsHosts) {
    const Fabric fabric = make({.shape = Shape::kFatTree, .hosts = 64, .radix = 16});
    const auto racks = place_in_racks(fabric, {.hosts_per_rack = 8});
    for (const Host& host : fabric.hosts) {
        EXPECT_EQ(racks[host.hcas[0].value], racks[fabric.node(host.hcas[0]).ports[1].peer.value]);
    }
    const Report report = make_report(fabric, {.hosts_per_rack = 8});
    EXPECT_EQ(report.cables[0].between, "hosts and level 0");
    EXPECT_EQ(report.cables[0].rule.kind, CableKind::kDac);
    EXPECT_EQ(report.cables[0].count, 64U);
}

TEST(Report, TextNamesWhatItAssumes) {
    const Fabric fabric = make({.shape = Shape::kFatTree, .hosts = 64, .radix = 16});
    const std::string text = render_report(fabric, make_report(fabric));
    for (const char* const part :
         {"64 hosts, 64 HCAs, 12 switches", "bisection  12.8 Tb/s of 12.8 Tb/s (100.0%)",
          "diameter   2 cables between switches, 4 from host to host",
          "LIDs       76 of 49151 with LMC 0", "32 hosts in a rack",
          "NDR: DAC to 2 m, ACC to 5 m, transceivers, multi-mode to 50 m"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
}

/// A description of a topology that sets every key that it may.
Spec full_spec(const Topology& topology) {
    Spec spec{.shape = topology.shape, .hosts = 8, .hcas_per_host = 2, .radix = 16};
    if ((topology.keys & SpecKeys::kLevels) != 0) {
        spec.levels = 2;
    }
    if ((topology.keys & SpecKeys::kDimensions) != 0) {
        spec.dimensions = {3, 3};
    }
    if ((topology.keys & SpecKeys::kGroups) != 0) {
        spec.groups = 3;
    }
    return spec;
}

TEST(Topologies, ARowIsAllThatTheRestNeedsToKnow) {
    ASSERT_EQ(topologies().size(), kShapes.size());
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
        const Topology& topology = *topologies()[i];
        EXPECT_EQ(topology.shape, kShapes[i]) << "rows are in the order of shapes.inc";
        EXPECT_EQ(&topology_of(topology.shape), &topology);
        EXPECT_EQ(parse_shape(topology.name), topology.shape);
        EXPECT_STREQ(to_string(topology.shape), topology.name);
        const auto fabric = generate(full_spec(topology));
        ASSERT_TRUE(fabric) << topology.name << ": " << fabric.error().message;
        EXPECT_EQ(fabric->shape, topology.shape);
        EXPECT_TRUE(validate(*fabric));
        EXPECT_NE(render_svg(*fabric).find("<svg"), std::string::npos);
        EXPECT_NE(render_dot(*fabric).find("graph"), std::string::npos);
    }
}

TEST(Topologies, ThoseWithRailsNeedSeveralHcasAHost) {
    for (const Topology* const topology : topologies()) {
        Spec spec = full_spec(*topology);
        spec.hcas_per_host = 1;
        EXPECT_EQ(generate(spec).has_value(), !topology->rails) << topology->name;
    }
}

TEST(Topologies, KeysOfOthersAreRefusedWithTheNamesOfThose) {
    for (const Topology* const topology : topologies()) {
        for (const std::uint8_t key : {SpecKeys::kLevels, SpecKeys::kDimensions, SpecKeys::kGroups,
                                       SpecKeys::kHostsPerSwitch}) {
            Spec spec{.shape = topology->shape, .hosts = 8, .hcas_per_host = 2};
            spec.levels = key == SpecKeys::kLevels ? 2 : 0;
            spec.groups = key == SpecKeys::kGroups ? 3 : 0;
            spec.hosts_per_switch = key == SpecKeys::kHostsPerSwitch ? 4 : 0;
            spec.dimensions = key == SpecKeys::kDimensions ? std::vector<std::uint32_t>{3, 3}
                                                           : std::vector<std::uint32_t>{};
            const auto fabric = generate(spec);
            const bool refused =
                !fabric && fabric.error().message.find(
                               "belongs to " + topology_names(key, "and")) != std::string::npos;
            EXPECT_EQ(refused, (topology->keys & key) == 0) << topology->name << " " << int{key};
        }
    }
    EXPECT_EQ(topology_names(SpecKeys::kDimensions, "and"), "torus and hyperx");
}

TEST(Planes, EachHcaIsOneInEveryPlane) {
    const Spec spec{.shape = Shape::kFatTree,
                    .hosts = 4,
                    .hcas_per_host = 2,
                    .radix = 4,
                    .planes = 3,
                    .generation = Generation::kHdr};
    const auto fabric = generate(spec);
    ASSERT_TRUE(fabric) << fabric.error().message;
    const auto valid = validate(*fabric);
    EXPECT_TRUE(valid) << valid.error().message;
    Spec one = spec;
    one.planes = 1;
    EXPECT_EQ(fabric->nodes.size(), 3 * generate(one)->nodes.size());
    EXPECT_EQ(fabric->hosts.size(), 4U);
    // HCAs 0 to 2 are the ports of the first adapter, in planes 0 to 2; no cable leaves a plane.
    const Host& host = fabric->hosts[1];
    ASSERT_EQ(host.hcas.size(), 6U);
    for (std::size_t i = 0; i < host.hcas.size(); ++i) {
        EXPECT_EQ(host.device_names[i], "mlx5_" + std::to_string(i));
        const Node& hca = fabric->node(host.hcas[i]);
        EXPECT_EQ(hca.system_image_guid, fabric->node(host.hcas[i / 3 * 3]).node_guid);
        const std::string plane = "plane" + std::to_string(i % 3) + "-";
        EXPECT_TRUE(fabric->node(hca.ports[1].peer).name.starts_with(plane));
    }
    for (const Node& node : fabric->nodes) {
        for (const PortLink& link : node.ports) {
            if (node.kind == NodeKind::kSwitch && link.peer != kNoNode &&
                fabric->node(link.peer).kind == NodeKind::kSwitch) {
                EXPECT_EQ(node.name.substr(0, 7), fabric->node(link.peer).name.substr(0, 7));
            }
        }
    }
    EXPECT_TRUE(fabric->warnings.back().contains("no cable joins"));
}

TEST(Planes, WhatDoesNotFitIsRefused) {
    const auto refusal = [](const Spec& spec) { return generate(spec).error().message; };
    EXPECT_TRUE(refusal({.hcas_per_host = 16, .planes = 8}).contains("128 HCAs of a host"));
    EXPECT_TRUE(refusal({.hosts = 8, .subnets = 2, .routers = 1, .planes = 2})
                    .contains("a plane is one subnet"));
    EXPECT_TRUE(refusal({.planes = 2, .device_pattern = "ib"}).contains("the same name"));
    EXPECT_TRUE(refusal({.shape = Shape::kFatTree, .hosts = 20'000, .planes = 4}).contains("LIDs"));
}

/// A fabric that is only counted has neither port numbers nor LIDs, but an end.
TEST(OnPaper, SwitchesMayHave512Ports) {
    const Spec spec{.shape = Shape::kRailOnly,
                    .hosts = 512,
                    .hcas_per_host = 8,
                    .radix = 512,
                    .on_paper = true};
    const auto fabric = generate(spec);
    ASSERT_TRUE(fabric) << fabric.error().message;
    EXPECT_EQ(fabric->count(NodeKind::kSwitch), 8U) << "one for each rail";
    EXPECT_FALSE(validate(*fabric)) << "it cannot run";
    Spec runs = spec;
    runs.on_paper = false;
    EXPECT_TRUE(generate(runs).error().message.contains("8 bits: take 254 or less"));
    Spec many = spec;
    many.hosts = 200'000;
    EXPECT_TRUE(generate(many).error().message.contains("can be counted"));
}

}  // namespace
}  // namespace softib::topo
