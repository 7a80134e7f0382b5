// SPDX-License-Identifier: BSD-2-Clause
// The P_Key tables that follow from partitions, in the nodes themselves.
#include "rig.h"

namespace softib::sm {
namespace {

using Keys = std::vector<PKey>;

std::string guid_text(const Rig& rig, std::uint32_t node) {
    return std::to_string(rig.mesh.node(node).spec().ports[1].guid.value);
}

/// Returns the P_Key table of a port, without its empty end.
Keys keys_in(const Rig& rig, std::uint32_t node, std::uint8_t port) {
    Keys keys;
    for (std::uint16_t i = 0; i < 32; ++i) {
        keys.push_back(rig.mesh.node(node).pkey(port, i));
    }
    while (!keys.empty() && keys.back() == PKey{0}) {
        keys.pop_back();
    }
    return keys;
}

ManagerConfig with(const std::string& text) {
    ManagerConfig config;
    const auto partitions = parse_partitions(text);
    EXPECT_TRUE(partitions) << partitions.error().message;
    config.partitions = *partitions;
    return config;
}

/// Hosts 0 and 1 are blue, 2 and 3 red.
std::string tenants(const Rig& rig) {
    return "blue=0x10: " + guid_text(rig, 0) + "=full," + guid_text(rig, 1) + ";\n" +
           "red=0x20: " + guid_text(rig, 2) + "=full," + guid_text(rig, 3) + "=full;\n";
}

TEST(ManagerPartitions, TablesAreWhatTheTextSays) {
    Rig rig(fat_tree(4, 4));
    const std::uint32_t root = rig.first_switch();
    Manager& manager = rig.add_manager(root, with(tenants(rig)));
    manager.start(rig.now_ns);
    rig.run();
    ASSERT_TRUE(manager.settled());
    EXPECT_EQ(keys_in(rig, 0, 1), (Keys{PKey{0x7FFF}, PKey{0x8010}}));
    EXPECT_EQ(keys_in(rig, 1, 1), (Keys{PKey{0x7FFF}, PKey{0x0010}}));
    EXPECT_EQ(keys_in(rig, 3, 1), (Keys{PKey{0x7FFF}, PKey{0x8020}}));
    EXPECT_EQ(keys_in(rig, root, 0), (Keys{PKey{0xFFFF}})) << "the manager";
    EXPECT_EQ(keys_in(rig, root + 1, 0), (Keys{PKey{0x7FFF}})) << "another switch";
    // The P_Keys as the SA has them.
    EXPECT_EQ(manager.subnet().port(*manager.subnet().by_lid(Lid{1})).pkeys[1], PKey{0x8010});
    rig.expect_all_pairs();
}

TEST(ManagerPartitions, SwitchesEnforceThemAtAdaptersOnly) {
    Rig rig(fat_tree(4, 4));
    Manager& manager = rig.add_manager(rig.first_switch(), with(tenants(rig)));
    manager.start(rig.now_ns);
    rig.run();
    std::size_t at_adapters = 0;
    for (std::uint32_t i = 0; i < rig.mesh.size(); ++i) {
        const agent::Node& node = rig.mesh.node(i);
        for (std::uint8_t p = 1; node.is_switch() && p <= node.port_count(); ++p) {
            const agent::End peer = rig.mesh.peer({i, p});
            const bool adapter =
                peer.node != agent::kNoNode && !rig.mesh.node(peer.node).is_switch();
            EXPECT_EQ(node.port(p).partition_enforcement_inbound, adapter) << i << " " << int{p};
            EXPECT_EQ(node.port(p).partition_enforcement_outbound, adapter);
            if (adapter) {
                ++at_adapters;
                EXPECT_EQ(keys_in(rig, i, p), keys_in(rig, peer.node, 1));
            }
        }
    }
    EXPECT_EQ(at_adapters, 4U);
}

TEST(ManagerPartitions, WithoutThemNothingIsTouched) {
    Rig rig(fat_tree(4, 4));
    rig.mesh.set_pkey({2, 1}, 3, PKey{0x8123});
    Manager& manager = rig.add_manager(rig.first_switch());
    manager.start(rig.now_ns);
    rig.run();
    EXPECT_EQ(keys_in(rig, 0, 1), (Keys{PKey{0xFFFF}}));
    EXPECT_EQ(keys_in(rig, 2, 1), (Keys{PKey{0xFFFF}, PKey{0}, PKey{0}, PKey{0x8123}}));
    EXPECT_EQ(manager.subnet().port(*manager.subnet().by_lid(Lid{3})).pkeys[3], PKey{0x8123});
    EXPECT_FALSE(rig.mesh.node(rig.first_switch()).port(1).partition_enforcement_inbound);
}

TEST(ManagerPartitions, SabotageIsUndoneAndTheRestNotWrittenAgain) {
    Rig rig(fat_tree(4, 4));
    Manager& manager = rig.add_manager(rig.first_switch(), with(tenants(rig)));
    manager.start(rig.now_ns);
    rig.run();
    manager.resweep(rig.now_ns);
    const std::uint64_t before = manager.stats().smps_sent;
    rig.run();
    const std::uint64_t idle_sweep = manager.stats().smps_sent - before;
    rig.mesh.set_pkey({0, 1}, 5, PKey{0x8020});  // A P_Key of the red partition, for a blue host.
    rig.mesh.set_pkey({3, 1}, 0, PKey{0xFFFF});
    manager.resweep(rig.now_ns);
    rig.run();
    EXPECT_EQ(manager.stats().smps_sent - before, 2 * idle_sweep + 2);
    EXPECT_EQ(keys_in(rig, 0, 1), (Keys{PKey{0x7FFF}, PKey{0x8010}}));
    EXPECT_EQ(keys_in(rig, 3, 1), (Keys{PKey{0x7FFF}, PKey{0x8020}}));
}

TEST(ManagerPartitions, SwitchThatComesBackGetsItsTablesAgain) {
    Rig rig(fat_tree(4, 4));
    const std::uint32_t root = rig.first_switch();
    Manager& manager = rig.add_manager(root, with(tenants(rig)));
    manager.start(rig.now_ns);
    rig.run();
    const std::uint32_t leaf = root + 1;
    ASSERT_EQ(keys_in(rig, leaf, 1).size(), 2U);
    rig.mesh.set_powered(leaf, false);
    rig.run();
    rig.mesh.set_powered(leaf, true);
    ASSERT_EQ(keys_in(rig, leaf, 1).size(), 1U);
    rig.run();
    EXPECT_EQ(keys_in(rig, leaf, 1), (Keys{PKey{0x7FFF}, PKey{0x8020}}));
    EXPECT_EQ(keys_in(rig, leaf, 0), (Keys{PKey{0x7FFF}}));
    EXPECT_TRUE(rig.mesh.node(leaf).port(1).partition_enforcement_inbound);
}

TEST(ManagerPartitions, MorePartitionsThanATableHoldsAreTold) {
    Rig rig(fat_tree(4, 4));
    std::string text;
    for (int i = 1; i <= 40; ++i) {
        text += "p" + std::to_string(i) + ": " + guid_text(rig, 0) + "=full;\n";
    }
    Manager& manager = rig.add_manager(rig.first_switch(), with(text));
    manager.start(rig.now_ns);
    rig.run();
    std::string warning;
    while (const auto event = rig.service(0).poll_event()) {
        if (event->kind == ManagerEvent::kWarning) {
            warning = event->text;
        }
    }
    EXPECT_NE(warning.find("must hold 41 P_Keys but its table has room for 32"), std::string::npos)
        << warning;
    EXPECT_EQ(keys_in(rig, 0, 1).size(), 32U);
    EXPECT_EQ(keys_in(rig, 0, 1)[0], PKey{0x7FFF});
}

TEST(MeshServices, LimitedMemberGetsItsAnswer) {
    Rig rig(fat_tree(4, 4));
    Manager& manager = rig.add_manager(rig.first_switch(), with(tenants(rig)));
    manager.start(rig.now_ns);
    rig.run();
    // The switch's PMA answers a limited member with a P_Key of its own, which is a full one.
    const auto ask = [&](Lid lid) {
        mad::Packet packet;
        wire::MadRepr{.mgmt_class = wire::MgmtClass::kPerf,
                      .method = wire::Method::kGet,
                      .transaction_id = 7,
                      .attribute_id = 1}
            .emit(wire::Mad<std::uint8_t>(packet.mad));
        packet.dlid = lid;
        packet.source = packet.destination = mad::kQpnServices;
        packet.qkey = mad::kQKeyServices;
        packet.pkey = PKey{0x7FFF};
        rig.mesh.send({0, 1}, packet, rig.now_ns);
        return rig.mesh.poll_delivery();
    };
    const auto answer = ask(manager.own_lid());
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->at.node, 0U);
    EXPECT_EQ(wire::Mad<const std::uint8_t>(answer->packet.mad).method(), wire::Method::kGetResp);
    EXPECT_FALSE(ask(Lid{2})) << "two limited members do not talk";
}

}  // namespace
}  // namespace softib::sm
