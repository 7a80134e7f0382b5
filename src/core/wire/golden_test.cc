// SPDX-License-Identifier: BSD-2-Clause
// Literal bytes of the most used formats, written down field by field.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

#include "core/wire/cm/cm_rep.h"
#include "core/wire/cm/cm_req.h"
#include "core/wire/mad/notice.h"
#include "core/wire/mad/rmpp.h"
#include "core/wire/pm/port_counters.h"
#include "core/wire/pm/port_counters_extended.h"
#include "core/wire/sa/multi_path_record.h"
#include "core/wire/sa/path_record.h"
#include "core/wire/sm/node_info.h"
#include "core/wire/sm/port_info.h"
#include "core/wire/sm/smp.h"
#include "core/wire/sm/switch_info.h"
#include "core/wire/sm/vl_arbitration_table.h"

namespace softib::wire {

namespace {

/// Returns the bytes of a format: those given, then zeros.
template <Attribute T>
std::array<std::uint8_t, T::kBytes> bytes_of(std::initializer_list<std::uint8_t> given) {
    std::array<std::uint8_t, T::kBytes> bytes{};
    std::ranges::copy(given, bytes.begin());
    return bytes;
}

template <Attribute T>
void expect_bytes(const T& value, const std::array<std::uint8_t, T::kBytes>& bytes) {
    EXPECT_EQ(parse<T>(bytes), value) << to_string(parse<T>(bytes));
    std::array<std::uint8_t, T::kBytes> emitted;
    emitted.fill(0xFF);
    emit(value, emitted);
    EXPECT_EQ(emitted, bytes);
}

Gid gid(std::uint64_t interface_id) {
    return Gid::from(kSubnetPrefixDefault, Guid{interface_id});
}

}  // namespace

TEST(Golden, NodeInfo) {
    expect_bytes(NodeInfo{.node_type = NodeType::kSwitch,
                          .num_ports = 36,
                          .system_image_guid = Guid{0x0002C90200000100},
                          .node_guid = Guid{0x0002C90200000101},
                          .port_guid = Guid{0x0002C90200000102},
                          .partition_cap = 32,
                          .device_id = 0xBD36,
                          .revision = 0x000000A0,
                          .local_port_num = PortNum{7},
                          .vendor_id = 0x0002C9},
                 bytes_of<NodeInfo>({
                     0x01, 0x01, 0x02, 0x24,  // versions, NodeType, NumPorts
                     0x00, 0x02, 0xC9, 0x02, 0x00, 0x00, 0x01, 0x00,  // SystemImageGUID
                     0x00, 0x02, 0xC9, 0x02, 0x00, 0x00, 0x01, 0x01,  // NodeGUID
                     0x00, 0x02, 0xC9, 0x02, 0x00, 0x00, 0x01, 0x02,  // PortGUID
                     0x00, 0x20, 0xBD, 0x36,                          // PartitionCap, DeviceID
                     0x00, 0x00, 0x00, 0xA0,                          // Revision
                     0x07, 0x00, 0x02, 0xC9,                          // LocalPortNum, VendorID
                 }));
}

/// A PortInfo with a value in every field.
PortInfo port_info_with_all_fields() {
    return {.mkey = 0x0102030405060708,
            .gid_prefix = kSubnetPrefixDefault,
            .lid = Lid{0x11},
            .master_sm_lid = Lid{0x22},
            .capability_mask = 0x02510A68,
            .diag_code = 0x1234,
            .mkey_lease_period = 15,
            .local_port_num = PortNum{1},
            .link_width_enabled = 3,
            .link_width_supported = 0x0B,
            .link_width_active = 2,
            .link_speed_supported = 7,
            .port_state = PortState::kActive,
            .port_physical_state = PortPhysicalState::kLinkUp,
            .link_down_default_state = LinkDownDefaultState::kPolling,
            .mkey_protect_bits = 3,
            .lmc = 5,
            .link_speed_active = 4,
            .link_speed_enabled = 7,
            .neighbor_mtu = mtu_code::k4096,
            .master_sm_sl = 9,
            .vl_cap = 4,
            .init_type = 3,
            .vl_high_limit = 4,
            .vl_arbitration_high_cap = 8,
            .vl_arbitration_low_cap = 9,
            .init_type_reply = 2,
            .mtu_cap = mtu_code::k4096,
            .vl_stall_count = 7,
            .hoq_life = 18,
            .operational_vls = 4,
            .partition_enforcement_inbound = true,
            .partition_enforcement_outbound = false,
            .filter_raw_inbound = true,
            .filter_raw_outbound = false,
            .mkey_violations = 1,
            .pkey_violations = 2,
            .qkey_violations = 3,
            .guid_cap = 8,
            .client_reregister = true,
            .multicast_pkey_trap_suppression_enabled = 2,
            .subnet_time_out = 18,
            .resp_time_value = 19,
            .local_phy_errors = 8,
            .overrun_errors = 15,
            .max_credit_hint = 0x0102,
            .link_speed_ext_active2 = 1,
            .link_speed_ext_supported2 = 1,
            .link_speed_ext_enabled2 = 3,
            .link_round_trip_latency = 0x0A0B0C,
            .capability_mask2 = 0x0023,
            .link_speed_ext_active = link_speed_ext::kHdr,
            .link_speed_ext_supported = 15,
            .link_speed_ext_enabled = 31};
}

TEST(Golden, PortInfo) {
    expect_bytes(port_info_with_all_fields(),
                 bytes_of<PortInfo>({
                     0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,  // M_Key
                     0xFE, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // GidPrefix
                     0x00, 0x11, 0x00, 0x22, 0x02, 0x51, 0x0A, 0x68,  // LIDs, CapabilityMask
                     0x12, 0x34, 0x00, 0x0F, 0x01, 0x03, 0x0B, 0x02,  // to LinkWidthActive
                     0x74,        // LinkSpeedSupported | PortState
                     0x52,        // PortPhysicalState | LinkDownDefaultState
                     0xC5,        // M_KeyProtectBits | 3 reserved | LMC
                     0x47,        // LinkSpeedActive | LinkSpeedEnabled
                     0x59,        // NeighborMTU | MasterSMSL
                     0x43,        // VLCap | InitType
                     0x04, 0x08,  // VLHighLimit, VLArbitrationHighCap
                     0x09,        // VLArbitrationLowCap
                     0x25,        // InitTypeReply | MTUCap
                     0xF2,        // VLStallCount 111 | HOQLife 10010
                     0x4A,        // OperationalVLs | four enforcement bits 1010
                     0x00, 0x01, 0x00, 0x02, 0x00, 0x03,  // violations
                     0x08,                                // GUIDCap
                     0xD2,                                // 1 | 10 | SubnetTimeOut 10010
                     0x13,                                // 3 reserved | RespTimeValue
                     0x8F,                                // LocalPhyErrors | OverrunErrors
                     0x01, 0x02,                          // MaxCreditHint
                     0x2B,                                // 0 | 01 | 01 | 011
                     0x0A, 0x0B, 0x0C,                    // LinkRoundTripLatency
                     0x00, 0x23,                          // CapabilityMask2
                     0x4F,                                // LinkSpeedExtActive | Supported
                     0x1F,                                // 3 reserved | LinkSpeedExtEnabled
                 }));
}

TEST(Golden, SwitchInfo) {
    expect_bytes(SwitchInfo{.linear_fdb_cap = 0xC000,
                            .random_fdb_cap = 0,
                            .multicast_fdb_cap = 0x0400,
                            .linear_fdb_top = 0x55,
                            .default_port = PortNum{3},
                            .default_multicast_primary_port = PortNum{1},
                            .default_multicast_not_primary_port = PortNum{2},
                            .life_time_value = 18,
                            .port_state_change = true,
                            .optimized_sl_to_vl_mapping_programming = 1,
                            .lids_per_port = 1,
                            .partition_enforcement_cap = 32,
                            .inbound_enforcement_cap = true,
                            .filter_raw_inbound_cap = true,
                            .enhanced_port0 = true,
                            .multicast_fdb_top = 0xBFFF},
                 bytes_of<SwitchInfo>({0xC0, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x55, 0x03, 0x01,
                                       0x02,  // up to here whole numbers
                                       0x95,  // LifeTimeValue 10010 | PortStateChange | 01
                                       0x00, 0x01, 0x00, 0x20,
                                       0xA8,  // 1 | 0 | 1 | 0 | EnhancedPort0 | 3 reserved
                                       0x00, 0xBF, 0xFF}));
}

TEST(Golden, PathRecord) {
    expect_bytes(
        PathRecord{.service_id = 0x0000000001061234,
                   .dgid = gid(2),
                   .sgid = gid(1),
                   .dlid = Lid{0x0102},
                   .slid = Lid{0x0304},
                   .raw_traffic = true,
                   .flow_label = 0xABCDE,
                   .hop_limit = 64,
                   .tclass = 0x77,
                   .reversible = true,
                   .numb_path = 5,
                   .pkey = PKey{0xFFFF},
                   .qos_class = 0x123,
                   .sl = 4,
                   .mtu_selector = Selector::kExactly,
                   .mtu = mtu_code::k2048,
                   .rate_selector = Selector::kGreaterThan,
                   .rate = 16,
                   .packet_life_time_selector = Selector::kLessThan,
                   .packet_life_time = 18,
                   .preference = 9},
        bytes_of<PathRecord>({
            0x00, 0x00, 0x00, 0x00, 0x01, 0x06, 0x12, 0x34,  // ServiceID
            0xFE, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // DGID
            0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xFE, 0x80, 0x00, 0x00,
            0x00, 0x00, 0x00, 0x00,                                                  // SGID
            0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x01, 0x02, 0x03, 0x04,  // DLID, SLID
            0x8A, 0xBC, 0xDE, 0x40,  // raw | 3 reserved | flow label, hops
            0x77, 0x85, 0xFF, 0xFF,  // TClass, Reversible | NumbPath, P_Key
            0x12, 0x34, 0x84, 0x10,  // QoSClass | SL, MTU, Rate
            0x52, 0x09,              // PacketLifeTime, Preference
        }));
}

TEST(Golden, PortCounters) {
    expect_bytes(
        PortCounters{.port_select = PortNum{9},
                     .counter_select = 0xFFFF,
                     .symbol_error_counter = 0x0102,
                     .link_error_recovery_counter = 3,
                     .link_downed_counter = 4,
                     .port_rcv_errors = 0x0506,
                     .port_rcv_remote_physical_errors = 0x0708,
                     .port_rcv_switch_relay_errors = 0x090A,
                     .port_xmit_discards = 0x0B0C,
                     .port_xmit_constraint_errors = 0x0D,
                     .port_rcv_constraint_errors = 0x0E,
                     .counter_select2 = 1,
                     .local_link_integrity_errors = 5,
                     .excessive_buffer_overrun_errors = 6,
                     .qp1_dropped = 0x0F10,
                     .vl15_dropped = 0x1112,
                     .port_xmit_data = 0x13141516,
                     .port_rcv_data = 0x1718191A,
                     .port_xmit_pkts = 0x1B1C1D1E,
                     .port_rcv_pkts = 0x1F202122,
                     .port_xmit_wait = 0x23242526},
        bytes_of<PortCounters>({0x00, 0x09, 0xFF, 0xFF, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07,
                                0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x0E, 0x01, 0x56, 0x0F, 0x10,
                                0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1A, 0x1B,
                                0x1C, 0x1D, 0x1E, 0x1F, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26}));
}

TEST(Golden, PortCountersExtended) {
    auto bytes = bytes_of<PortCountersExtended>({0x00, 0x02, 0x00, 0xFF, 0x00, 0x00, 0x3F, 0xFF});
    for (std::uint8_t i = 0; i < 22; ++i) {
        bytes[8 + 8 * std::size_t{i}] = 0x80;
        bytes[15 + 8 * std::size_t{i}] = i;
    }
    const auto nth = [](std::uint64_t n) { return 0x8000000000000000 | n; };
    expect_bytes(PortCountersExtended{.port_select = PortNum{2},
                                      .counter_select = 0xFF,
                                      .counter_select2 = 0x3FFF,
                                      .port_xmit_data = nth(0),
                                      .port_rcv_data = nth(1),
                                      .port_xmit_pkts = nth(2),
                                      .port_rcv_pkts = nth(3),
                                      .port_unicast_xmit_pkts = nth(4),
                                      .port_unicast_rcv_pkts = nth(5),
                                      .port_multicast_xmit_pkts = nth(6),
                                      .port_multicast_rcv_pkts = nth(7),
                                      .symbol_error_counter = nth(8),
                                      .link_error_recovery_counter = nth(9),
                                      .link_downed_counter = nth(10),
                                      .port_rcv_errors = nth(11),
                                      .port_rcv_remote_physical_errors = nth(12),
                                      .port_rcv_switch_relay_errors = nth(13),
                                      .port_xmit_discards = nth(14),
                                      .port_xmit_constraint_errors = nth(15),
                                      .port_rcv_constraint_errors = nth(16),
                                      .local_link_integrity_errors = nth(17),
                                      .excessive_buffer_overrun_errors = nth(18),
                                      .vl15_dropped = nth(19),
                                      .port_xmit_wait = nth(20),
                                      .qp1_dropped = nth(21)},
                 bytes);
}

TEST(Golden, RmppAck) {
    expect_bytes(RmppHeader{.rmpp_version = kRmppVersion,
                            .rmpp_type = RmppType::kAck,
                            .rresp_time = kRmppNoRespTime,
                            .rmpp_flags = rmpp_flag::kActive,
                            .segment_number = 3,
                            .payload_length = 64},
                 bytes_of<RmppHeader>({1, 2, 0xF9, 0, 0, 0, 0, 3, 0, 0, 0, 64}));
}

TEST(Golden, CmReq) {
    CmReq req{.local_communication_id = 0x01020304,
              .vendor_id = 0x0215B3,
              .service_id = 0x0000000001061BEF,
              .local_ca_guid = Guid{0x0002C90300001234},
              .local_qkey = QKey{0x80010000},
              .local_qpn = Qpn{0x0A0B0C},
              .responder_resources = 16,
              .local_eecn = 0x010203,
              .initiator_depth = 15,
              .remote_eecn = 0x040506,
              .remote_cm_response_timeout = 20,
              .transport_service_type = TransportServiceType::kUc,
              .end_to_end_flow_control = true,
              .starting_psn = Psn{0xABCDEF},
              .local_cm_response_timeout = 21,
              .retry_count = 7,
              .partition_key = PKey{0xFFFF},
              .path_packet_payload_mtu = mtu_code::k2048,
              .rdc_exists = false,
              .rnr_retry_count = 6,
              .max_cm_retries = 15,
              .srq = true,
              .extended_transport_type = 1,
              .sap_supported = true};
    req.primary_path = {.local_port_lid = Lid{1},
                        .remote_port_lid = Lid{2},
                        .local_port_gid = gid(0x11),
                        .remote_port_gid = gid(0x22),
                        .flow_label = 0x12345,
                        .packet_rate = 16,
                        .traffic_class = 7,
                        .hop_limit = 64,
                        .sl = 3,
                        .subnet_local = true,
                        .local_ack_timeout = 14};
    req.alternate_path.local_port_lid = Lid{0x99};
    req.private_data[0] = 0xEE;
    req.private_data[91] = 0xDD;
    auto bytes = bytes_of<CmReq>({
        0x01, 0x02, 0x03, 0x04, 0x00, 0x02, 0x15, 0xB3,  // Local Communication ID, vendor ID
        0x00, 0x00, 0x00, 0x00, 0x01, 0x06, 0x1B, 0xEF,  // ServiceID
        0x00, 0x02, 0xC9, 0x03, 0x00, 0x00, 0x12, 0x34,  // Local CA GUID
        0x00, 0x00, 0x00, 0x00, 0x80, 0x01, 0x00, 0x00,  // Local Q_Key
        0x0A, 0x0B, 0x0C, 0x10,                          // Local QPN, Responder Resources
        0x01, 0x02, 0x03, 0x0F,                          // Local EECN, Initiator Depth
        0x04, 0x05, 0x06, 0xA3,                          // Remote EECN, 10100 | 01 | 1
        0xAB, 0xCD, 0xEF, 0xAF,                          // Starting PSN, 10101 | 111
        0xFF, 0xFF, 0x46, 0xF9,                          // P_Key, MTU | 0 | 110, 1111 | 1 | 001
        0x00, 0x01, 0x00, 0x02,                          // primary path: LIDs
        0xFE, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // Local Port GID
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x11, 0xFE, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00,                                                                    // Remote Port GID
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x22, 0x12, 0x34, 0x50, 0x10,  // Flow Label | 6
                                                                                 // reserved |
                                                                                 // Packet Rate
        0x07, 0x40, 0x38, 0x70,  // TClass, hops, SL | local, ACK timeout
        0x00, 0x99,              // alternate path
    });
    bytes[139] = 0x04;  // 5 of timeout | SAP Supported | 2 reserved
    bytes[140] = 0xEE;
    bytes[231] = 0xDD;
    expect_bytes(req, bytes);
}

/// The vendor ID of a REP is in three separate bytes.
TEST(Golden, CmRep) {
    CmRep rep{.local_communication_id = 0x01020304,
              .remote_communication_id = 0x05060708,
              .local_qkey = QKey{0x80010000},
              .local_qpn = Qpn{0x0A0B0C},
              .local_ee_context_number = 0x010203,
              .starting_psn = Psn{0xABCDEF},
              .responder_resources = 16};
    rep.set_vendor_id(0x0215B3);
    EXPECT_EQ(rep.vendor_id(), 0x0215B3U);
    expect_bytes(rep, bytes_of<CmRep>({
                          0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,  // Communication IDs
                          0x80, 0x01, 0x00, 0x00,                          // Local Q_Key
                          0x0A, 0x0B, 0x0C, 0x02,                          // Local QPN, vendor ID
                          0x01, 0x02, 0x03, 0x15,                          // EE Context, vendor ID
                          0xAB, 0xCD, 0xEF, 0xB3,  // Starting PSN, vendor ID
                          0x10,                    // Responder Resources
                      }));
}

TEST(Golden, NoticeOfABadMKey) {
    Notice notice{.type = NoticeType::kSecurity,
                  .producer_type = static_cast<std::uint32_t>(NodeType::kChannelAdapter),
                  .trap_number = trap::kBadMKey,
                  .issuer_lid = Lid{5},
                  .notice_toggle = true,
                  .notice_count = 1};
    notice.set_details(BadMKeyTrap{.lid = Lid{7},
                                   .dr_slid = Lid{0xFFFF},
                                   .method = Method::kSet,
                                   .attribute_id = 0x15,
                                   .attribute_modifier = 1,
                                   .mkey = 0x1122334455667788,
                                   .dr_notice = true,
                                   .dr_path_truncated = false,
                                   .dr_hop_count = 2,
                                   .dr_notice_return_path = {0, 3, 4}});
    auto bytes = bytes_of<Notice>({0x82, 0x00, 0x00, 0x01, 0x01, 0x00, 0x00, 0x05,
                                   0x80, 0x01, 0x00, 0x00, 0x00, 0x07, 0xFF, 0xFF,  // LIDs
                                   0x02, 0x00, 0x00, 0x15, 0x00, 0x00, 0x00, 0x01,  // the SMP
                                   0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,  // M_Key
                                   0x00, 0x82, 0x00, 0x03, 0x04});
    expect_bytes(notice, bytes);
    EXPECT_EQ(notice.details<BadMKeyTrap>().mkey, 0x1122334455667788U);
}

TEST(Golden, DetailsOfOneTrapLeaveNothingOfTheLast) {
    Notice notice;
    notice.data_details.fill(0xFF);
    notice.set_details(LinkStateTrap{.lid = Lid{9}});
    EXPECT_EQ(notice.data_details[1], 9);
    EXPECT_EQ(std::ranges::count(notice.data_details, 0), 53);
}

TEST(Golden, VlArbitrationTable) {
    VlArbitrationTable table;
    table.entry[0] = {.vl = 14, .weight = 255};
    table.entry[31] = {.vl = 1, .weight = 2};
    auto bytes = bytes_of<VlArbitrationTable>({0x0E, 0xFF});
    bytes[62] = 0x01;
    bytes[63] = 0x02;
    expect_bytes(table, bytes);
}

TEST(Golden, MultiPathRecordHasItsGidsBehindIt) {
    MultiPathRecord record{.reversible = true, .numb_path = 2, .sgid_count = 1, .dgid_count = 1};
    record.service_id_56lsb = 0x01020304050607;
    std::array<std::uint8_t, 56> bytes{};
    emit(record, bytes);
    EXPECT_EQ(bytes[5], 0x82);
    EXPECT_EQ(bytes[15], 1);
    EXPECT_EQ(bytes[17], 1);
    EXPECT_EQ(bytes[23], 7);
    std::ranges::copy(gid(1).bytes, bytes.begin() + 24);
    std::ranges::copy(gid(2).bytes, bytes.begin() + 40);
    const auto gids = parse_multi_path_gids(record, bytes);
    ASSERT_TRUE(gids);
    EXPECT_EQ(*gids, (std::vector{gid(1), gid(2)}));
    EXPECT_FALSE(parse_multi_path_gids(record, std::span(bytes).first(55)));
}

TEST(Smp, PlacesOfADirectedRoute) {
    MadBytes mad{};
    const Smp<std::uint8_t> smp(mad);
    smp.set_direction(true);
    smp.set_status(0x001C);
    smp.set_hop_pointer(2);
    smp.set_hop_count(3);
    smp.set_mkey(0x0102030405060708);
    smp.set_dr_slid(kLidPermissive);
    smp.set_dr_dlid(Lid{5});
    smp.data()[0] = 0xAA;
    smp.initial_path()[1] = 0xBB;
    smp.return_path()[1] = 0xCC;
    EXPECT_EQ(Mad<const std::uint8_t>(mad).status(), 0x801C);
    EXPECT_EQ(smp.status(), 0x001C);
    EXPECT_EQ(mad[6], 2);
    EXPECT_EQ(mad[7], 3);
    EXPECT_EQ(mad[24], 1);
    EXPECT_EQ(mad[31], 8);
    EXPECT_EQ(mad[32], 0xFF);
    EXPECT_EQ(mad[35], 5);
    EXPECT_EQ(mad[64], 0xAA);
    EXPECT_EQ(mad[129], 0xBB);
    EXPECT_EQ(mad[193], 0xCC);
    Mad<std::uint8_t>(mad).set_mgmt_class(MgmtClass::kSubnDirectedRoute);
    smp.set_direction(false);
    EXPECT_EQ(Mad<const std::uint8_t>(mad).status(), 0x001C);
}

}  // namespace softib::wire
