// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa/fabric_records.h"

#include <gtest/gtest.h>

#include "core/sm/sa/test_subnet.h"
#include "core/wire/sa/guid_info_record.h"
#include "core/wire/sa/linear_forwarding_table_record.h"
#include "core/wire/sa/link_record.h"
#include "core/wire/sa/multicast_forwarding_table_record.h"
#include "core/wire/sa/node_record.h"
#include "core/wire/sa/p_key_table_record.h"
#include "core/wire/sa/port_info_record.h"
#include "core/wire/sa/sl_to_vl_mapping_table_record.h"
#include "core/wire/sa/sm_info_record.h"
#include "core/wire/sa/switch_info_record.h"
#include "core/wire/sa/vl_arbitration_table_record.h"

namespace softib::sm {

using test::Client;
using test::kTenant;
using wire::component;
using wire::Method;
using wire::SaAttribute;
namespace status = wire::mad_status;
namespace sa_status = wire::sa_status;

/// Hosts 0 to 5, leaves 6 and 7, spines 8 and 9; LIDs are even (LMC 1), from 2 on.
struct FabricRecordsTest : testing::Test {
    test::TreeSubnet tree{2, 3, 2, 1};
    SubnetAdmin sa{tree.subnet, {.sm_key = 77}};
    Client client{sa, tree.lid_of_host(0)};
    Client trusted{sa, tree.lid_of_host(0), 77};

    Lid lid(std::uint32_t index) const { return Lid{static_cast<std::uint16_t>(2 + 2 * index)}; }
    /// Takes host 1 out of the default partition.
    void isolate_host1() { tree.subnet.port(tree.host(1)).pkeys = {kTenant}; }
};

using NodeRecords = FabricRecordsTest;

TEST_F(NodeRecords, OneForEveryEndPort) {
    const auto all = client.table<wire::NodeRecord>(SaAttribute::kNodeRecord, 0, {});
    ASSERT_EQ(all.size(), 10U);
    EXPECT_EQ(all[1].lid, lid(1));
    EXPECT_EQ(all[1].node_description.node_string.view(), "host1");
    EXPECT_EQ(all[1].node_info.port_guid, Guid{test::kHostGuid + 0x11});
    EXPECT_EQ(all[1].node_info.local_port_num, PortNum{1});
    EXPECT_EQ(all[6].node_info.node_type, wire::NodeType::kSwitch);
}

TEST_F(NodeRecords, FoundByLidGuidAndName) {
    using wire::NodeInfo;
    using wire::NodeRecord;
    const auto found_by = [&](std::uint64_t components, const NodeRecord& asked) {
        const auto found = client.table<NodeRecord>(SaAttribute::kNodeRecord, components, asked);
        return found.size() == 1 ? found[0].lid.value : 0;
    };
    NodeRecord asked{.lid = lid(2)};
    EXPECT_EQ(found_by(component(&NodeRecord::lid), asked), lid(2).value);
    asked.lid.value += 1;  // The port has this LID too, by its LMC; the record has the base LID.
    EXPECT_EQ(found_by(component(&NodeRecord::lid), asked), lid(2).value);
    asked.node_info.node_guid = Guid{test::kHostGuid + 0x30};
    EXPECT_EQ(found_by(component(&NodeRecord::node_info, &NodeInfo::node_guid), asked),
              lid(3).value);
    asked.node_info.port_guid = Guid{test::kHostGuid + 0x41};
    EXPECT_EQ(found_by(component(&NodeRecord::node_info, &NodeInfo::port_guid), asked),
              lid(4).value);
    asked.node_description.node_string = wire::Text<64>("spine1");
    EXPECT_EQ(found_by(component(&NodeRecord::node_description), asked), lid(9).value);
    EXPECT_EQ(
        found_by(component(&NodeRecord::node_description) | component(&NodeRecord::lid), asked), 0);
    asked.node_info.node_type = wire::NodeType::kSwitch;
    EXPECT_EQ(client
                  .table<NodeRecord>(SaAttribute::kNodeRecord,
                                     component(&NodeRecord::node_info, &NodeInfo::node_type), asked)
                  .size(),
              4U);
}

TEST_F(NodeRecords, StrangersAreNotShown) {
    isolate_host1();
    EXPECT_EQ(client.table<wire::NodeRecord>(SaAttribute::kNodeRecord, 0, {}).size(), 9U);
    EXPECT_EQ(client.get(SaAttribute::kNodeRecord, 1, wire::NodeRecord{.lid = lid(1)}).status,
              sa_status::kNoRecords);
    EXPECT_EQ(trusted.table<wire::NodeRecord>(SaAttribute::kNodeRecord, 0, {}).size(), 10U);
    Client stranger{sa, lid(1)};
    const auto own = stranger.table<wire::NodeRecord>(SaAttribute::kNodeRecord, 0, {});
    ASSERT_EQ(own.size(), 1U);
    EXPECT_EQ(own[0].lid, lid(1));
}

TEST_F(NodeRecords, APortThatIsGoneIsNotShown) {
    tree.subnet.disconnect(tree.host(5));
    tree.subnet.recompute_paths(0);
    EXPECT_EQ(client.table<wire::NodeRecord>(SaAttribute::kNodeRecord, 0, {}).size(), 9U);
}

using PortInfoRecords = FabricRecordsTest;

TEST_F(PortInfoRecords, EveryPortHasOne) {
    using wire::PortInfoRecord;
    EXPECT_EQ(client.table<PortInfoRecord>(SaAttribute::kPortInfoRecord, 0, {}).size(),
              6U + 2 * 6 + 2 * 3);
    const PortInfoRecord leaf{.endport_lid = lid(6), .port_num = PortNum{4}};
    const auto of_leaf = client.table<PortInfoRecord>(
        SaAttribute::kPortInfoRecord, component(&PortInfoRecord::endport_lid), leaf);
    ASSERT_EQ(of_leaf.size(), 6U);
    EXPECT_EQ(of_leaf[4].port_num, PortNum{4});
    EXPECT_EQ(of_leaf[4].endport_lid, lid(6));
    const auto one = client.get(
        SaAttribute::kPortInfoRecord,
        component(&PortInfoRecord::endport_lid) | component(&PortInfoRecord::port_num), leaf);
    EXPECT_EQ(one.status, status::kOk);
}

TEST_F(PortInfoRecords, MKeyIsForTheTrusted) {
    using wire::PortInfo;
    using wire::PortInfoRecord;
    tree.subnet.port(tree.host(2)).info.mkey = 0xABCDEF;
    PortInfoRecord asked{.endport_lid = lid(2)};
    const auto mkey_for = [&](Client& who) {
        return who.table<PortInfoRecord>(SaAttribute::kPortInfoRecord, 1, asked)
            .at(0)
            .port_info.mkey;
    };
    EXPECT_EQ(mkey_for(client), 0U);
    EXPECT_EQ(mkey_for(trusted), 0xABCDEFU);
    // A requester that is not trusted cannot find the M_Key by guessing, either.
    asked.port_info.mkey = 0xABCDEF;
    const std::uint64_t by_key = component(&PortInfoRecord::port_info, &PortInfo::mkey);
    EXPECT_TRUE(client.table<PortInfoRecord>(SaAttribute::kPortInfoRecord, by_key, asked).empty());
    EXPECT_EQ(trusted.table<PortInfoRecord>(SaAttribute::kPortInfoRecord, by_key, asked).size(),
              1U);
}

TEST_F(PortInfoRecords, ModifierAsksForSomeCapabilities) {
    using wire::PortInfo;
    using wire::PortInfoRecord;
    tree.subnet.port(tree.host(3)).info.capability_mask |= wire::port_capability::kIsSM;
    PortInfoRecord asked;
    asked.port_info.capability_mask = wire::port_capability::kIsSM;
    const std::uint64_t by_mask = component(&PortInfoRecord::port_info, &PortInfo::capability_mask);
    EXPECT_TRUE(client.table<PortInfoRecord>(SaAttribute::kPortInfoRecord, by_mask, asked).empty());
    client.modifier = wire::kSaMatchCapabilityMaskBits;
    const auto found = client.table<PortInfoRecord>(SaAttribute::kPortInfoRecord, by_mask, asked);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].endport_lid, lid(3));
}

TEST_F(PortInfoRecords, ExtendedSpeedsAreForThoseWhoAsk) {
    using wire::PortInfoRecord;
    PortInfoRecord asked{.endport_lid = lid(0), .options = 0x80};
    tree.subnet.port(tree.host(0)).info.link_speed_active = 0;
    const std::uint64_t by_lid = component(&PortInfoRecord::endport_lid);
    const auto old = client.table<PortInfoRecord>(SaAttribute::kPortInfoRecord, by_lid, asked);
    EXPECT_EQ(old.at(0).port_info.link_speed_active, wire::link_speed::kQdr);
    EXPECT_EQ(old.at(0).options, 0);
    const auto full = client.table<PortInfoRecord>(
        SaAttribute::kPortInfoRecord, by_lid | component(&PortInfoRecord::options), asked);
    EXPECT_EQ(full.at(0).port_info.link_speed_active, 0);
    EXPECT_EQ(full.at(0).options, 0x80);
}

using SwitchRecords = FabricRecordsTest;

TEST_F(SwitchRecords, SwitchInfoOfSwitchesOnly) {
    using wire::SwitchInfoRecord;
    EXPECT_EQ(client.table<SwitchInfoRecord>(SaAttribute::kSwitchInfoRecord, 0, {}).size(), 4U);
    const auto of_host =
        client.table<SwitchInfoRecord>(SaAttribute::kSwitchInfoRecord, 1, {.lid = lid(0)});
    EXPECT_TRUE(of_host.empty());
    EXPECT_EQ(client.last_status, status::kOk);
    const auto leaf =
        client.table<SwitchInfoRecord>(SaAttribute::kSwitchInfoRecord, 1, {.lid = lid(7)});
    ASSERT_EQ(leaf.size(), 1U);
    EXPECT_EQ(leaf[0].switch_info.linear_fdb_cap, 0xC000);
}

TEST_F(SwitchRecords, LinearTableAsWritten) {
    using Record = wire::LinearForwardingTableRecord;
    const auto all = client.table<Record>(SaAttribute::kLinearForwardingTableRecord, 0, {});
    ASSERT_EQ(all.size(), 4U);  // All LIDs are in one block of each switch.
    EXPECT_EQ(all[0].lid, lid(6));
    const auto& ports = all[0].linear_forwarding_table.port;
    EXPECT_EQ(ports[lid(0).value], 1);
    EXPECT_EQ(ports[lid(6).value], 0);
    EXPECT_EQ(ports[0], wire::kLftNoPort);
    EXPECT_EQ(ports[63], wire::kLftNoPort);
    tree.subnet.node(tree.leaf(0).node).lft.resize(200, 9);
    tree.subnet.node(tree.leaf(0).node).switch_info.linear_fdb_top = 199;
    EXPECT_EQ(
        client.table<Record>(SaAttribute::kLinearForwardingTableRecord, 1, {.lid = lid(6)}).size(),
        4U);
    const auto last = client.table<Record>(SaAttribute::kLinearForwardingTableRecord,
                                           component(&Record::lid) | component(&Record::block_num),
                                           {.lid = lid(6), .block_num = 3});
    ASSERT_EQ(last.size(), 1U);
    EXPECT_EQ(last[0].linear_forwarding_table.port[7], 9);
    EXPECT_EQ(last[0].linear_forwarding_table.port[8], wire::kLftNoPort);
    EXPECT_TRUE(client
                    .table<Record>(SaAttribute::kLinearForwardingTableRecord,
                                   component(&Record::block_num), {.block_num = 9})
                    .empty());
}

TEST_F(SwitchRecords, MulticastTableHasTheBlocksInUse) {
    using Record = wire::MulticastForwardingTableRecord;
    EXPECT_TRUE(client.table<Record>(SaAttribute::kMulticastForwardingTableRecord, 0, {}).empty());
    auto& mft = tree.subnet.node(tree.leaf(1).node).mft;
    mft.resize(100);
    mft[33][0] = 0b1010;
    const auto found = client.table<Record>(SaAttribute::kMulticastForwardingTableRecord, 0, {});
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[1].lid, lid(7));
    EXPECT_EQ(found[1].block_num, 1);
    EXPECT_EQ(found[1].multicast_forwarding_table.port_mask[1], 0b1010);
    EXPECT_EQ(client
                  .table<Record>(SaAttribute::kMulticastForwardingTableRecord,
                                 component(&Record::block_num) | component(&Record::position),
                                 {.position = 0, .block_num = 1})
                  .size(),
              1U);
}

using LinkRecords = FabricRecordsTest;

TEST_F(LinkRecords, EachCableTwice) {
    using wire::LinkRecord;
    EXPECT_EQ(client.table<LinkRecord>(SaAttribute::kLinkRecord, 0, {}).size(), 2U * (6 + 4));
    const std::uint64_t from = component(&LinkRecord::from_lid);
    const std::uint64_t to = component(&LinkRecord::to_lid);
    const auto of_host =
        client.table<LinkRecord>(SaAttribute::kLinkRecord, from,
                                 {.from_lid = Lid{static_cast<std::uint16_t>(lid(4).value + 1)}});
    ASSERT_EQ(of_host.size(), 1U);
    EXPECT_EQ(of_host[0], (LinkRecord{lid(4), PortNum{1}, PortNum{2}, lid(7)}));
    const auto to_leaf = client.table<LinkRecord>(SaAttribute::kLinkRecord, to, {.to_lid = lid(7)});
    ASSERT_EQ(to_leaf.size(), 5U);
    for (const LinkRecord& link : to_leaf) {
        EXPECT_EQ(link.to_lid, lid(7));
        EXPECT_NE(link.from_lid, lid(7));
    }
    const LinkRecord between{.from_lid = lid(6), .to_lid = lid(9)};
    EXPECT_EQ(client.table<LinkRecord>(SaAttribute::kLinkRecord, from | to, between).size(), 1U);
    EXPECT_TRUE(client
                    .table<LinkRecord>(SaAttribute::kLinkRecord, from | to,
                                       {.from_lid = lid(0), .to_lid = lid(0)})
                    .empty());
    EXPECT_EQ(client.last_status, status::kOk);
    EXPECT_EQ(
        client
            .table<LinkRecord>(SaAttribute::kLinkRecord, from | component(&LinkRecord::from_port),
                               {.from_lid = lid(6), .from_port = PortNum{4}})
            .size(),
        1U);
}

using ManagerRecords = FabricRecordsTest;

TEST_F(ManagerRecords, NoKeysAreShown) {
    using wire::SmInfo;
    using wire::SmInfoRecord;
    sa.set_managers({{.lid = lid(0),
                      .sm_info = {.guid = Guid{test::kHostGuid + 1},
                                  .sm_key = 77,
                                  .priority = 4,
                                  .sm_state = wire::SmState::kMaster}},
                     {.lid = lid(2),
                      .sm_info = {.guid = Guid{test::kHostGuid + 0x21},
                                  .priority = 1,
                                  .sm_state = wire::SmState::kStandby}}});
    const auto all = trusted.table<SmInfoRecord>(SaAttribute::kSmInfoRecord, 0, {});
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].sm_info.sm_key, 0U);
    const auto masters = client.table<SmInfoRecord>(
        SaAttribute::kSmInfoRecord, component(&SmInfoRecord::sm_info, &SmInfo::sm_state),
        {.sm_info = {.sm_state = wire::SmState::kMaster}});
    ASSERT_EQ(masters.size(), 1U);
    EXPECT_EQ(masters[0].lid, lid(0));
    EXPECT_EQ(client.table<SmInfoRecord>(SaAttribute::kSmInfoRecord, 1, {.lid = lid(2)}).size(),
              1U);
    EXPECT_TRUE(client
                    .table<SmInfoRecord>(SaAttribute::kSmInfoRecord,
                                         component(&SmInfoRecord::sm_info, &SmInfo::priority),
                                         {.sm_info = {.priority = 9}})
                    .empty());
    EXPECT_EQ(client.last_status, status::kOk);
}

using PKeyRecords = FabricRecordsTest;

TEST_F(PKeyRecords, AreForTheTrusted) {
    using Record = wire::PKeyTableRecord;
    std::vector<PKey> keys(40, kTenant);
    tree.subnet.port(tree.host(2)).pkeys = keys;
    EXPECT_EQ(client.ask(Method::kGetTable, SaAttribute::kPKeyTableRecord, 0, Record{}).status,
              sa_status::kRequestInvalid);
    // The port number in a request does not count for an HCA, whose LID names the port.
    const auto found = trusted.table<Record>(SaAttribute::kPKeyTableRecord,
                                             component(&Record::lid) | component(&Record::port_num),
                                             {.lid = lid(2), .port_num = PortNum{0}});
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].port_num, PortNum{1});
    EXPECT_EQ(found[1].block_num, 1);
    EXPECT_EQ(found[1].pkey_table.pkey[7], kTenant);
    EXPECT_EQ(found[1].pkey_table.pkey[8], PKey{0});
    EXPECT_TRUE(
        trusted.table<Record>(SaAttribute::kPKeyTableRecord, 1, {.lid = Lid{0xFFFF}}).empty());
    EXPECT_EQ(trusted.last_status, status::kOk);
}

using QosRecords = FabricRecordsTest;

TEST_F(QosRecords, SlToVlOfEveryWayThrough) {
    using Record = wire::SlToVlMappingTableRecord;
    EXPECT_EQ(client.table<Record>(SaAttribute::kSlToVlMappingTableRecord, 0, {}).size(),
              6U + 2 * 6 * 6 + 2 * 3 * 3);
    const auto of_host =
        client.table<Record>(SaAttribute::kSlToVlMappingTableRecord,
                             component(&Record::lid) | component(&Record::input_port_num) |
                                 component(&Record::output_port_num),
                             {.lid = lid(1)});
    ASSERT_EQ(of_host.size(), 1U);
    EXPECT_EQ(of_host[0].output_port_num, PortNum{1});
    EXPECT_EQ(of_host[0].sl_to_vl_mapping_table.vl[9], 1);  // SL modulo 8 VLs, as at power-up.
    auto& written = tree.subnet.node(tree.leaf(0).node).sl2vl;
    written.resize(6, std::vector<wire::SlToVlMappingTable>(6));
    written[2][3].vl[5] = 4;
    const auto of_leaf = client.table<Record>(
        SaAttribute::kSlToVlMappingTableRecord,
        component(&Record::lid) | component(&Record::input_port_num) |
            component(&Record::output_port_num),
        {.lid = lid(6), .input_port_num = PortNum{3}, .output_port_num = PortNum{2}});
    ASSERT_EQ(of_leaf.size(), 1U);
    EXPECT_EQ(of_leaf[0].sl_to_vl_mapping_table.vl[5], 4);
}

TEST_F(QosRecords, FourBlocksOfArbitration) {
    using Record = wire::VlArbitrationTableRecord;
    EXPECT_EQ(
        client.table<Record>(SaAttribute::kVlArbitrationTableRecord, 1, {.lid = lid(0)}).size(),
        4U);
    tree.subnet.port({tree.leaf(0).node, 2}).vl_arbitration.resize(4);
    tree.subnet.port({tree.leaf(0).node, 2}).vl_arbitration[2].entry[1] = {3, 64};
    const auto found =
        client.table<Record>(SaAttribute::kVlArbitrationTableRecord,
                             component(&Record::lid) | component(&Record::output_port_num) |
                                 component(&Record::block_num),
                             {.lid = lid(6), .output_port_num = PortNum{2}, .block_num = 3});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].vl_arbitration_table.entry[1].vl, 3);
}

using GuidRecords = FabricRecordsTest;

namespace {

std::uint64_t guid_component(int index) {
    return std::uint64_t{1} << (4 + index);
}

constexpr std::uint64_t kBlockOfPort =
    component(&wire::GuidInfoRecord::lid) | component(&wire::GuidInfoRecord::block_num);

}  // namespace

TEST_F(GuidRecords, PortHasItsOwnGuidFirst) {
    using wire::GuidInfoRecord;
    const auto all = client.table<GuidInfoRecord>(SaAttribute::kGuidInfoRecord, 0, {});
    EXPECT_EQ(all.size(), 20U);  // Ten ports with 16 GUIDs each, in two blocks.
    EXPECT_EQ(all[0].guid_info.guid[0], Guid{test::kHostGuid + 1});
    EXPECT_EQ(all[0].guid_info.guid[1], Guid{0});
}

TEST_F(GuidRecords, AliasesAreGivenAndTaken) {
    using wire::GuidInfoRecord;
    GuidInfoRecord asked{.lid = lid(0)};
    asked.guid_info.guid[2] = Guid{0xAAAA};
    const std::uint64_t two = kBlockOfPort | guid_component(2) | guid_component(3);
    auto set = client.ask(Method::kSet, SaAttribute::kGuidInfoRecord, two, asked);
    ASSERT_EQ(set.status, status::kOk);
    auto now = set.records<GuidInfoRecord>().at(0);
    EXPECT_EQ(now.guid_info.guid[2], Guid{0xAAAA});
    EXPECT_NE(now.guid_info.guid[3], Guid{0});  // For zero the SA chooses a GUID.
    EXPECT_EQ(sa.guids().poll_change()->port, Guid{test::kHostGuid + 1});
    // A GUID that one port has is not given to another.
    Client other{sa, lid(1)};
    GuidInfoRecord same{.lid = lid(1)};
    same.guid_info.guid[1] = Guid{0xAAAA};
    same.guid_info.guid[4] = Guid{test::kHostGuid + 0x21};
    set = other.ask(Method::kSet, SaAttribute::kGuidInfoRecord,
                    kBlockOfPort | guid_component(1) | guid_component(4), same);
    ASSERT_EQ(set.status, status::kOk);
    EXPECT_EQ(set.records<GuidInfoRecord>().at(0).guid_info.guid[1], Guid{0});
    EXPECT_EQ(set.records<GuidInfoRecord>().at(0).guid_info.guid[4], Guid{0});
    set = client.ask(Method::kDelete, SaAttribute::kGuidInfoRecord,
                     kBlockOfPort | guid_component(2), asked);
    EXPECT_EQ(set.records<GuidInfoRecord>().at(0).guid_info.guid[2], Guid{0});
    set = other.ask(Method::kSet, SaAttribute::kGuidInfoRecord, kBlockOfPort | guid_component(1),
                    same);
    EXPECT_EQ(set.records<GuidInfoRecord>().at(0).guid_info.guid[1], Guid{0xAAAA});
}

TEST_F(GuidRecords, RulesOfChange) {
    using wire::GuidInfoRecord;
    const auto set = [&](Client& who, std::uint64_t components, const GuidInfoRecord& asked) {
        return who.ask(Method::kSet, SaAttribute::kGuidInfoRecord, components, asked).status;
    };
    const GuidInfoRecord own{.lid = lid(0)};
    EXPECT_EQ(set(client, guid_component(1), own), sa_status::kInsufficientComponents);
    EXPECT_EQ(set(client, kBlockOfPort | guid_component(0), own), sa_status::kRequestInvalid);
    EXPECT_EQ(set(client, kBlockOfPort, {.lid = lid(0), .block_num = 2}), sa_status::kNoRecords);
    EXPECT_EQ(set(client, kBlockOfPort, {.lid = Lid{999}}), sa_status::kNoRecords);
    EXPECT_EQ(set(client, kBlockOfPort | guid_component(1), {.lid = lid(1)}),
              sa_status::kRequestDenied);
    EXPECT_EQ(set(trusted, kBlockOfPort | guid_component(1), {.lid = lid(1)}), status::kOk);
}

}  // namespace softib::sm
