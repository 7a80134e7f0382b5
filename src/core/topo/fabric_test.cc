// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/fabric.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace softib::topo {
namespace {

TEST(LinkSpeed, ValuesAreThoseOfVerbs) {
    EXPECT_EQ(link_speed(Generation::kEdr).active_speed, 32U);
    EXPECT_EQ(link_speed(Generation::kHdr).gbps, 200U);
    EXPECT_EQ(link_speed(Generation::kNdr).active_speed, 128U);
    EXPECT_EQ(link_speed(Generation::kXdr).active_speed, 256U);
    EXPECT_STREQ(link_speed(Generation::kXdr).name, "XDR");
    EXPECT_EQ(link_speed(Generation::kXdr).active_width, 2);
}

TEST(Parse, GenerationIgnoresCase) {
    EXPECT_EQ(parse_generation("ndr"), Generation::kNdr);
    EXPECT_EQ(parse_generation("EDR"), Generation::kEdr);
    EXPECT_EQ(parse_generation("SDR"), std::nullopt);
}

TEST(Parse, ShapeRoundTrips) {
    for (const Shape shape :
         {Shape::kSingleSwitch, Shape::kFatTree, Shape::kTorus, Shape::kDragonfly}) {
        EXPECT_EQ(parse_shape(to_string(shape)), shape);
    }
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
        Damage{"MissingDeviceName", [](Fabric& f) { f.hosts[1].device_names.clear(); },
               "device names"},
        Damage{"SameHostName", [](Fabric& f) { f.hosts[1].name = "h0"; }, "two hosts"},
        Damage{"SameNodeName", [](Fabric& f) { f.nodes[3].name = "leaf0"; }, "two nodes"},
        Damage{"SameGuid", [](Fabric& f) { f.nodes[3].node_guid = f.nodes[2].node_guid; },
               "same GUID"},
        Damage{"ZeroGuid", [](Fabric& f) { f.nodes[3].node_guid = Guid{0}; }, "GUID 0"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace softib::topo
