// SPDX-License-Identifier: BSD-2-Clause
// The requests of the multicast and InformInfo flows of OpenSM's osmtest, in their order, with the
// answers that osmtest expects.
#include <gtest/gtest.h>

#include "core/sm/sa/subnet_admin.h"
#include "core/sm/sa/test_subnet.h"
#include "core/wire/sa/inform_info_record.h"
#include "core/wire/sa/mc_member_record.h"

namespace softib::sm {

using test::Answer;
using test::Client;
using test::kCreate;
using test::kJoin;
using wire::component;
using wire::InformInfo;
using wire::InformInfoRecord;
using wire::McMemberRecord;
using wire::Method;
using wire::SaAttribute;
using wire::Selector;
namespace mc = wire::mc_member;
namespace status = wire::mad_status;
namespace sa_status = wire::sa_status;

namespace {

constexpr std::uint64_t kRate = mc::kRate | mc::kRateSelector;
constexpr std::uint64_t kMtu = mc::kMtu | mc::kMtuSelector;
constexpr std::uint64_t kLife = mc::kPacketLifeTime | mc::kPacketLifeTimeSelector;

Gid gid(std::initializer_list<std::uint8_t> bytes) {
    Gid made;
    std::ranges::copy(bytes, made.bytes.begin());
    return made;
}

const Gid kGoodMgid =
    gid({0xFF, 0x12, 0xA0, 0x1C, 0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0x12, 0x34, 0x56, 0x78});
const Gid kIpoib =
    gid({0xFF, 0x12, 0x40, 0x1B, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF});
const Gid kOtherIpoib =
    gid({0xFF, 0x12, 0x40, 0x1B, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xEE});

}  // namespace

struct OsmtestMulticast : testing::Test {
    test::TreeSubnet tree{1, 3, 1};
    SubnetAdmin sa{tree.subnet, {}};
    Client client{sa, tree.lid_of_host(0)};

    McMemberRecord request(std::uint8_t join_state = wire::kJoinFullMember) const {
        return {.port_gid = tree.gid_of_host(0),
                .mtu_selector = Selector::kGreaterThan,
                .pkey = kPKeyDefaultFull,
                .rate_selector = Selector::kGreaterThan,
                .rate = 2,
                .packet_life_time_selector = Selector::kGreaterThan,
                .scope = 2,
                .join_state = join_state};
    }
    std::uint16_t ask(Method method, std::uint64_t components, const McMemberRecord& record) {
        const Answer answer = client.ask(method, SaAttribute::kMcMemberRecord, components, record);
        if (answer.status == status::kOk) {
            last = answer.records<McMemberRecord>().at(0);
        }
        return answer.status;
    }
    std::uint16_t join(std::uint64_t components, const McMemberRecord& record) {
        return ask(Method::kSet, components, record);
    }
    std::uint16_t leave(std::uint64_t components, const McMemberRecord& record) {
        return ask(Method::kDelete, components, record);
    }
    std::size_t groups() {
        return client.table<McMemberRecord>(SaAttribute::kMcMemberRecord, 0, {}).size();
    }

    McMemberRecord last;
};

TEST_F(OsmtestMulticast, JoinsTheBroadcastGroupAndRepeatsWhatItHeard) {
    ASSERT_TRUE(sa.add_group(ipoib_broadcast_group(kPKeyDefaultFull), 0));
    McMemberRecord asked = request();
    asked.mgid = kIpoib;
    ASSERT_EQ(join(kJoin, asked), status::kOk);
    EXPECT_EQ(last.mtu_selector, Selector::kExactly);
    asked.mtu_selector = last.mtu_selector;
    asked.mtu = last.mtu;
    asked.rate_selector = last.rate_selector;
    asked.rate = last.rate;
    EXPECT_EQ(join(kJoin | kMtu | kRate, asked), status::kOk);
}

TEST_F(OsmtestMulticast, ImpossibleRequestsAreInvalid) {
    McMemberRecord asked = request();
    asked.mlid = Lid{0};
    EXPECT_EQ(ask(Method::kGet, mc::kMlid, asked), sa_status::kNoRecords);
    EXPECT_EQ(join(kCreate & ~(mc::kQKey | mc::kTClass), asked),
              sa_status::kInsufficientComponents);
    EXPECT_EQ(join(kCreate & ~mc::kSl, asked), sa_status::kInsufficientComponents);
    EXPECT_EQ(join(kCreate & ~(mc::kQKey | mc::kPKey), asked), sa_status::kInsufficientComponents);
    const auto with_rate = [&](Selector selector, std::uint8_t rate) {
        McMemberRecord r = request();
        r.rate_selector = selector;
        r.rate = rate;
        return join(kCreate | kRate, r);
    };
    EXPECT_EQ(with_rate(Selector::kGreaterThan, 24), sa_status::kRequestInvalid);
    EXPECT_EQ(with_rate(Selector::kGreaterThan, 18), sa_status::kRequestInvalid);
    EXPECT_EQ(with_rate(Selector::kLessThan, 2), sa_status::kRequestInvalid);
    const auto with_mtu = [&](Selector selector, std::uint8_t mtu) {
        McMemberRecord r = request();
        r.mtu_selector = selector;
        r.mtu = mtu;
        return join(kCreate | kMtu, r);
    };
    EXPECT_EQ(with_mtu(Selector::kGreaterThan, 5), sa_status::kRequestInvalid);
    EXPECT_EQ(with_mtu(Selector::kLessThan, 1), sa_status::kRequestInvalid);
    EXPECT_EQ(with_mtu(Selector::kGreaterThan, 6), sa_status::kRequestInvalid);
    EXPECT_EQ(groups(), 0U);
}

TEST_F(OsmtestMulticast, AssignsMgids) {
    McMemberRecord asked = request();
    ASSERT_EQ(join(kCreate, asked), status::kOk);
    asked.rate_selector = Selector::kLessThan;
    asked.rate = 8;  // 60 Gb/s.
    ASSERT_EQ(join(kCreate | kRate, asked), status::kOk);
    EXPECT_EQ(last.rate, 12);  // 56 Gb/s.
    asked.mtu_selector = Selector::kLessThan;
    asked.mtu = 5;
    ASSERT_EQ(join(kCreate | kMtu, asked), status::kOk);
    EXPECT_EQ(last.mtu, 4);
    asked.mtu_selector = Selector::kExactly;
    asked.mtu = 3;
    ASSERT_EQ(join(kCreate | kMtu, asked), status::kOk);
    EXPECT_EQ(last.mgid.bytes[0], 0xFF);
    EXPECT_EQ(last.mgid.bytes[1], 0x12);
    EXPECT_EQ(last.mgid.bytes[2], 0xA0);
    EXPECT_EQ(last.mgid.bytes[3], 0x1B);
    ASSERT_EQ(join(kCreate | kLife, request()), status::kOk);
    EXPECT_EQ(groups(), 5U);
}

TEST_F(OsmtestMulticast, ChecksTheMgidOfANewGroup) {
    McMemberRecord asked = request(wire::kJoinNonMember);
    asked.mgid = kGoodMgid;
    EXPECT_EQ(join(kCreate | kLife, asked), sa_status::kRequestInvalid);
    asked.join_state = wire::kJoinFullMember;
    ASSERT_EQ(join(kCreate | kLife, asked), status::kOk);
    EXPECT_EQ(last.mgid, kGoodMgid);
    const auto with_byte = [&](std::size_t index, std::uint8_t value) {
        McMemberRecord r = asked;
        r.mgid.bytes[index] = value;
        return join(kCreate | kLife | mc::kScope, r);
    };
    EXPECT_EQ(with_byte(0, 0xFA), sa_status::kRequestInvalid);
    EXPECT_EQ(with_byte(3, 0x1B), sa_status::kRequestInvalid);  // Link-local ones are the SA's.
    EXPECT_EQ(with_byte(0, 0xEF), sa_status::kRequestInvalid);
    EXPECT_EQ(with_byte(1, 0x1F), status::kOk);
    EXPECT_EQ(with_byte(1, 0x22), sa_status::kRequestInvalid);
    asked.mgid = gid({0xFF, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
    EXPECT_EQ(join(kCreate | kLife | mc::kScope, asked), status::kOk);
}

TEST_F(OsmtestMulticast, JoinStateGrowsAndShrinks) {
    McMemberRecord asked = request();
    asked.mgid = kGoodMgid;
    const auto state_after = [&](Method method, std::uint8_t state) {
        asked.join_state = state;
        return ask(method, kJoin, asked) == status::kOk ? last.scope << 4 | last.join_state : -1;
    };
    EXPECT_EQ(join(kCreate, request(wire::kJoinSendOnlyNonMember)), sa_status::kRequestInvalid);
    asked.join_state = 3;
    ASSERT_EQ(join(kCreate, asked), status::kOk);
    ASSERT_EQ(leave(kJoin,
                    [&] {
                        auto r = asked;
                        r.join_state = 2;
                        return r;
                    }()),
              status::kOk);
    EXPECT_EQ(state_after(Method::kSet, 1), 0x21);
    EXPECT_EQ(state_after(Method::kSet, 2), 0x23);
    EXPECT_EQ(state_after(Method::kDelete, 6), -1);
    EXPECT_EQ(state_after(Method::kDelete, 2), 0x21);
    EXPECT_EQ(state_after(Method::kSet, 4), 0x25);
    EXPECT_EQ(state_after(Method::kSet, 1), 0x25);
    EXPECT_EQ(state_after(Method::kSet, 2), 0x27);
    McMemberRecord slow = asked;
    slow.rate_selector = Selector::kLessThan;
    slow.rate = 2;
    EXPECT_EQ(join(kCreate | kRate, slow), sa_status::kRequestInvalid);
    EXPECT_EQ(state_after(Method::kDelete, 2), 0x25);
    EXPECT_EQ(state_after(Method::kDelete, 5), 0x20);
    EXPECT_EQ(state_after(Method::kSet, 2), -1);  // The group has ended.
    asked.mgid = kOtherIpoib;
    EXPECT_EQ(leave(kJoin, asked), sa_status::kRequestInvalid);
    EXPECT_EQ(groups(), 0U);
}

TEST_F(OsmtestMulticast, JoinsForAnother) {
    McMemberRecord asked = request();
    asked.port_gid = tree.gid_of_host(2);
    ASSERT_EQ(join(kCreate, asked), status::kOk);
    EXPECT_TRUE(last.proxy_join);
    const Gid mgid = last.mgid;
    EXPECT_NE(leave(kJoin, request()), status::kOk);
    asked.mgid = mgid;
    EXPECT_EQ(leave(kJoin, asked), status::kOk);
    EXPECT_EQ(groups(), 0U);
}

TEST(OsmtestInformInfo, SubscribesAndListsInAnyOrder) {
    test::TreeSubnet tree{1, 2, 1};
    SubnetAdmin sa(tree.subnet, {});
    Client client{sa, tree.lid_of_host(0)};
    const auto set = [&](std::uint8_t subscribe, std::uint32_t qp, std::uint16_t trap) {
        return client
            .ask(Method::kSet, SaAttribute::kInformInfo, component(&InformInfoRecord::inform_info),
                 InformInfo{.subscribe = subscribe, .trap_number = trap, .qpn = Qpn{qp}})
            .status;
    };
    const auto listed = [&](std::uint64_t components, const InformInfoRecord& record) {
        const auto found =
            client.table<InformInfoRecord>(SaAttribute::kInformInfoRecord, components, record);
        EXPECT_EQ(client.last_status, status::kOk);
        return found.size();
    };
    constexpr std::uint64_t kEnum = component(&InformInfoRecord::enumeration);
    constexpr std::uint64_t kGid = component(&InformInfoRecord::subscriber_gid);
    EXPECT_NE(
        client.ask(Method::kSet, SaAttribute::kInformInfoRecord, 0, InformInfoRecord{}).status,
        status::kOk);
    EXPECT_EQ(listed(kEnum, {}), 0U);
    EXPECT_NE(client.get(SaAttribute::kInformInfo, 0, InformInfo{}).status, status::kOk);
    EXPECT_NE(set(0, 0, 0), status::kOk);
    EXPECT_EQ(set(1, 0, 0), status::kOk);
    EXPECT_EQ(set(0, 1, 0), status::kOk);
    EXPECT_EQ(set(1, 1, 0), status::kOk);
    EXPECT_EQ(set(1, 0, 0), status::kOk);
    EXPECT_EQ(listed(kGid | kEnum, {.subscriber_gid = tree.gid_of_host(0), .enumeration = 1}), 0U);
    EXPECT_EQ(listed(kGid | kEnum, {.subscriber_gid = tree.gid_of_host(0)}), 1U);
    EXPECT_EQ(set(1, 0, 0x1234), status::kOk);
    EXPECT_EQ(listed(0, {}), 2U);
    EXPECT_EQ(set(0, 1, 0x1234), status::kOk);
    EXPECT_EQ(set(0, 1, 0), status::kOk);
    EXPECT_EQ(listed(0, {}), 0U);
}

}  // namespace softib::sm
