// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/prng.h"
#include "core/wire/mad/mad.h"
#include "core/wire/sa/mc_member_record.h"
#include "core/wire/sa/sa.h"
#include "core/wire/sm/smp.h"

namespace softib::wire {

namespace {

/// A SubnAdmSet(MCMemberRecord): a program joins a multicast group.
constexpr std::uint8_t kJoin[] = {
    0x01, 0x03, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00,  // SubnAdm v2, Set
    0x00, 0x00, 0x00, 0x07, 0x12, 0x34, 0x56, 0x78,  // TransactionID
    0x00, 0x38, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // MCMemberRecord
    0x01, 0x02, 0x2D, 0x04, 0x00, 0x00, 0x00, 0x05,  // RMPP
    0x00, 0x00, 0x00, 0x06, 0xA1, 0xA2, 0xA3, 0xA4,  // PayloadLength, SM_Key
    0xA5, 0xA6, 0xA7, 0xA8, 0x00, 0x07, 0x00, 0x00,  // SM_Key, AttributeOffset
    0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x30, 0xC7,  // ComponentMask
    0xFF, 0x12, 0x40, 0x1B, 0xFF, 0xFF, 0x00, 0x00,  // MGID
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
    0xFE, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // PortGID
    0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10,
    0x11, 0x11, 0x22, 0x22, 0xC0, 0x05, 0x84, 0x66,  // Q_Key, MLID, MTU = 2048, TClass
    0x80, 0x01, 0xC3, 0x52, 0x3A, 0xBC, 0xDE, 0x40,  // P_Key, Rate, life, SL | flow | hops
    0x21, 0x80, 0x00, 0x00,                          // Scope | JoinState, ProxyJoin
};

MadBytes join() {
    MadBytes bytes{};
    std::ranges::copy(kJoin, bytes.begin());
    return bytes;
}

Gid gid_of(std::initializer_list<std::uint8_t> bytes) {
    Gid gid;
    std::ranges::copy(bytes, gid.bytes.begin());
    return gid;
}

const MadRepr kJoinMad{.mgmt_class = MgmtClass::kSubnAdm,
                       .class_version = 2,
                       .method = Method::kSet,
                       .transaction_id = 0x0000000712345678,
                       .attribute_id = 0x0038};

const RmppHeader kJoinRmpp{.rmpp_version = 1,
                           .rmpp_type = RmppType::kAck,
                           .rresp_time = 5,
                           .rmpp_flags = 5,
                           .rmpp_status = static_cast<RmppStatus>(4),
                           .segment_number = 5,
                           .payload_length = 6};

const SaHeader kJoinSa{
    .sm_key = 0xA1A2A3A4A5A6A7A8, .attribute_offset = 7, .component_mask = 0x130C7};

const McMemberRecord kJoinRecord{
    .mgid = gid_of({0xFF, 0x12, 0x40, 0x1B, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}),
    .port_gid = Gid::from(kSubnetPrefixDefault, Guid{0x0200000000000010}),
    .qkey = QKey{0x11112222},
    .mlid = Lid{0xC005},
    .mtu_selector = Selector::kExactly,
    .mtu = 4,
    .tclass = 0x66,
    .pkey = PKey{0x8001},
    .rate_selector = Selector::kBest,
    .rate = 3,
    .packet_life_time_selector = Selector::kLessThan,
    .packet_life_time = 0x12,
    .sl = 3,
    .flow_label = 0xABCDE,
    .hop_limit = 0x40,
    .scope = 2,
    .join_state = kJoinFullMember,
    .proxy_join = true};

}  // namespace

TEST(Mad, LengthIsChecked) {
    MadBytes bytes{};
    const std::span<const std::uint8_t> whole(bytes);
    EXPECT_TRUE(Mad<const std::uint8_t>::checked(whole));
    EXPECT_FALSE(Mad<const std::uint8_t>::checked(whole.first(255)));
    EXPECT_FALSE(Mad<const std::uint8_t>::checked({}));
    EXPECT_TRUE(Sa<const std::uint8_t>::checked(whole));
    EXPECT_FALSE(Sa<const std::uint8_t>::checked(whole.first(56)));
    EXPECT_TRUE(Smp<const std::uint8_t>::checked(whole));
    EXPECT_FALSE(Smp<const std::uint8_t>::checked(whole.first(255)));
}

TEST(Mad, LiteralBytesParse) {
    const MadBytes bytes = join();
    EXPECT_EQ(MadRepr::parse(Mad<const std::uint8_t>(bytes)), kJoinMad);
    const Sa<const std::uint8_t> sa(bytes);
    EXPECT_EQ(sa.rmpp(), kJoinRmpp);
    EXPECT_EQ(sa.header(), kJoinSa);
    EXPECT_EQ(parse<McMemberRecord>(sa.data()), kJoinRecord);
}

TEST(Mad, ReprEmitsTheLiteralBytes) {
    MadBytes bytes{};
    // Emitting overwrites what was there before.
    bytes[26] = 0xFF;
    bytes[46] = 0xFF;
    bytes[107] = 0xFF;
    kJoinMad.emit(Mad<std::uint8_t>(bytes));
    const Sa<std::uint8_t> sa(bytes);
    sa.set_rmpp(kJoinRmpp);
    sa.set_header(kJoinSa);
    emit(kJoinRecord, sa.data());
    EXPECT_EQ(bytes, join());
}

TEST(Mad, EmittedBytesParseToTheSame) {
    Prng prng(1);
    for (int round = 0; round < 1000; ++round) {
        MadBytes bytes;
        std::ranges::generate(bytes, [&] { return static_cast<std::uint8_t>(prng.next()); });
        const auto mad = MadRepr::parse(Mad<const std::uint8_t>(bytes));
        MadBytes again{};
        mad.emit(Mad<std::uint8_t>(again));
        EXPECT_EQ(MadRepr::parse(Mad<const std::uint8_t>(again)), mad);
    }
}

TEST(Mad, StatusResponseKeepsTheTransaction) {
    const MadBytes response = respond_with_status(join(), mad_status::kUnsupportedMethod);
    const Mad<const std::uint8_t> mad(response);
    EXPECT_EQ(mad.method(), Method::kGetResp);
    EXPECT_EQ(mad.status(), mad_status::kUnsupportedMethod);
    EXPECT_EQ(mad.transaction_id(), kJoinMad.transaction_id);
    EXPECT_EQ(static_cast<unsigned>(response_to(Method::kDelete)), 0x95U);
}

TEST(Mad, DirectedRouteResponseIsOnItsWayBack) {
    MadBytes bytes = join();
    Mad<std::uint8_t>(bytes).set_mgmt_class(MgmtClass::kSubnDirectedRoute);
    const MadBytes response = respond_with_status(bytes, mad_status::kUnsupportedClass);
    EXPECT_EQ(Mad<const std::uint8_t>(response).status(), 0x8004);
}

TEST(Mad, OnlyRequestsWantAResponse) {
    EXPECT_TRUE(wants_response(Method::kGet));
    EXPECT_TRUE(wants_response(Method::kDelete));
    EXPECT_FALSE(wants_response(Method::kGetResp));
    EXPECT_FALSE(wants_response(Method::kTrap));
    EXPECT_FALSE(wants_response(Method::kTrapRepress));
}

TEST(Mad, Prints) {
    EXPECT_EQ(to_string(kJoinMad),
              "class 0x03 v2 method 0x02 attr 0x0038 mod 0x00000000 tid 0x0000000712345678 "
              "status 0x0000");
    EXPECT_EQ(to_string(kJoinRmpp),
              "RMPPVersion 1 RMPPType 2 RRespTime 5 RMPPFlags 0x5 RMPPStatus 4 SegmentNumber 5 "
              "PayloadLength 6");
    EXPECT_EQ(to_string(kJoinSa),
              "SM_Key 0xa1a2a3a4a5a6a7a8 AttributeOffset 7 ComponentMask 0x130c7");
    EXPECT_EQ(to_string(kJoinRecord),
              "MGID ff12:401b:ffff:0000:0000:0000:0000:0001 PortGID "
              "fe80:0000:0000:0000:0200:0000:0000:0010 Q_Key 0x11112222 MLID 49157 MTUSelector 2 "
              "MTU 4 TClass 102 P_Key 0x8001 RateSelector 3 Rate 3 PacketLifeTimeSelector 1 "
              "PacketLifeTime 18 SL 3 FlowLabel 0xabcde HopLimit 64 Scope 2 JoinState 0x1 "
              "ProxyJoin 1");
}

}  // namespace softib::wire
