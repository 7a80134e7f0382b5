// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <string>

#include "core/topo/netlist.h"
#include "core/topo/test_netlists.h"

namespace softib::topo {
namespace {

const Node& node(const Fabric& fabric, const std::string& name) {
    const auto index = fabric.find_node(name);
    EXPECT_TRUE(index) << name;
    return index ? fabric.node(*index) : fabric.nodes.front();
}

/// Returns the other end and the speed of a port's cable, such as "leaf01[3] 4x FDR10".
std::string link_text(const Fabric& fabric, const std::string& name, std::size_t port) {
    const PortLink& link = node(fabric, name).ports.at(port);
    if (link.peer == kNoNode) {
        return "nothing";
    }
    return fabric.node(link.peer).name + "[" + std::to_string(link.peer_port.value) + "] " +
           std::to_string(lanes(link.width)) + "x " + link_speed(link.generation).name;
}

/// The names of two switches that have the same description.
constexpr char kSpine1[] = "Quantum_Mellanox_Technologies-0c42a10300bb1000";
constexpr char kSpine2[] = "Quantum_Mellanox_Technologies-0c42a10300bb2000";

TEST(ReadNetlist, DumpGivesAValidFabric) {
    const Fabric fabric = read_ok(kDump);
    const auto valid = validate(fabric);
    EXPECT_TRUE(valid) << valid.error().message;
    EXPECT_FALSE(fabric.shape);
    EXPECT_EQ(fabric.count(NodeKind::kHca), 5U);
    EXPECT_EQ(fabric.count(NodeKind::kSwitch), 3U);
    EXPECT_EQ(fabric.count(NodeKind::kRouter), 1U);
    EXPECT_EQ(fabric.nodes.front().kind, NodeKind::kHca);
    EXPECT_EQ(fabric.nodes[5].name, "leaf01");
    EXPECT_EQ(fabric.nodes.back().kind, NodeKind::kRouter);
}

TEST(ReadNetlist, DumpedCablesSpeedsAndWidths) {
    const Fabric fabric = read_ok(kDump);
    EXPECT_EQ(link_text(fabric, "node001/mlx5_0", 1), "leaf01[1] 4x HDR");
    EXPECT_EQ(link_text(fabric, "node001/mlx5_1", 1), "leaf01[2] 2x HDR");
    EXPECT_EQ(link_text(fabric, "node002/mlx5_0", 1), "leaf01[3] 4x FDR10");
    EXPECT_EQ(link_text(fabric, "node002/mlx5_1", 1), std::string(kSpine2) + "[7] 12x DDR");
    EXPECT_EQ(link_text(fabric, "leaf01", 3), "node002/mlx5_0[1] 4x FDR10");
    EXPECT_EQ(link_text(fabric, "leaf01", 4), "nothing");
    EXPECT_EQ(link_text(fabric, "leaf01", 39), std::string(kSpine1) + "[1] 4x EDR");
    EXPECT_EQ(link_text(fabric, kSpine1, 2), std::string(kSpine2) + "[2] 1x SDR");
    EXPECT_EQ(link_text(fabric, kSpine2, 8), "sky__the__router[1] 8x QDR");
    EXPECT_EQ(node(fabric, "leaf01").ports.size(), 42U);
}

TEST(ReadNetlist, DumpedFactsAboutNodes) {
    const Fabric fabric = read_ok(kDump);
    const Node& leaf = node(fabric, "leaf01");
    EXPECT_EQ(leaf.node_guid, Guid{0x0c42a10300bb0000});
    EXPECT_EQ(leaf.description, "MF0;leaf01:MQM8700/U1");
    EXPECT_EQ(leaf.vendor_id, 0x2c9U);
    EXPECT_EQ(leaf.device_id, 0xd2f0U);
    EXPECT_EQ(leaf.lid, Lid{2});
    EXPECT_TRUE(leaf.enhanced_port_0);
    EXPECT_FALSE(node(fabric, kSpine2).enhanced_port_0);
    EXPECT_EQ(node(fabric, kSpine2).lmc, 2);
    const Node& hca = node(fabric, "node001/mlx5_0");
    EXPECT_EQ(hca.lid, Lid{1});
    EXPECT_EQ(port_guid(hca, PortNum{1}), Guid{0x0c42a10300aa0010}) << "the same as the node's";
    const Node& router = node(fabric, "sky__the__router");
    EXPECT_EQ(router.description, "sky \"the\" router");
    EXPECT_EQ(router.adapter.port, PortNum{2});
    EXPECT_EQ(router.lid, Lid{8});
}

TEST(ReadNetlist, PortsOfOneAdapterAreHcasOfOneHost) {
    const Fabric fabric = read_ok(kDump);
    const Node& first = node(fabric, "node002/mlx5_0");
    const Node& second = node(fabric, "node002/mlx5_1");
    EXPECT_EQ(first.host, second.host);
    EXPECT_EQ(first.node_guid, Guid{0x0002c90300cc0000});
    EXPECT_EQ(second.node_guid, Guid{0x0002c90300cc0002}) << "node GUIDs are unique";
    EXPECT_EQ(port_guid(first, PortNum{1}), Guid{0x0002c90300cc0001});
    EXPECT_EQ(port_guid(second, PortNum{1}), Guid{0x0002c90300cc0002});
    EXPECT_EQ(second.adapter.guid, first.node_guid);
    EXPECT_EQ(second.adapter.port, PortNum{2});
    EXPECT_EQ(second.adapter.ports, 2);
    EXPECT_EQ(second.lid, Lid{7});
    EXPECT_EQ(second.lmc, 1);
}

TEST(ReadNetlist, LevelsGrowAwayFromHcas) {
    const Fabric fabric = read_ok(
        "Switch 4 \"leaf\"\n[1] \"h\"[1]\n[2] \"middle\"[1]\n"
        "Switch 4 \"middle\"\n[1] \"leaf\"[2]\n[2] \"top\"[1]\n"
        "Switch 4 \"top\"\n[1] \"middle\"[2]\n"
        "Switch 4 \"lonely\"\n"
        "Hca 1 \"h\"\n[1] \"leaf\"[1]\n");
    EXPECT_EQ(node(fabric, "leaf").level, 0U);
    EXPECT_EQ(node(fabric, "middle").level, 1U);
    EXPECT_EQ(node(fabric, "top").level, 2U);
    EXPECT_EQ(node(fabric, "lonely").level, 0U);
}

TEST(ReadNetlist, HandWrittenForIbsim) {
    const Fabric fabric = read_ok(kHandWritten);
    EXPECT_TRUE(validate(fabric));
    EXPECT_EQ(link_text(fabric, "Left", 1), "Alice/mlx5_0[1] 4x SDR") << "ibsim's default";
    EXPECT_EQ(link_text(fabric, "Left", 2), "Bob/mlx5_0[1] 12x DDR");
    EXPECT_EQ(link_text(fabric, "Left", 8), "the_one_at_the_door[8] 4x EDR")
        << "common to e=6 and e=3";
    EXPECT_EQ(node(fabric, "Bob/mlx5_0").adapter.port, PortNum{2});
    EXPECT_EQ(node(fabric, "Alice/mlx5_0").node_guid, Guid{0x100000});
    EXPECT_EQ(node(fabric, "Bob/mlx5_0").node_guid, Guid{0x100002}) << "one for each port before";
    EXPECT_EQ(port_guid(node(fabric, "Bob/mlx5_0"), PortNum{1}), Guid{0x100004}) << "ibsim's rule";
    EXPECT_EQ(node(fabric, "the_one_at_the_door").node_guid, Guid{0x200001});
}

TEST(ReadNetlist, SettingsOfIbsim) {
    const Fabric fabric = read_ok(
        "width=8\nspeed=7\nextspeed=15\npdebug=1\n"
        "vendid=713\ndevid=0x10\nsysimgguid=0x77\nswitchguid=0x5000\n"
        "module = \"row1\"\n"
        "Switch 4 \"s\" # \"one\"\n[1] \"row2#s\"[1]\n[2] \"row2#s\"[2] w=2 s=1 e=0\n"
        "switchguid+16\n"
        "module=\"row2\"\n"
        "Switch 4 \"s\" # \"two\"\n[1] \"row1#s\"[1]\n[2] \"row1#s\"[2] w=2 s=1 e=0\n"
        "[3] \"x\"[1]\n"
        "hcaguids=0x70\n"
        "Hca 1 \"x\"\n[1] \"s\"[3]\n");
    EXPECT_EQ(link_text(fabric, "one", 1), "two[1] 12x NDR");
    EXPECT_EQ(link_text(fabric, "one", 2), "two[2] 4x SDR");
    EXPECT_EQ(link_text(fabric, "x/mlx5_0", 1), "two[3] 12x NDR");
    const Node& one = node(fabric, "one");
    const Node& two = node(fabric, "two");
    EXPECT_EQ(one.node_guid, Guid{0x5000});
    EXPECT_EQ(two.node_guid, Guid{0x5010}) << "counted from the last '='";
    EXPECT_EQ(node(fabric, "x/mlx5_0").node_guid, Guid{0x70});
    EXPECT_EQ(one.system_image_guid, Guid{0x77});
    EXPECT_EQ(two.system_image_guid, two.node_guid) << "it was for one node";
    EXPECT_EQ(one.vendor_id, 713U);
    EXPECT_EQ(two.vendor_id, 0U) << "it was for one node";
    EXPECT_EQ(two.device_id, 0x10U) << "it stays";
}

TEST(ReadNetlist, DescriptionWithoutQuotes) {
    const Fabric fabric = read_ok(
        "Switch 24 \"S-0008f10400411a08\"  # ISR9024 Voltaire base port 0 lid 6 lmc 1\n"
        "[24] \"H-0008f10403960558\"[1]  # lid 4 4xDDR\n"
        "Ca 2 \"H-0008f10403960558\"  # Voltaire HCA400\n"
        "[1](8f10403960559) \"S-0008f10400411a08\"[24] # lid 4 lmc 0 \"ISR\" lid 6 4xDDR\n");
    const Node& sw = node(fabric, "ISR9024_Voltaire");
    EXPECT_EQ(sw.lid, Lid{6});
    EXPECT_EQ(sw.lmc, 1);
    EXPECT_EQ(sw.node_guid, Guid{0x0008f10400411a08}) << "from the id";
    EXPECT_EQ(link_text(fabric, "ISR9024_Voltaire", 24), "Voltaire/mlx5_0[1] 4x DDR");
    EXPECT_EQ(node(fabric, "Voltaire/mlx5_0").lid, Lid{4});
}

TEST(ReadNetlist, DumpByChassis) {
    const Fabric fabric = read_ok(
        "\nChassis 1 (guid 0x2c902004059d8)\nHostname: gateway\n\n# Spine Nodes\n"
        "vendid=0x2c9\ndevid=0xbd36\nsysimgguid=0x2c902004059d8\t\t# Chassis 1 (gateway) slot 2\n"
        "switchguid=0x2c902004059d8(2c902004059d9)\t# ISR2012 Spine 1 Chip 2\n"
        "Switch\t36 \"S-0002c902004059d8\"\t\t# \"spine\" base port 0 lid 1 lmc 0\n"
        "[1][ext 13]\t\"S-0002c90200405a00\"[2][ext 7]\t\t# \"line\" lid 2 4xQDR s=4 w=2 v=4\n"
        "\n# Line Nodes\n# Chassis Switches\n# Chassis CAs\n\nNon-Chassis Nodes\n"
        "vendid=0x2c9\ndevid=0xbd36\n"
        "switchguid=0x2c90200405a00(2c90200405a00)\n"
        "Switch\t36 \"S-0002c90200405a00\"\t\t# \"line\" base port 0 lid 2 lmc 0\n"
        "[2][ext 7]\t\"S-0002c902004059d8\"[1][ext 13]\t\t# \"spine\" lid 1 4xQDR slot 2\n");
    EXPECT_EQ(link_text(fabric, "spine", 1), "line[2] 4x QDR");
    EXPECT_EQ(port_guid(node(fabric, "spine"), PortNum{0}), Guid{0x2c902004059d9});
    EXPECT_EQ(node(fabric, "line").system_image_guid, Guid{0x2c90200405a00}) << "none was said";
    EXPECT_TRUE(validate(fabric));
}

TEST(ReadNetlist, EveryWidthAndSpeedIsKnown) {
    for (const Width width : kWidths) {
        for (const Generation generation : kGenerations) {
            const std::string speed =
                std::to_string(lanes(width)) + "x" + link_speed(generation).name;
            const Fabric fabric = read_ok("Switch 2 \"a\"\n[1] \"b\"[2] # \"b\" lid 1 " + speed +
                                          "\nSwitch 2 \"b\"\n[2] \"a\"[1] # \"a\" lid 2 " + speed);
            EXPECT_EQ(node(fabric, "a").ports[1].width, width) << speed;
            EXPECT_EQ(node(fabric, "b").ports[2].generation, generation) << speed;
        }
    }
}

TEST(ReadNetlist, LinkRunsAtWhatBothEndsCan) {
    const auto between = [](const std::string& a, const std::string& b) {
        const Fabric fabric =
            read_ok("Switch 2 \"a\"\n[1] \"b\"[2] " + a + "\nSwitch 2 \"b\"\n[2] \"a\"[1] " + b);
        return link_text(fabric, "a", 1).substr(5);
    };
    EXPECT_EQ(between("# \"b\" lid 1 4xNDR", "# \"a\" lid 2 4xHDR"), "4x HDR");
    EXPECT_EQ(between("# \"b\" lid 1 12xFDR", "# \"a\" lid 2 1xEDR"), "1x FDR");
    EXPECT_EQ(between("# \"b\" lid 1 4x???", "# \"a\" lid 2 4xEDR"), "4x EDR");
    EXPECT_EQ(between("# \"b\" lid 1 2xHDR", "# \"a\" lid 2 ?????"), "2x HDR");
    EXPECT_EQ(between("w=3 s=7", "w=1 s=5"), "1x QDR");
    EXPECT_EQ(between("s=0", "s=4"), "4x QDR") << "0 is QDR in ibsim";
    EXPECT_EQ(between("w=1 s=1 # \"b\" lid 1 4xXDR", "# \"a\" lid 2 4xXDR"), "4x XDR")
        << "the comment is what the link really did";
}

TEST(ReadNetlist, LidsThatNoManagerGaveAreNone) {
    const Fabric fabric = read_ok(
        "Switch 2 \"a\" # \"a\" base port 0 lid 65535 lmc 9\n[1] \"h\"[1] # \"h\" lid 0 4xHDR\n"
        "Ca 1 \"h\" # \"h\"\n[1](7) \"a\"[1] # lid 49152 lmc 0 \"a\" lid 65535 4xHDR\n");
    EXPECT_EQ(node(fabric, "a").lid, Lid{0});
    EXPECT_EQ(node(fabric, "a").lmc, 7);
    EXPECT_EQ(node(fabric, "h/mlx5_0").lid, Lid{0});
}

TEST(ReadNetlist, LineEndsOfOtherSystemsAndSpacesInFront) {
    const Fabric fabric =
        read_ok("  Switch 2 \"a\"\r\n\t[1] \"h\"[1]\r\n\r\nCa 1 \"h\"\r\n[1] \"a\"[1]\r\n");
    EXPECT_EQ(link_text(fabric, "a", 1), "h/mlx5_0[1] 4x SDR");
}

TEST(ReadNetlist, CableBetweenPortsOfOneSwitch) {
    const Fabric fabric = read_ok("Switch 4 \"a\"\n[1] \"a\"[2]\n[2] \"a\"[1]\n");
    EXPECT_EQ(link_text(fabric, "a", 1), "a[2] 4x SDR");
    EXPECT_TRUE(validate(fabric));
}

TEST(ReadNetlist, AdapterWithoutCableIsAnHca) {
    const Fabric fabric = read_ok("Ca 2 \"h\"\n");
    ASSERT_EQ(fabric.nodes.size(), 1U);
    EXPECT_EQ(fabric.nodes[0].adapter.ports, 2);
    EXPECT_TRUE(validate(fabric));
}

TEST(ReadNetlist, LongDescriptionIsCutToWhatTheAttributeHolds) {
    const Fabric fabric = read_ok("Switch 2 \"a\" # \"" + std::string(100, 'x') + "\"\n");
    EXPECT_EQ(fabric.nodes[0].description.size(), 64U);
}

}  // namespace
}  // namespace softib::topo
