// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/netlist_names.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace softib::topo {
namespace {

struct Hca {
    std::string description;
    std::uint64_t system_image = 0;  ///< The system image GUID; 0: one that no other HCA has.
};

Fabric with_hcas(std::initializer_list<Hca> hcas) {
    Fabric fabric;
    for (const Hca& hca : hcas) {
        Node node;
        node.description = hca.description;
        node.node_guid = Guid{0x1000 + 16 * fabric.nodes.size()};
        node.system_image_guid = hca.system_image == 0 ? node.node_guid : Guid{hca.system_image};
        node.ports.resize(2);
        fabric.nodes.push_back(node);
    }
    name_nodes(fabric);
    const auto valid = validate(fabric);
    EXPECT_TRUE(valid) << valid.error().message;
    return fabric;
}

std::vector<std::string> names(const Fabric& fabric) {
    std::vector<std::string> result;
    for (const Node& node : fabric.nodes) {
        result.push_back(node.name);
    }
    return result;
}

std::vector<std::string> names_of_hcas(std::initializer_list<Hca> hcas) {
    return names(with_hcas(hcas));
}

using Names = std::vector<std::string>;

TEST(NodeNames, FirstWordIsTheHostSecondTheDevice) {
    EXPECT_EQ(names_of_hcas({{"node001 mlx5_0"}, {"node001 mlx5_2"}, {"node002 mlx4_0"}}),
              (Names{"node001/mlx5_0", "node001/mlx5_2", "node002/mlx4_0"}));
}

TEST(NodeNames, DevicesWithoutAnameCountUpAroundThoseWithOne) {
    EXPECT_EQ(names_of_hcas({{"n HCA-1"}, {"n HCA-2"}}), (Names{"n/mlx5_0", "n/mlx5_1"}));
    EXPECT_EQ(names_of_hcas({{"n HCA-1"}, {"n mlx5_0"}, {"n"}}),
              (Names{"n/mlx5_1", "n/mlx5_0", "n/mlx5_2"}));
}

TEST(NodeNames, SameDescriptionOnTwoSystemsIsTwoHosts) {
    EXPECT_EQ(names_of_hcas({{"localhost mlx5_0"}, {"localhost mlx5_1"}, {"localhost mlx5_0"}}),
              (Names{"localhost/mlx5_0", "localhost/mlx5_1", "localhost-2/mlx5_0"}));
    EXPECT_EQ(names_of_hcas({{"n mlx5_0", 7}, {"n mlx5_0", 7}}), (Names{"n/mlx5_0", "n/mlx5_1"}))
        << "one system";
    EXPECT_EQ(names_of_hcas({{"n"}, {"n"}}), (Names{"n/mlx5_0", "n/mlx5_1"}))
        << "one word does not tell adapters apart";
}

TEST(NodeNames, NumberedHostsStayClearOfOthers) {
    EXPECT_EQ(names_of_hcas({{"a HCA-1"}, {"a-2 HCA-1"}, {"a HCA-1"}, {"a HCA-1"}}),
              (Names{"a/mlx5_0", "a-2/mlx5_0", "a-3/mlx5_0", "a-4/mlx5_0"}));
}

TEST(NodeNames, VendorsDescriptionGoesByTheSystemImage) {
    const std::string vendors = "MT4123 ConnectX6   Mellanox Technologies";
    EXPECT_EQ(names_of_hcas({{vendors, 0xabc}, {vendors, 0xdef}, {vendors, 0xabc}}),
              (Names{"MT4123-0000000000000abc/mlx5_0", "MT4123-0000000000000def/mlx5_0",
                     "MT4123-0000000000000abc/mlx5_1"}));
    EXPECT_EQ(names_of_hcas({{vendors, 0xabc}, {"node7 mlx5_0", 0xabc}}),
              (Names{"node7/mlx5_1", "node7/mlx5_0"}))
        << "another HCA of the system says whose it is";
    EXPECT_EQ(names_of_hcas({{"", 0xabc}, {"  ", 0xabc}}),
              (Names{"host-0000000000000abc/mlx5_0", "host-0000000000000abc/mlx5_1"}));
}

TEST(NodeNames, IdIsNoDescription) {
    EXPECT_EQ(names_of_hcas({{"H-0002c90300001000", 0xabc}, {"H-0002c90300002000", 0xabc}}),
              (Names{"host-0000000000000abc/mlx5_0", "host-0000000000000abc/mlx5_1"}));
}

TEST(NodeNames, HostsThatShareAnAdapterStayApart) {
    EXPECT_EQ(names_of_hcas({{"left mlx5_0", 0xabc}, {"right mlx5_0", 0xabc}}),
              (Names{"left/mlx5_0", "right/mlx5_0"}));
}

TEST(NodeNames, NothingInANameCanLeaveADirectory) {
    EXPECT_EQ(names_of_hcas({{"../../etc mlx5_0"}, {". ../x0"}, {"-rf a/b0"}}),
              (Names{"_._.._etc/mlx5_0", "_/mlx5_0", "_rf/mlx5_0"}));
}

TEST(NodeNames, LongNamesFitTheirRecords) {
    const std::string name(64, 'n');
    const Fabric fabric = with_hcas({{name.substr(0, 60)}, {name.substr(0, 61)}});
    EXPECT_EQ(fabric.hosts[0].name, std::string(48, 'n'));
    EXPECT_EQ(fabric.hosts[1].name, name.substr(0, 48) + "-2");
}

Names names_of_switches(std::initializer_list<const char*> descriptions) {
    Fabric fabric;
    for (const char* const description : descriptions) {
        Node node;
        node.kind = NodeKind::kSwitch;
        node.description = description;
        node.node_guid = Guid{0xa0 + fabric.nodes.size()};
        node.ports.resize(3);
        fabric.nodes.push_back(node);
    }
    name_nodes(fabric);
    const auto valid = validate(fabric);
    EXPECT_TRUE(valid) << valid.error().message;
    return names(fabric);
}

TEST(NodeNames, SwitchesGoByTheirDescription) {
    EXPECT_EQ(
        names_of_switches({"leaf0", "sw0_1_2", "Infiniscale-IV Mellanox", "S-0002c90300001000"}),
        (Names{"leaf0", "sw0_1_2", "Infiniscale-IV_Mellanox", "switch"}));
    EXPECT_EQ(names_of_switches({""}), (Names{"switch"}));
}

TEST(NodeNames, ManagedSwitchesGoByTheirOwnName) {
    EXPECT_EQ(names_of_switches({"MF0;leaf1:MQM8700/U1", "MF0;core:CS7520/L07/U1", "MF0;:X/U1",
                                 "MF0;odd", "SF;x:y/z"}),
              (Names{"leaf1", "core-L07-U1", "MF0__X_U1", "MF0_odd", "SF_x_y_z"}));
}

TEST(NodeNames, SwitchesOfOneNameGetTheirGuids) {
    EXPECT_EQ(names_of_switches({"Quantum", "Quantum", "alone"}),
              (Names{"Quantum-00000000000000a0", "Quantum-00000000000000a1", "alone"}));
    EXPECT_EQ(
        names_of_switches({"x", "x", "x-00000000000000a0"}),
        (Names{"x-00000000000000a0", "x-00000000000000a1", "x-00000000000000a0-00000000000000a2"}))
        << "nobody can take such a name in advance";
}

}  // namespace
}  // namespace softib::topo
