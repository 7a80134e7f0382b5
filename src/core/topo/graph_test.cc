// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/graph.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "core/topo/spec.h"

namespace softib::topo {
namespace {

TEST(LinkSpeed, ValuesAreThoseOfVerbs) {
    EXPECT_EQ(link_speed(Generation::kEdr).active_speed, 32U);
    EXPECT_EQ(link_speed(Generation::kHdr).gbps, 200U);
    EXPECT_EQ(link_speed(Generation::kNdr).active_speed, 128U);
    EXPECT_EQ(link_speed(Generation::kXdr).active_speed, 256U);
    EXPECT_STREQ(link_speed(Generation::kXdr).name, "XDR");
    EXPECT_EQ(link_speed(Generation::kGdr).active_speed, 512U);
    EXPECT_EQ(link_speed(Generation::kGdr).gbps, 1600U);
    EXPECT_EQ(link_speed(Generation::kXdr).active_width, 2);
    EXPECT_EQ(link_speed(Generation::kSdr).active_speed, 1U);
    EXPECT_EQ(link_speed(Generation::kFdr10).active_speed, 8U);
}

/// The bits of PortInfo say the generation again, except FDR10, which shows as QDR there.
TEST(LinkSpeed, FieldsOfPortInfoNameTheGeneration) {
    for (const GenerationRow& row : kGenerationRows) {
        const Generation found = fastest_of(row.speed, row.speed_ext, row.speed_ext2);
        EXPECT_EQ(found, row.generation == Generation::kFdr10 ? Generation::kQdr : row.generation);
    }
    EXPECT_EQ(fastest_of(7, 15, 3), Generation::kGdr) << "all speeds up to it are supported";
    EXPECT_EQ(fastest_of(7, 15, 1), Generation::kXdr);
    EXPECT_EQ(fastest_of(7, 15, 0), Generation::kNdr);
    EXPECT_EQ(fastest_of(0, 0, 0), Generation::kSdr);
}

TEST(LinkSpeed, RateFollowsGenerationAndWidth) {
    EXPECT_EQ(link_speed(Generation::kSdr).gbps, 10U);
    EXPECT_EQ(link_speed(Generation::kFdr).gbps, 56U);
    EXPECT_EQ(link_speed(Generation::kSdr, Width::k1x).gbps, 2U);
    EXPECT_EQ(link_speed(Generation::kSdr, Width::k1x).mbps, 2500U);
    EXPECT_EQ(link_speed(Generation::kHdr, Width::k2x).gbps, 100U);
    EXPECT_EQ(link_speed(Generation::kDdr, Width::k12x).gbps, 60U);
    EXPECT_EQ(link_speed(Generation::kQdr, Width::k8x).gbps, 80U);
    EXPECT_EQ(link_speed(Generation::kQdr, Width::k8x).active_width, 4);
    for (std::size_t i = 1; i < kGenerations.size(); ++i) {
        EXPECT_LT(link_speed(kGenerations[i - 1]).active_speed,
                  link_speed(kGenerations[i]).active_speed);
        EXPECT_LE(link_speed(kGenerations[i - 1]).gbps, link_speed(kGenerations[i]).gbps);
    }
    for (std::size_t i = 1; i < kWidths.size(); ++i) {
        EXPECT_LT(lanes(kWidths[i - 1]), lanes(kWidths[i]));
    }
}

TEST(Parse, GenerationIgnoresCase) {
    for (const Generation generation : kGenerations) {
        EXPECT_EQ(parse_generation(link_speed(generation).name), generation);
    }
    EXPECT_EQ(parse_generation("ndr"), Generation::kNdr);
    EXPECT_EQ(parse_generation("fdr10"), Generation::kFdr10);
    EXPECT_EQ(parse_generation("FDR1"), std::nullopt);
}

TEST(Parse, ShapeRoundTrips) {
    for (const Shape shape : kShapes) {
        EXPECT_EQ(parse_shape(to_string(shape)), shape);
    }
    EXPECT_EQ(parse_shape("rail-optimised"), Shape::kRailOptimized);
    EXPECT_EQ(parse_shape("mesh"), std::nullopt);
}

TEST(Fabric, FindsByName) {
    const Fabric fabric = generate({.shape = Shape::kFatTree, .hosts = 4}).value();
    EXPECT_EQ(fabric.find_host("h3"), 3U);
    EXPECT_EQ(fabric.find_host("h4"), std::nullopt);
    ASSERT_TRUE(fabric.find_node("leaf1"));
    EXPECT_EQ(fabric.node(*fabric.find_node("leaf1")).kind, NodeKind::kSwitch);
    EXPECT_EQ(fabric.find_node("leaf9"), std::nullopt);
}

TEST(Fabric, DescriptionIsMadeFromTheNamesUnlessGiven) {
    Fabric fabric = generate({.hosts = 1, .device_pattern = "ib{}"}).value();
    EXPECT_EQ(description_of(fabric, fabric.nodes[0]), "h0 ib0");
    EXPECT_EQ(description_of(fabric, fabric.nodes[1]), fabric.nodes[1].name);
    fabric.nodes[0].description = "rack 3";
    EXPECT_EQ(description_of(fabric, fabric.nodes[0]), "rack 3");
}

TEST(Fabric, PortGuidIsTheNodesUnlessGiven) {
    Fabric fabric = generate({.hosts = 1}).value();
    Node& hca = fabric.nodes[0];
    EXPECT_EQ(port_guid(hca, PortNum{1}), hca.node_guid);
    EXPECT_EQ(port_guid(fabric.nodes[1], PortNum{1}), fabric.nodes[1].node_guid);
    hca.port_guid = Guid{hca.node_guid.value + 1};
    EXPECT_EQ(port_guid(hca, PortNum{1}).value, hca.node_guid.value + 1);
    EXPECT_TRUE(validate(fabric));
}

TEST(Fabric, RouterNeedsNoHost) {
    Fabric fabric = generate({.hosts = 2}).value();
    fabric.nodes[1].kind = NodeKind::kRouter;
    fabric.nodes[1].host = UINT32_MAX;
    fabric.hosts.pop_back();
    EXPECT_TRUE(validate(fabric));
    EXPECT_EQ(fabric.count(NodeKind::kRouter), 1U);
    fabric.nodes[1].ports.resize(3);
    EXPECT_FALSE(validate(fabric));
}

struct Damage {
    const char* name;
    std::function<void(Fabric&)> apply;
    const char* says;
};

class DamagedFabric : public testing::TestWithParam<Damage> {};

TEST_P(DamagedFabric, IsRefused) {
    // Nodes 0 and 1 are the HCAs, 2 and 3 the leaves, 4 the spine.
    Fabric fabric = generate({.shape = Shape::kFatTree, .hosts = 2}).value();
    ASSERT_TRUE(validate(fabric));
    GetParam().apply(fabric);
    const auto result = validate(fabric);
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find(GetParam().says), std::string::npos)
        << result.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Validate, DamagedFabric,
    testing::Values(
        Damage{"OneEndedCable", [](Fabric& f) { f.nodes[2].ports[1].peer = kNoNode; },
               "h0/mlx5_0: the cable at port 1 is not recorded"},
        Damage{"PeerDoesNotExist", [](Fabric& f) { f.nodes[0].ports[1].peer = NodeIndex{99}; },
               "node 99"},
        Damage{"PeerPortDoesNotExist",
               [](Fabric& f) { f.nodes[0].ports[1].peer_port = PortNum{200}; },
               "port 200 of leaf0"},
        Damage{"CableAtPortZero", [](Fabric& f) { f.nodes[2].ports[0].peer = NodeIndex{0}; },
               "port 0"},
        Damage{"TwoPortHca", [](Fabric& f) { f.nodes[0].ports.resize(3); }, "one port"},
        Damage{"TooManyPorts", [](Fabric& f) { f.nodes[4].ports.resize(256); }, "at most 254"},
        Damage{"NoPorts", [](Fabric& f) { f.nodes[4].ports.clear(); }, "spine0"},
        Damage{"HcaWithoutHost", [](Fabric& f) { f.nodes[1].host = 7; }, "h1/mlx5_0"},
        Damage{"ForeignHca", [](Fabric& f) { f.hosts[0].hcas = {NodeIndex{2}}; }, "h0"},
        Damage{"UnlistedHca",
               [](Fabric& f) {
                   f.hosts[0].hcas.clear();
                   f.hosts[0].device_names.clear();
               },
               "h0/mlx5_0: is not listed once"},
        Damage{"MissingDeviceName", [](Fabric& f) { f.hosts[1].device_names.clear(); },
               "device names"},
        Damage{"SameHostName", [](Fabric& f) { f.hosts[1].name = "h0"; }, "two hosts"},
        Damage{"SameNodeName", [](Fabric& f) { f.nodes[3].name = "leaf0"; }, "two nodes"},
        Damage{"SameGuid", [](Fabric& f) { f.nodes[3].node_guid = f.nodes[2].node_guid; },
               "same GUID"},
        Damage{"OtherWidth", [](Fabric& f) { f.nodes[2].ports[1].width = Width::k1x; },
               "not recorded the same way"},
        Damage{"PortGuidOfAnother", [](Fabric& f) { f.nodes[0].port_guid = f.nodes[1].node_guid; },
               "same GUID"},
        Damage{"PortBeyondItsAdapter", [](Fabric& f) { f.nodes[0].adapter.port = PortNum{2}; },
               "port 2 of an adapter that has 1"},
        Damage{"SamePortOfAnAdapter",
               [](Fabric& f) { f.nodes[0].adapter.guid = f.nodes[1].adapter.guid = Guid{9}; },
               "same port of the same adapter"},
        Damage{"ZeroGuid", [](Fabric& f) { f.nodes[3].node_guid = Guid{0}; }, "GUID 0"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace softib::topo
