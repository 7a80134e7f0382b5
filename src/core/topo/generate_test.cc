// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "core/topo/builder.h"
#include "core/topo/graph.h"
#include "core/topo/spec.h"
#include "core/topo/test_fabric.h"

namespace softib::topo {
namespace {

std::string error_of(const Spec& spec) {
    const auto fabric = generate(spec);
    return fabric ? "no error" : fabric.error().message;
}

NodeIndex leaf_of(const Fabric& fabric, std::uint32_t host, std::size_t hca = 0) {
    return fabric.node(fabric.hosts[host].hcas[hca]).ports[1].peer;
}

/// Returns the number of cables of a switch to HCAs and lower levels, and to upper levels.
std::array<std::uint32_t, 2> cables_down_up(const Fabric& fabric, const Node& node) {
    std::array<std::uint32_t, 2> result{};
    for (const PortLink& link : node.ports) {
        if (link.peer != kNoNode) {
            const Node& peer = fabric.node(link.peer);
            ++result[peer.kind == NodeKind::kSwitch && peer.level > node.level ? 1 : 0];
        }
    }
    return result;
}

TEST(Generate, EveryShapeAndSizeKeepsTheInvariants) {
    int built = 0;
    for (const Shape shape : kShapes) {
        for (const std::uint32_t hosts :
             {1U, 2U, 3U, 4U, 5U, 7U, 16U, 31U, 64U, 100U, 254U, 1000U}) {
            for (const std::uint32_t hcas : {1U, 2U, 3U, 8U}) {
                for (const std::uint32_t radix : {0U, 4U, 7U, 16U, 40U}) {
                    const Spec spec{
                        .shape = shape, .hosts = hosts, .hcas_per_host = hcas, .radix = radix};
                    const auto fabric = generate(spec);
                    if (!fabric) {
                        EXPECT_TRUE(radix != 0 || hcas == 1 || shape == Shape::kSingleSwitch)
                            << fabric.error().message;
                        continue;
                    }
                    ++built;
                    const auto valid = validate(*fabric);
                    ASSERT_TRUE(valid) << to_string(shape) << ' ' << hosts << ' ' << hcas << ' '
                                       << radix << ": " << valid.error().message;
                    EXPECT_EQ(fabric->hosts.size(), hosts);
                    EXPECT_EQ(fabric->count(NodeKind::kHca), hosts * hcas);
                    for (const Node& node : fabric->nodes) {
                        ASSERT_TRUE(node.kind == NodeKind::kSwitch || node.ports[1].peer != kNoNode)
                            << node.name << " has no cable";
                    }
                }
            }
        }
    }
    EXPECT_GT(built, 500);
}

TEST(Generate, NamesFollowThePatterns) {
    const Fabric fabric = make({.hosts = 2,
                                .hcas_per_host = 2,
                                .device_pattern = "rdma{}",
                                .host_pattern = "node-{}.lab"});
    EXPECT_EQ(fabric.hosts[1].name, "node-1.lab");
    EXPECT_EQ(fabric.hosts[1].device_names, (std::vector<std::string>{"rdma0", "rdma1"}));
    EXPECT_EQ(fabric.node(fabric.hosts[1].hcas[1]).name, "node-1.lab/rdma1");
}

TEST(Generate, OneHostMayHaveANameWithoutNumber) {
    EXPECT_EQ(make({.hosts = 1, .host_pattern = "login"}).hosts[0].name, "login");
}

TEST(Generate, HcasComeFirstInHostOrder) {
    const Fabric fabric = make({.shape = Shape::kFatTree, .hosts = 3, .hcas_per_host = 2});
    EXPECT_EQ(fabric.nodes[0].name, "h0/mlx5_0");
    EXPECT_EQ(fabric.nodes[1].name, "h0/mlx5_1");
    EXPECT_EQ(fabric.nodes[5].name, "h2/mlx5_1");
    EXPECT_EQ(fabric.nodes[6].name, "leaf0");
}

TEST(Generate, GuidsAreLocallyAdministeredAndRepeatable) {
    const Spec spec{.shape = Shape::kTorus, .hosts = 9};
    const Fabric a = make(spec);
    const Fabric b = make(spec);
    for (std::size_t i = 0; i < a.nodes.size(); ++i) {
        EXPECT_EQ(a.nodes[i].node_guid, b.nodes[i].node_guid);
        EXPECT_EQ(a.nodes[i].node_guid.value >> 56 & 3, 2U);
    }
    EXPECT_EQ(port_guid(a.nodes[0], PortNum{1}), a.nodes[0].node_guid);
    EXPECT_EQ(port_guid(a.nodes[9], PortNum{1}), a.nodes[9].node_guid);
}

TEST(SingleSwitch, TakesExactlyThePortsItNeeds) {
    const Fabric fabric = make({.hosts = 254});
    EXPECT_EQ(fabric.nodes.back().name, "sw0");
    EXPECT_EQ(fabric.nodes.back().ports.size(), 255U);
}

TEST(SingleSwitch, RadixIsRespected) {
    EXPECT_EQ(make({.hosts = 2, .radix = 40}).nodes.back().ports.size(), 41U);
}

TEST(FatTree, TwoHostsAreThreeSwitchesApart) {
    const Fabric fabric = make({.shape = Shape::kFatTree, .hosts = 2});
    EXPECT_NE(leaf_of(fabric, 0), leaf_of(fabric, 1));
    EXPECT_EQ(fabric.count(NodeKind::kSwitch), 3U);
}

TEST(FatTree, NoSwitchHasMoreCablesDownThanUp) {
    for (const std::uint32_t hosts : {2U, 8U, 33U, 100U, 800U, 1000U, 3000U, 15000U}) {
        for (const std::uint32_t radix : {0U, 40U, 41U}) {
            const Fabric fabric = make({.shape = Shape::kFatTree, .hosts = hosts, .radix = radix});
            std::uint32_t level_max = 0;
            for (const Node& node : fabric.nodes) {
                level_max = std::max(level_max, node.level);
            }
            for (const Node& node : fabric.nodes) {
                if (node.kind == NodeKind::kSwitch && node.level < level_max) {
                    const auto [down, up] = cables_down_up(fabric, node);
                    ASSERT_LE(down, up) << hosts << " hosts, radix " << radix << ": " << node.name;
                }
            }
        }
    }
}

TEST(FatTree, FullTreesAreTheTextbookOnes) {
    struct Case {
        std::uint32_t radix, levels, hosts, leaves, spines, cores;
    };
    for (const Case& c : {Case{8, 2, 32, 8, 4, 0}, Case{8, 3, 128, 32, 32, 16},
                          Case{40, 2, 800, 40, 20, 0}, Case{40, 3, 16000, 800, 800, 400}}) {
        const Fabric fabric = make(
            {.shape = Shape::kFatTree, .hosts = c.hosts, .radix = c.radix, .levels = c.levels});
        std::array<std::uint32_t, 3> per_level{};
        for (const Node& node : fabric.nodes) {
            if (node.kind == NodeKind::kSwitch) {
                ++per_level[node.level];
            }
        }
        EXPECT_EQ(per_level, (std::array{c.leaves, c.spines, c.cores})) << c.radix;
    }
}

TEST(FatTree, FewestLevelsThatFitAreTaken) {
    EXPECT_FALSE(make({.shape = Shape::kFatTree, .hosts = 32, .radix = 8}).find_node("core0"));
    EXPECT_TRUE(make({.shape = Shape::kFatTree, .hosts = 33, .radix = 8}).find_node("core0"));
}

TEST(FatTree, RailsPutTheHcasOfAHostOnDifferentLeaves) {
    const Fabric fabric =
        make({.shape = Shape::kFatTree, .hosts = 48, .hcas_per_host = 4, .radix = 16});
    for (std::uint32_t h = 0; h < 48; ++h) {
        std::set<NodeIndex> leaves;
        for (std::size_t j = 0; j < 4; ++j) {
            leaves.insert(leaf_of(fabric, h, j));
        }
        EXPECT_EQ(leaves.size(), 4U) << "host " << h;
    }
    // HCAs of one rail and one block of hosts share a leaf.
    EXPECT_EQ(leaf_of(fabric, 0, 2), leaf_of(fabric, 1, 2));
}

TEST(Torus, EverySwitchHasTwoCablesPerLongDimension) {
    const Fabric fabric =
        make({.shape = Shape::kTorus, .hosts = 60, .dimensions = {3, 4, 5}, .hosts_per_switch = 1});
    for (const Node& node : fabric.nodes) {
        if (node.kind == NodeKind::kSwitch) {
            EXPECT_EQ(node.ports.size() - 1, 7U);
        }
    }
    ASSERT_TRUE(fabric.find_node("sw0_0_0"));
    std::set<std::string> around;
    for (const PortLink& link : fabric.node(*fabric.find_node("sw0_0_0")).ports) {
        if (link.peer != kNoNode) {
            around.insert(fabric.node(link.peer).name);
        }
    }
    EXPECT_EQ(around, (std::set<std::string>{"h0/mlx5_0", "sw1_0_0", "sw2_0_0", "sw0_1_0",
                                             "sw0_3_0", "sw0_0_1", "sw0_0_4"}));
}

TEST(Torus, DimensionOfSizeTwoHasOneCable) {
    const Fabric fabric = make({.shape = Shape::kTorus, .hosts = 4, .dimensions = {2, 2}});
    for (const Node& node : fabric.nodes) {
        EXPECT_EQ(node.ports.size() - 1, node.kind == NodeKind::kSwitch ? 3U : 1U);
    }
}

TEST(Torus, ChosenSidesAreNearCubic) {
    EXPECT_TRUE(make({.shape = Shape::kTorus, .hosts = 16}).find_node("sw3_3"));
    EXPECT_TRUE(make({.shape = Shape::kTorus, .hosts = 64}).find_node("sw3_3_3"));
    EXPECT_TRUE(make({.shape = Shape::kTorus, .hosts = 1000}).find_node("sw3_3_3"));
}

TEST(Torus, FiveDimensions) {
    const Fabric fabric =
        make({.shape = Shape::kTorus, .hosts = 72, .dimensions = {3, 2, 3, 2, 2}});
    EXPECT_EQ(fabric.count(NodeKind::kSwitch), 72U);
    EXPECT_TRUE(validate(fabric));
}

TEST(Dragonfly, EveryTwoGroupsHaveTheSameNumberOfCables) {
    for (const std::uint32_t groups : {2U, 3U, 5U, 9U}) {
        const Fabric fabric = make({.shape = Shape::kDragonfly,
                                    .hosts = groups * 8,
                                    .hosts_per_switch = 2,
                                    .groups = groups,
                                    .switches_per_group = 4});
        std::vector<std::uint32_t> cables(groups * groups);
        for (const Node& node : fabric.nodes) {
            for (const PortLink& link : node.ports) {
                if (link.peer != kNoNode && node.kind == NodeKind::kSwitch &&
                    fabric.node(link.peer).kind == NodeKind::kSwitch) {
                    ++cables[node.coordinates[0] * groups + fabric.node(link.peer).coordinates[0]];
                }
            }
        }
        for (std::uint32_t a = 0; a < groups; ++a) {
            for (std::uint32_t b = 0; b < groups; ++b) {
                // A group is fully connected: 4 * 3 ends of cables inside it.
                EXPECT_EQ(cables[a * groups + b], a == b ? 12U : 8 / (groups - 1));
            }
        }
    }
}

TEST(Dragonfly, ChosenSizeIsBalanced) {
    const Fabric fabric = make({.shape = Shape::kDragonfly, .hosts = 72});
    EXPECT_EQ(fabric.count(NodeKind::kSwitch), 36U);  // p 2, a 4, h 2: 9 groups.
    EXPECT_TRUE(fabric.find_node("g8s3"));
}

struct Refusal {
    const char* name;
    Spec spec;
    const char* says;
};

class RefusedSpec : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedSpec, SaysWhatToDo) {
    const std::string message = error_of(GetParam().spec);
    EXPECT_NE(message.find(GetParam().says), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Generate, RefusedSpec,
    testing::Values(
        Refusal{"NoHosts", {.hosts = 0}, "hosts = 1"},
        Refusal{"NoHcas", {.hcas_per_host = 0}, "hcas_per_host = 1"},
        Refusal{"DevicePattern", {.hcas_per_host = 2, .device_pattern = "mlx5"}, "mlx5_{}"},
        Refusal{"HostPattern", {.hosts = 2, .host_pattern = "node"}, "h{}"},
        Refusal{"SlashInName", {.host_pattern = "a/b{}"}, "letters"},
        Refusal{"TooManyLids", {.hosts = 49151}, "a subnet has 49151"},
        Refusal{"LidsOverflow", {.hosts = UINT32_MAX, .hcas_per_host = UINT32_MAX}, "a subnet has"},
        Refusal{"SingleSwitchFull", {.hosts = 255}, "254 hosts, or shape fat-tree"},
        Refusal{"SingleSwitchRadix", {.hosts = 9, .radix = 8}, "at most 8 hosts"},
        Refusal{"RadixTooLarge", {.radix = 255}, "254 or less"},
        Refusal{"ForeignLevels", {.levels = 2}, "fat-tree"},
        Refusal{"ForeignDimensions", {.dimensions = {2, 2}}, "torus"},
        Refusal{"Levels", {.shape = Shape::kFatTree, .levels = 4}, "2 or 3 levels"},
        Refusal{"FatTreeFull",
                {.shape = Shape::kFatTree, .hosts = 33, .radix = 8, .levels = 2},
                "at most 32 hosts, or radix 9 or more, or 3 levels"},
        Refusal{"FatTreeFull3",
                {.shape = Shape::kFatTree, .hosts = 129, .radix = 8},
                "at most 128 hosts, or radix 9 or more"},
        Refusal{"TorusFull",
                {.shape = Shape::kTorus, .hosts = 17, .dimensions = {4, 4}, .hosts_per_switch = 1},
                "hosts_per_switch to 2"},
        Refusal{"TorusZero", {.shape = Shape::kTorus, .dimensions = {4, 0}}, "size 0"},
        Refusal{"TorusSix",
                {.shape = Shape::kTorus, .dimensions = {1, 1, 1, 1, 1, 1}},
                "1 to 5 dimensions"},
        Refusal{"TorusHuge",
                {.shape = Shape::kTorus, .dimensions = {60000, 60000, 60000}},
                "a subnet has"},
        Refusal{"TorusPorts",
                {.shape = Shape::kTorus, .hosts = 9, .radix = 4, .dimensions = {3, 3}},
                "raise radix"},
        Refusal{"DragonflyFull",
                {.shape = Shape::kDragonfly,
                 .hosts = 100,
                 .hosts_per_switch = 2,
                 .groups = 3,
                 .switches_per_group = 4},
                "at most 24 hosts"},
        Refusal{"DragonflyPorts",
                {.shape = Shape::kDragonfly,
                 .hosts = 100,
                 .radix = 5,
                 .hosts_per_switch = 2,
                 .groups = 20,
                 .switches_per_group = 4},
                "a larger radix"}),
    [](const auto& test) { return test.param.name; });

TEST(Placement, LeavesDifferByAtMostOneHca) {
    const Spec spec{.hosts = 10};
    const Placement placement(spec, 4, 3);
    std::array<int, 4> on_leaf{};
    for (std::uint32_t h = 0; h < 10; ++h) {
        ++on_leaf[placement.leaf_of(h, 0)];
    }
    EXPECT_EQ(std::ranges::max(on_leaf), 3);
    EXPECT_EQ(std::ranges::min(on_leaf), 2);
}

}  // namespace
}  // namespace softib::topo
