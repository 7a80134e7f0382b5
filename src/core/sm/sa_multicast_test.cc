// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa_multicast.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/prng.h"
#include "core/sm/sa.h"
#include "core/wire/sa.h"

namespace softib::sm {

namespace {

namespace mc = wire::mc_member;
namespace status = wire::sa_status;

/// What perftest, and whoever joins a group that may not exist yet, says.
constexpr std::uint64_t kCreate = mc::kMgid | mc::kPortGid | mc::kQKey | mc::kPKey | mc::kTClass |
                                  mc::kSl | mc::kFlowLabel | mc::kJoinState;
constexpr std::uint64_t kJoin = mc::kMgid | mc::kPortGid | mc::kJoinState;

Gid port_gid(std::uint64_t guid) {
    return Gid::from(kSubnetPrefixDefault, Guid{guid});
}

Gid group_gid(std::uint8_t last) {
    Gid gid;
    gid.bytes = {0xFF, 0x01, 0, 0, 0, 2, 201, 133};
    gid.bytes[15] = last;
    return gid;
}

SaPort port(std::uint64_t guid) {
    return {.gid = port_gid(guid), .pkeys = {PKey{0xFFFF}}, .mtu = 5, .rate = 21};
}

/// Ports 1 to 9 exist.
std::optional<SaPort> lookup(const Gid& gid) {
    const std::uint64_t guid = gid.interface_id().value;
    if (gid.subnet_prefix() != kSubnetPrefixDefault || guid == 0 || guid > 9) {
        return std::nullopt;
    }
    return port(guid);
}

SaMulticast::Record record(std::uint8_t group, std::uint64_t guid,
                           std::uint8_t join_state = wire::kJoinFullMember) {
    return {.mgid = group_gid(group),
            .port_gid = port_gid(guid),
            .qkey = QKey{0x11111111},
            .pkey = PKey{0xFFFF},
            .join_state = join_state};
}

struct SaMulticastTest : testing::Test {
    SaMulticast sa{lookup};
};

}  // namespace

TEST_F(SaMulticastTest, FirstFullMemberMakesTheGroup) {
    const auto answer = sa.handle_join(record(1, 1), kCreate, port(1));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->mlid, Lid{0xC000});
    EXPECT_EQ(answer->mgid, group_gid(1));
    EXPECT_EQ(answer->port_gid, port_gid(1));
    EXPECT_EQ(answer->join_state, wire::kJoinFullMember);
    EXPECT_EQ(answer->mtu, 5);
    EXPECT_EQ(answer->rate, 21);
    EXPECT_EQ(answer->scope, 1);
    EXPECT_EQ(sa.group_count(), 1U);
}

TEST_F(SaMulticastTest, EachGroupHasAnMlidOfItsOwnAndTheLowestFreeOne) {
    for (std::uint8_t i = 0; i < 3; ++i) {
        EXPECT_EQ(sa.handle_join(record(i, 1), kCreate, port(1))->mlid.value, 0xC000 + i);
    }
    ASSERT_TRUE(sa.handle_leave(record(1, 1), kJoin, port(1)));
    EXPECT_EQ(sa.handle_join(record(7, 1), kCreate, port(1))->mlid, Lid{0xC001});
}

TEST_F(SaMulticastTest, CreationNeedsItsComponents) {
    for (const std::uint64_t missing : {mc::kQKey, mc::kPKey, mc::kTClass, mc::kSl, mc::kFlowLabel,
                                        mc::kMgid, mc::kPortGid, mc::kJoinState}) {
        const auto answer = sa.handle_join(record(1, 1), kCreate & ~missing, port(1));
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error(), status::kInsufficientComponents);
    }
    EXPECT_EQ(sa.group_count(), 0U);
}

TEST_F(SaMulticastTest, OnlyAFullMemberMakesAGroup) {
    for (const std::uint8_t state : {wire::kJoinNonMember, wire::kJoinSendOnlyNonMember}) {
        EXPECT_EQ(sa.handle_join(record(1, 1, state), kCreate, port(1)).error(),
                  status::kRequestInvalid);
    }
    EXPECT_TRUE(sa.handle_join(record(1, 1, wire::kJoinSendOnlyFullMember), kCreate, port(1)));
}

TEST_F(SaMulticastTest, JoinOfAnExistingGroupNeedsOnlyTheGroup) {
    ASSERT_TRUE(sa.handle_join(record(1, 1), kCreate, port(1)));
    SaMulticast::Record asked = record(1, 2, wire::kJoinNonMember);
    asked.qkey = QKey{0};
    const auto answer = sa.handle_join(asked, kJoin, port(2));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->qkey, QKey{0x11111111});
    EXPECT_EQ(answer->mlid, Lid{0xC000});
    EXPECT_EQ(answer->join_state, wire::kJoinNonMember);
}

TEST_F(SaMulticastTest, JoinThatContradictsTheGroupIsInvalid) {
    ASSERT_TRUE(sa.handle_join(record(1, 1), kCreate, port(1)));
    SaMulticast::Record asked = record(1, 2);
    asked.qkey = QKey{2};
    EXPECT_EQ(sa.handle_join(asked, kCreate, port(2)).error(), status::kRequestInvalid);
    asked = record(1, 2);
    asked.mtu = 4;
    EXPECT_EQ(sa.handle_join(asked, kJoin | mc::kMtu | mc::kMtuSelector, port(2)).error(),
              status::kRequestInvalid);
}

TEST_F(SaMulticastTest, SlowPortDoesNotJoinAFastGroup) {
    ASSERT_TRUE(sa.handle_join(record(1, 1), kCreate, port(1)));
    SaPort slow = port(2);
    slow.rate = 16;
    EXPECT_EQ(sa.handle_join(record(1, 2), kJoin, slow).error(), status::kRequestInvalid);
}

TEST_F(SaMulticastTest, RateIsTheBestThatTheSelectorAllows) {
    SaMulticast::Record asked = record(1, 1);
    asked.rate_selector = wire::Selector::kLessThan;
    asked.rate = 17;  // Below 200 Gb/s: 168.
    const auto answer = sa.handle_join(asked, kCreate | mc::kRate | mc::kRateSelector, port(1));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->rate, 14);
    asked = record(2, 1);
    asked.rate_selector = wire::Selector::kGreaterThan;
    asked.rate = 21;
    EXPECT_EQ(sa.handle_join(asked, kCreate | mc::kRate | mc::kRateSelector, port(1)).error(),
              status::kRequestInvalid);
}

TEST_F(SaMulticastTest, StrangersToThePartitionDoNotJoin) {
    SaMulticast::Record asked = record(1, 1);
    asked.pkey = PKey{0x8123};
    EXPECT_EQ(sa.handle_join(asked, kCreate, port(1)).error(), status::kRequestInvalid);
    SaPort other = port(2);
    other.pkeys = {PKey{0x8123}};
    ASSERT_TRUE(sa.handle_join(record(1, 1), kCreate, port(1)));
    EXPECT_EQ(sa.handle_join(record(1, 2), kJoin, other).error(), status::kRequestInvalid);
}

TEST_F(SaMulticastTest, MgidIsCheckedOrAssigned) {
    SaMulticast::Record asked = record(1, 1);
    asked.mgid = port_gid(1);
    EXPECT_EQ(sa.handle_join(asked, kCreate, port(1)).error(), status::kRequestInvalid);
    asked.mgid = Gid{};
    const auto first = sa.handle_join(asked, kCreate, port(1));
    const auto second = sa.handle_join(asked, kCreate, port(1));
    ASSERT_TRUE(first && second);
    EXPECT_EQ(to_string(first->mgid), "ff12:a01b:fe80:0000:0000:0000:0000:0001");
    EXPECT_NE(first->mgid, second->mgid);
    EXPECT_NE(first->mlid, second->mlid);
}

TEST_F(SaMulticastTest, GroupEndsWithItsLastFullMember) {
    ASSERT_TRUE(sa.handle_join(record(1, 1), kCreate, port(1)));
    ASSERT_TRUE(sa.handle_join(record(1, 2), kJoin, port(2)));
    ASSERT_TRUE(sa.handle_join(record(1, 3, wire::kJoinNonMember), kJoin, port(3)));
    ASSERT_TRUE(sa.handle_leave(record(1, 1), kJoin, port(1)));
    EXPECT_EQ(sa.group_count(), 1U);
    ASSERT_TRUE(sa.handle_leave(record(1, 2), kJoin, port(2)));
    EXPECT_EQ(sa.group_count(), 0U);
}

TEST_F(SaMulticastTest, LeavingTakesOnlyTheStatesNamed) {
    const std::uint8_t both = wire::kJoinFullMember | wire::kJoinNonMember;
    ASSERT_TRUE(sa.handle_join(record(1, 1, both), kCreate, port(1)));
    ASSERT_TRUE(sa.handle_join(record(1, 2), kJoin, port(2)));
    const auto answer = sa.handle_leave(record(1, 1), kJoin, port(1));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->join_state, wire::kJoinNonMember);
    EXPECT_EQ(sa.handle_leave(record(1, 1), kJoin, port(1)).error(), status::kRequestInvalid);
}

TEST_F(SaMulticastTest, NobodyLeavesWhatHeIsNotIn) {
    EXPECT_EQ(sa.handle_leave(record(1, 1), kJoin, port(1)).error(), status::kRequestInvalid);
    ASSERT_TRUE(sa.handle_join(record(1, 1), kCreate, port(1)));
    EXPECT_EQ(sa.handle_leave(record(1, 2), kJoin, port(2)).error(), status::kRequestInvalid);
    EXPECT_EQ(sa.handle_leave(record(1, 1), kJoin, port(2)).error(), status::kRequestDenied);
    EXPECT_EQ(sa.handle_leave(record(1, 1), mc::kMgid, port(1)).error(),
              status::kInsufficientComponents);
}

TEST_F(SaMulticastTest, ProxyMayLeaveWhatItJoined) {
    const auto joined = sa.handle_join(record(1, 2), kCreate, port(1));
    ASSERT_TRUE(joined);
    EXPECT_TRUE(joined->proxy_join);
    EXPECT_EQ(sa.handle_join(record(1, 99), kCreate, port(1)).error(), status::kInvalidGid);
    EXPECT_TRUE(sa.handle_leave(record(1, 2), kJoin, port(3)));
}

TEST_F(SaMulticastTest, GetShowsAMembershipToItsMemberOnly) {
    EXPECT_EQ(sa.handle_get(record(1, 1), mc::kMgid, port(1)).error(), status::kNoRecords);
    ASSERT_TRUE(sa.handle_join(record(1, 1), kCreate, port(1)));
    ASSERT_TRUE(sa.handle_join(record(2, 1), kCreate, port(1)));
    EXPECT_EQ(sa.handle_get(record(1, 1), 0, port(2)).error(), status::kTooManyRecords);
    const auto group = sa.handle_get(record(1, 2), mc::kMgid, port(2));
    ASSERT_TRUE(group);
    EXPECT_EQ(group->mlid, Lid{0xC000});
    EXPECT_EQ(group->port_gid, Gid{});
    EXPECT_EQ(group->join_state, 0);
    const auto own = sa.handle_get(record(1, 1), mc::kMgid | mc::kPortGid, port(1));
    ASSERT_TRUE(own);
    EXPECT_EQ(own->join_state, wire::kJoinFullMember);
    EXPECT_EQ(sa.handle_get(record(1, 1), mc::kMgid | mc::kPortGid, port(2)).error(),
              status::kNoRecords);
}

TEST_F(SaMulticastTest, GroupsHaveALimit) {
    SaMulticast::Record asked = record(0, 1);
    for (std::size_t i = 0; i < SaMulticast::kGroupsMax; ++i) {
        asked.mgid.bytes[14] = static_cast<std::uint8_t>(i >> 8);
        asked.mgid.bytes[15] = static_cast<std::uint8_t>(i);
        ASSERT_TRUE(sa.handle_join(asked, kCreate, port(1)));
    }
    asked.mgid.bytes[14] = 0xFF;
    EXPECT_EQ(sa.handle_join(asked, kCreate, port(1)).error(), status::kNoResources);
}

TEST(SubnetAdmin, AnswersAJoinByMad) {
    SubnetAdmin sa(lookup);
    wire::MadBytes request{};
    wire::MadRepr{.mgmt_class = wire::MgmtClass::kSubnAdm,
                  .class_version = 2,
                  .method = wire::Method::kSet,
                  .transaction_id = 0x12345678,
                  .attribute_id = 0x38}
        .emit(wire::Mad<std::uint8_t>(request));
    const wire::Sa<std::uint8_t> in(request);
    in.set_header({.component_mask = kCreate});
    wire::emit(record(1, 1), in.data());
    const wire::MadBytes response = sa.handle(request, port(1));
    const wire::Mad<const std::uint8_t> mad(response);
    EXPECT_EQ(mad.method(), wire::Method::kGetResp);
    EXPECT_EQ(mad.status(), 0);
    EXPECT_EQ(mad.transaction_id(), 0x12345678U);
    const wire::Sa<const std::uint8_t> out(response);
    EXPECT_EQ(out.header().attribute_offset, 7);
    EXPECT_EQ(wire::parse<wire::McMemberRecord>(out.data()).mlid, Lid{0xC000});
}

TEST(SubnetAdmin, RefusesWhatItDoesNotKnow) {
    SubnetAdmin sa(lookup);
    const auto status_of = [&](const wire::MadRepr& repr) {
        wire::MadBytes request{};
        repr.emit(wire::Mad<std::uint8_t>(request));
        const wire::MadBytes response = sa.handle(request, port(1));
        return wire::Mad<const std::uint8_t>(response).status();
    };
    wire::MadRepr repr{.mgmt_class = wire::MgmtClass::kSubnAdm,
                       .class_version = 2,
                       .method = wire::Method::kGetTable,
                       .attribute_id = 0x38};
    EXPECT_EQ(status_of(repr), wire::mad_status::kUnsupportedMethod);
    repr.attribute_id = 0x99;
    EXPECT_EQ(status_of(repr), wire::mad_status::kUnsupportedAttribute);
    repr.class_version = 1;
    EXPECT_EQ(status_of(repr), wire::mad_status::kUnsupportedClass);
}

TEST(SubnetAdmin, SurvivesAnyBytes) {
    SubnetAdmin sa(lookup);
    Prng prng(3);
    for (int round = 0; round < 20'000; ++round) {
        wire::MadBytes request;
        std::ranges::generate(request, [&] { return static_cast<std::uint8_t>(prng.next()); });
        const wire::Mad<std::uint8_t> mad(request);
        if (round % 4 != 0) {  // Most get past the first checks.
            mad.set_base_version(1);
            mad.set_mgmt_class(wire::MgmtClass::kSubnAdm);
            mad.set_class_version(2);
            mad.set_method(round % 3 == 0 ? wire::Method::kDelete : wire::Method::kSet);
            mad.set_attribute_id(0x38);
            request[56] = 0xFF;
            request[57] &= 0x1F;
            std::ranges::copy(port_gid(1 + prng.next() % 10).bytes, request.begin() + 72);
            request[96] = request[97] = 0xFF;
        }
        const wire::MadBytes response = sa.handle(request, port(1 + prng.next() % 9));
        EXPECT_NE(static_cast<unsigned>(wire::Mad<const std::uint8_t>(response).method()) & 0x80,
                  0U);
        EXPECT_LE(sa.multicast().group_count(), SaMulticast::kGroupsMax);
    }
    EXPECT_GT(sa.multicast().group_count(), 0U);
}

}  // namespace softib::sm
