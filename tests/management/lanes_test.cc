// SPDX-License-Identifier: BSD-2-Clause
// The tables of virtual lanes that the subnet manager writes, as the nodes hold them.
#include "core/wire/sm/sl_to_vl_mapping_table.h"
#include "rig.h"

namespace softib::sm {
namespace {

/// Reads an attribute from the node itself.
template <typename T>
T read(Rig& rig, std::uint32_t node, wire::SmAttribute attribute, std::uint32_t modifier) {
    wire::MadBytes request{};
    wire::MadRepr{.mgmt_class = wire::MgmtClass::kSubnLidRouted,
                  .method = wire::Method::kGet,
                  .attribute_id = static_cast<std::uint16_t>(attribute),
                  .attribute_modifier = modifier}
        .emit(wire::Mad<std::uint8_t>(request));
    const auto answer = rig.mesh.node(node).receive_smp(request, 1, rig.now_ns);
    EXPECT_TRUE(answer);
    const wire::Smp<const std::uint8_t> smp(*answer);
    EXPECT_EQ(smp.status(), 0);
    return wire::parse<T>(smp.data());
}

std::string lanes(Rig& rig, std::uint32_t node, std::uint32_t in, std::uint32_t out) {
    return to_string(read<wire::SlToVlMappingTable>(
        rig, node, wire::SmAttribute::kSlToVlMappingTable, in << 8 | out));
}

wire::VlArbitrationTable arbitration(Rig& rig, std::uint32_t node, std::uint32_t block,
                                     std::uint32_t port) {
    return read<wire::VlArbitrationTable>(rig, node, wire::SmAttribute::kVlArbitrationTable,
                                          block << 16 | port);
}

Manager& bring_up(Rig& rig, ManagerConfig config) {
    Manager& manager = rig.add_manager(rig.first_switch(), std::move(config));
    manager.start(rig.now_ns);
    rig.run();
    EXPECT_TRUE(manager.settled());
    return manager;
}

TEST(Lanes, WithoutQosNothingIsWritten) {
    Rig rig(fat_tree(4, 4));
    const Manager& manager = bring_up(rig, {});
    for (NodeIndex i = 0; i < manager.subnet().size(); ++i) {
        EXPECT_TRUE(manager.subnet().node(i).sl2vl.empty());
        EXPECT_TRUE(manager.subnet().node(i).ports[1].vl_arbitration.empty());
    }
    EXPECT_EQ(arbitration(rig, 0, 1, 1).entry[7], (wire::VlArbitrationEntry{7, 64}));
}

TEST(Lanes, QosSpreadsLevelsAndArbitratesOnAllPorts) {
    Rig rig(fat_tree(4, 4));
    ManagerConfig config;
    config.qos.on = true;
    config.qos.high_limit = 9;
    config.qos.max_op_vls = 3;
    const Manager& manager = bring_up(rig, config);
    const std::uint32_t leaf = rig.first_switch();
    const std::string spread_over_4 = "0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,3";
    EXPECT_EQ(lanes(rig, 0, 0, 1), spread_over_4);
    EXPECT_EQ(lanes(rig, leaf, 1, 3), spread_over_4);
    EXPECT_EQ(lanes(rig, leaf, 4, 2), spread_over_4);
    for (const std::uint32_t node : {0U, leaf}) {
        EXPECT_EQ(rig.mesh.node(node).port(1).operational_vls, 3);
        EXPECT_EQ(rig.mesh.node(node).port(1).vl_high_limit, 9);
        const auto low = arbitration(rig, node, 1, 1);
        EXPECT_EQ(low.entry[0], (wire::VlArbitrationEntry{0, 0}));
        EXPECT_EQ(low.entry[3], (wire::VlArbitrationEntry{3, 4}));
        EXPECT_EQ(low.entry[4], wire::VlArbitrationEntry{}) << "the port has four lanes";
        const auto high = arbitration(rig, node, 3, 1);
        EXPECT_EQ(high.entry[0], (wire::VlArbitrationEntry{0, 4}));
        EXPECT_EQ(high.entry[1], (wire::VlArbitrationEntry{1, 0}));
        const NodeIndex index = manager.subnet().find(rig.mesh.node(node).spec().node_guid);
        const SubnetPort& seen = manager.subnet().node(index).ports[1];
        ASSERT_EQ(seen.vl_arbitration.size(), 4U);
        EXPECT_EQ(seen.vl_arbitration[0], low);
        EXPECT_EQ(seen.vl_arbitration[2], high);
    }
}

TEST(Lanes, UsersTablesAreFoldedOntoTheLanesThereAre) {
    Rig rig(fat_tree(4, 4));
    ManagerConfig config;
    config.qos.on = true;
    config.qos.sl2vl = *parse_sl2vl("0,1,9,15,14");
    config.qos.vlarb_low = *parse_vlarb("1:255,9:1,7:3");
    config.qos.vlarb_high = *parse_vlarb("2:1");
    bring_up(rig, config);
    const std::uint32_t leaf = rig.first_switch();
    for (const std::uint32_t node : {1U, leaf}) {
        EXPECT_EQ(lanes(rig, node, 0, 1), "0,1,1,15,6,6,6,6,6,6,6,6,6,6,6,6");
        EXPECT_EQ(arbitration(rig, node, 1, 1).entry[0], (wire::VlArbitrationEntry{1, 255}));
        EXPECT_EQ(arbitration(rig, node, 1, 1).entry[1], (wire::VlArbitrationEntry{7, 3}));
        EXPECT_EQ(arbitration(rig, node, 3, 1).entry[0], (wire::VlArbitrationEntry{2, 1}));
    }
}

TEST(Lanes, SecondSweepWritesNothingAndOnePacketServesASwitch) {
    Rig rig(fat_tree(4, 4));
    Manager& plain = bring_up(rig, {});
    const std::uint64_t without = plain.stats().smps_sent;
    Rig again(fat_tree(4, 4));
    ManagerConfig config;
    config.qos.on = true;
    Manager& manager = bring_up(again, config);
    // A mapping for each of four switches and hosts, four blocks for both ends of eight cables.
    EXPECT_EQ(manager.stats().smps_sent - without, 4U + 4U + 8U * 2U * 4U);
    manager.resweep(again.now_ns);
    const std::uint64_t before = manager.stats().smps_sent;
    again.run();
    const std::uint64_t sweep = manager.stats().smps_sent - before;
    plain.resweep(rig.now_ns);
    const std::uint64_t before_plain = plain.stats().smps_sent;
    rig.run();
    EXPECT_EQ(sweep, plain.stats().smps_sent - before_plain);
}

TEST(Lanes, EngineThatNeedsThemHasThemOnHostsToo) {
    Rig rig(ring());
    ManagerConfig config;
    config.engine = "dor";
    Manager& manager = bring_up(rig, config);
    ASSERT_EQ(manager.tables().engine, "dor");
    ASSERT_FALSE(manager.tables().sl_to_vl.empty());
    const auto& host_row = manager.tables().sl_to_vl.host_row();
    const std::string wanted = to_string(wire::SlToVlMappingTable{host_row});
    for (std::uint32_t host = 0; host < 5; ++host) {
        EXPECT_EQ(lanes(rig, host, 0, 1), wanted);
        const NodeIndex index = manager.subnet().find(rig.mesh.node(host).spec().node_guid);
        ASSERT_EQ(manager.subnet().node(index).sl2vl.size(), 2U) << "the administration knows";
        EXPECT_EQ(to_string(manager.subnet().node(index).sl2vl[1][0]), wanted);
    }
    // A host that was away gets the table again.
    const agent::End cable{2, 1};
    rig.mesh.set_plugged(cable, false);
    rig.run();
    rig.mesh.set_plugged(cable, true);
    const std::uint64_t before = manager.stats().smps_sent;
    rig.run();
    EXPECT_GT(manager.stats().smps_sent, before);
    EXPECT_EQ(lanes(rig, 2, 0, 1), wanted);
}

TEST(Lanes, EngineGoesBeforeTheUsersTable) {
    Rig rig(ring());
    ManagerConfig config;
    config.engine = "dor";
    config.qos.on = true;
    config.qos.sl2vl = *parse_sl2vl("15");
    Manager& manager = bring_up(rig, config);
    EXPECT_EQ(lanes(rig, 0, 0, 1),
              to_string(wire::SlToVlMappingTable{manager.tables().sl_to_vl.host_row()}));
    bool told = false;
    while (const auto event = rig.service(0).poll_event()) {
        told = told || (event->kind == ManagerEvent::kWarning &&
                        event->text == "dor needs the lanes for itself: sl2vl is not used");
    }
    EXPECT_TRUE(told);
    // The next engine does not need its own mapping, and the user's table is written.
    manager.set_engine("updn", rig.now_ns);
    rig.run();
    EXPECT_EQ(manager.tables().engine, "updn");
    EXPECT_EQ(lanes(rig, 0, 0, 1), "15,15,15,15,15,15,15,15,15,15,15,15,15,15,15,15");
    EXPECT_EQ(lanes(rig, rig.first_switch(), 1, 2),
              "15,15,15,15,15,15,15,15,15,15,15,15,15,15,15,15");
}

TEST(Lanes, RoutingUsesNoMoreLanesThanLinksHave) {
    Rig rig(ring());
    ManagerConfig config;
    config.engine = "nue";
    config.qos.max_op_vls = 1;
    EXPECT_EQ(bring_up(rig, config).tables().vls, 1);
}

}  // namespace
}  // namespace softib::sm
