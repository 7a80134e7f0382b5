// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa/multicast.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/sm/sa/test_subnet.h"
#include "core/wire/sa/sa.h"

namespace softib::sm {

using test::kCreate;
using test::kJoin;

namespace {

namespace mc = wire::mc_member;
namespace sa_status = wire::sa_status;

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

/// Finds a port by its GID; ports 1 to 9 exist.
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
        EXPECT_EQ(answer.error(), sa_status::kInsufficientComponents);
    }
    EXPECT_EQ(sa.group_count(), 0U);
}

TEST_F(SaMulticastTest, OnlyAFullMemberMakesAGroup) {
    for (const std::uint8_t state : {wire::kJoinNonMember, wire::kJoinSendOnlyNonMember}) {
        EXPECT_EQ(sa.handle_join(record(1, 1, state), kCreate, port(1)).error(),
                  sa_status::kRequestInvalid);
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
    EXPECT_EQ(sa.handle_join(asked, kCreate, port(2)).error(), sa_status::kRequestInvalid);
    asked = record(1, 2);
    asked.mtu = 4;
    EXPECT_EQ(sa.handle_join(asked, kJoin | mc::kMtu | mc::kMtuSelector, port(2)).error(),
              sa_status::kRequestInvalid);
}

TEST_F(SaMulticastTest, SlowPortDoesNotJoinAFastGroup) {
    ASSERT_TRUE(sa.handle_join(record(1, 1), kCreate, port(1)));
    SaPort slow = port(2);
    slow.rate = 16;
    EXPECT_EQ(sa.handle_join(record(1, 2), kJoin, slow).error(), sa_status::kRequestInvalid);
}

TEST_F(SaMulticastTest, RateIsTheBestThatTheSelectorAllows) {
    SaMulticast::Record asked = record(1, 1);
    asked.rate_selector = wire::Selector::kLessThan;
    asked.rate = 17;  // The next rate below 200 Gb/s is 168 Gb/s.
    const auto answer = sa.handle_join(asked, kCreate | mc::kRate | mc::kRateSelector, port(1));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->rate, 14);
    asked = record(2, 1);
    asked.rate_selector = wire::Selector::kGreaterThan;
    asked.rate = 21;
    EXPECT_EQ(sa.handle_join(asked, kCreate | mc::kRate | mc::kRateSelector, port(1)).error(),
              sa_status::kRequestInvalid);
}

TEST_F(SaMulticastTest, StrangersToThePartitionDoNotJoin) {
    SaMulticast::Record asked = record(1, 1);
    asked.pkey = PKey{0x8123};
    EXPECT_EQ(sa.handle_join(asked, kCreate, port(1)).error(), sa_status::kRequestInvalid);
    SaPort other = port(2);
    other.pkeys = {PKey{0x8123}};
    ASSERT_TRUE(sa.handle_join(record(1, 1), kCreate, port(1)));
    EXPECT_EQ(sa.handle_join(record(1, 2), kJoin, other).error(), sa_status::kRequestInvalid);
}

TEST_F(SaMulticastTest, MgidIsCheckedOrAssigned) {
    SaMulticast::Record asked = record(1, 1);
    asked.mgid = port_gid(1);
    EXPECT_EQ(sa.handle_join(asked, kCreate, port(1)).error(), sa_status::kRequestInvalid);
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
    EXPECT_EQ(sa.handle_leave(record(1, 1), kJoin, port(1)).error(), sa_status::kRequestInvalid);
}

TEST_F(SaMulticastTest, OnlyAMemberCanLeave) {
    EXPECT_EQ(sa.handle_leave(record(1, 1), kJoin, port(1)).error(), sa_status::kRequestInvalid);
    ASSERT_TRUE(sa.handle_join(record(1, 1), kCreate, port(1)));
    EXPECT_EQ(sa.handle_leave(record(1, 2), kJoin, port(2)).error(), sa_status::kRequestInvalid);
    EXPECT_EQ(sa.handle_leave(record(1, 1), kJoin, port(2)).error(), sa_status::kRequestDenied);
    EXPECT_EQ(sa.handle_leave(record(1, 1), mc::kMgid, port(1)).error(),
              sa_status::kInsufficientComponents);
}

TEST_F(SaMulticastTest, ProxyMayLeaveWhatItJoined) {
    const auto joined = sa.handle_join(record(1, 2), kCreate, port(1));
    ASSERT_TRUE(joined);
    EXPECT_TRUE(joined->proxy_join);
    EXPECT_EQ(sa.handle_join(record(1, 99), kCreate, port(1)).error(), sa_status::kInvalidGid);
    EXPECT_TRUE(sa.handle_leave(record(1, 2), kJoin, port(3)));
}

TEST_F(SaMulticastTest, GetShowsAMembershipToItsMemberOnly) {
    EXPECT_EQ(sa.handle_get(record(1, 1), mc::kMgid, port(1)).error(), sa_status::kNoRecords);
    ASSERT_TRUE(sa.handle_join(record(1, 1), kCreate, port(1)));
    ASSERT_TRUE(sa.handle_join(record(2, 1), kCreate, port(1)));
    EXPECT_EQ(sa.handle_get(record(1, 1), 0, port(2)).error(), sa_status::kTooManyRecords);
    const auto group = sa.handle_get(record(1, 2), mc::kMgid, port(2));
    ASSERT_TRUE(group);
    EXPECT_EQ(group->mlid, Lid{0xC000});
    EXPECT_EQ(group->port_gid, Gid{});
    EXPECT_EQ(group->join_state, 0);
    const auto own = sa.handle_get(record(1, 1), mc::kMgid | mc::kPortGid, port(1));
    ASSERT_TRUE(own);
    EXPECT_EQ(own->join_state, wire::kJoinFullMember);
    EXPECT_EQ(sa.handle_get(record(1, 1), mc::kMgid | mc::kPortGid, port(2)).error(),
              sa_status::kNoRecords);
}

TEST_F(SaMulticastTest, ClientsHaveAQuotaOfGroups) {
    SaMulticast limited(lookup, {.groups_max = 5, .groups_per_client_max = 3});
    for (std::uint8_t i = 0; i < 3; ++i) {
        ASSERT_TRUE(limited.handle_join(record(i, 1), kCreate, port(1)));
    }
    EXPECT_EQ(limited.handle_join(record(3, 1), kCreate, port(1)).error(), sa_status::kNoResources);
    // The limit of one port does not affect others; the limit for all does.
    ASSERT_TRUE(limited.handle_join(record(3, 2), kCreate, port(2)));
    ASSERT_TRUE(limited.handle_join(record(4, 2), kCreate, port(2)));
    EXPECT_EQ(limited.handle_join(record(5, 2), kCreate, port(2)).error(), sa_status::kNoResources);
    ASSERT_TRUE(limited.handle_leave(record(0, 1), kJoin, port(1)));
    EXPECT_TRUE(limited.handle_join(record(5, 1), kCreate, port(1)));
}

TEST_F(SaMulticastTest, GroupsOfOneKindShareMlidsWhenTheyRunOut) {
    SaMulticast few(lookup, {.mlids = 2});
    EXPECT_EQ(few.handle_join(record(0, 1), kCreate, port(1))->mlid, Lid{0xC000});
    SaPort slow = port(1);
    slow.rate = 3;
    EXPECT_EQ(few.handle_join(record(1, 1), kCreate, slow)->mlid, Lid{0xC001});
    EXPECT_EQ(few.handle_join(record(2, 1), kCreate, port(1))->mlid, Lid{0xC000});
    SaMulticast::Record other = record(3, 1);
    other.sl = 3;
    EXPECT_EQ(few.handle_join(other, kCreate, port(1)).error(), sa_status::kNoResources);
    // The MLID is free when the last of its groups has ended.
    ASSERT_TRUE(few.handle_leave(record(0, 1), kJoin, port(1)));
    EXPECT_EQ(few.handle_join(other, kCreate, port(1)).error(), sa_status::kNoResources);
    ASSERT_TRUE(few.handle_leave(record(2, 1), kJoin, port(1)));
    EXPECT_EQ(few.handle_join(other, kCreate, port(1))->mlid, Lid{0xC000});
}

TEST_F(SaMulticastTest, MlidAskedForIsGivenWhereItIsFree) {
    SaMulticast::Record asked = record(1, 1);
    asked.mlid = Lid{0xC010};
    EXPECT_EQ(sa.handle_join(asked, kCreate | mc::kMlid, port(1))->mlid, Lid{0xC010});
    asked.mgid = group_gid(2);
    EXPECT_EQ(sa.handle_join(asked, kCreate | mc::kMlid, port(1))->mlid, Lid{0xC000});
}

TEST_F(SaMulticastTest, PermanentGroupNeedsNoMembers) {
    SaMulticast::Record broadcast = record(9, 1);
    broadcast.mtu = 4;
    broadcast.rate = 3;
    const auto mlid = sa.add_permanent(broadcast);
    ASSERT_TRUE(mlid);
    EXPECT_EQ(*sa.add_permanent(broadcast), *mlid);
    ASSERT_TRUE(sa.handle_join(record(9, 2), kJoin, port(2)));
    ASSERT_TRUE(sa.handle_leave(record(9, 2), kJoin, port(2)));
    EXPECT_EQ(sa.group_count(), 1U);
    EXPECT_EQ(sa.handle_get(record(9, 1), mc::kMgid, port(1))->mtu, 4);
}

TEST_F(SaMulticastTest, PermanentGroupTakesTheTraitsThatItsPartitionHasNow) {
    SaMulticast::Record broadcast = record(9, 1);
    broadcast.mtu = 4;
    const auto mlid = sa.add_permanent(broadcast);
    broadcast.mtu = 5;
    broadcast.rate = 2;
    broadcast.sl = 3;
    EXPECT_EQ(sa.add_permanent(broadcast), mlid);
    const auto now = sa.handle_get(record(9, 1), mc::kMgid, port(1));
    EXPECT_EQ(now->mtu, 5);
    EXPECT_EQ(now->rate, 2);
    EXPECT_EQ(now->sl, 3);
    ASSERT_TRUE(sa.handle_join(record(1, 1), kCreate, port(1)));
    SaMulticast::Record other = record(1, 1);
    other.sl = 7;
    ASSERT_TRUE(sa.add_permanent(other)) << "a client's group keeps what its creator asked for";
    EXPECT_NE(sa.handle_get(record(1, 1), mc::kMgid, port(1))->sl, 7);
}

TEST_F(SaMulticastTest, TableShowsGroupsToAllAndMembersToTheTrusted) {
    ASSERT_TRUE(sa.handle_join(record(1, 1), kCreate, port(1)));
    ASSERT_TRUE(sa.handle_join(record(1, 2), kJoin, port(2)));
    ASSERT_TRUE(sa.handle_join(record(2, 2), kCreate, port(2)));
    const auto table = [&](const SaPort& who, std::uint64_t components) {
        std::vector<SaMulticast::Record> found;
        EXPECT_EQ(sa.query(record(1, 2), components, who,
                           [&](const auto& r) {
                               found.push_back(r);
                               return true;
                           }),
                  0);
        return found;
    };
    const auto groups = table(port(1), 0);
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_EQ(groups[0].port_gid, Gid{});
    EXPECT_EQ(groups[0].join_state, 0);
    SaPort trusted = port(1);
    trusted.trusted = true;
    const auto members = table(trusted, 0);
    ASSERT_EQ(members.size(), 3U);
    EXPECT_EQ(members[1].port_gid, port_gid(2));
    EXPECT_EQ(table(trusted, mc::kPortGid).size(), 2U);
    EXPECT_TRUE(table(port(1), mc::kPortGid).empty());
}

TEST_F(SaMulticastTest, TellsWhatChanged) {
    using Event = SaMulticast::Event;
    const auto next = [&] {
        const auto event = sa.poll_event();
        return event ? static_cast<int>(event->kind) : -1;
    };
    ASSERT_TRUE(sa.handle_join(record(1, 1), kCreate, port(1)));
    EXPECT_EQ(next(), Event::kCreated);
    ASSERT_TRUE(sa.handle_join(record(1, 2), kJoin, port(2)));
    EXPECT_EQ(next(), Event::kMembersChanged);
    ASSERT_TRUE(sa.handle_join(record(1, 2), kJoin, port(2)));  // Joining again changes nothing.
    EXPECT_EQ(next(), -1);
    sa.remove_port(port_gid(1));
    EXPECT_EQ(next(), Event::kMembersChanged);
    EXPECT_EQ(next(), -1);
    sa.remove_port(port_gid(2));
    EXPECT_EQ(next(), Event::kMembersChanged);
    const auto last = sa.poll_event();
    ASSERT_TRUE(last);
    EXPECT_EQ(last->kind, Event::kDeleted);
    EXPECT_EQ(last->mgid, group_gid(1));
    EXPECT_EQ(last->mlid, Lid{0xC000});
    EXPECT_EQ(sa.group_count(), 0U);
}

TEST_F(SaMulticastTest, NobodyElseChangesWhatAPortJoinedItself) {
    ASSERT_TRUE(sa.handle_join(record(1, 1), kCreate, port(1)));
    EXPECT_EQ(sa.handle_join(record(1, 1, wire::kJoinNonMember), kJoin, port(2)).error(),
              sa_status::kRequestDenied);
    SaPort trusted = port(2);
    trusted.trusted = true;
    EXPECT_TRUE(sa.handle_join(record(1, 1, wire::kJoinNonMember), kJoin, trusted));
    EXPECT_TRUE(sa.handle_leave(record(1, 1, wire::kJoinNonMember), kJoin, trusted));
    // A membership by proxy becomes the port's own when the port joins itself.
    ASSERT_TRUE(sa.handle_join(record(1, 3), kJoin, port(1)));
    ASSERT_TRUE(sa.handle_join(record(1, 3), kJoin, port(3)));
    EXPECT_EQ(sa.handle_leave(record(1, 3), kJoin, port(1)).error(), sa_status::kRequestDenied);
}

TEST_F(SaMulticastTest, LifeTimeIsWhatWasAskedFor) {
    const auto life = [&](wire::Selector selector, std::uint8_t value) {
        SaMulticast::Record asked = record(1, 1);
        asked.packet_life_time_selector = selector;
        asked.packet_life_time = value;
        const auto made = sa.handle_join(
            asked, kCreate | mc::kPacketLifeTime | mc::kPacketLifeTimeSelector, port(1));
        if (!made) {
            return -1;
        }
        EXPECT_TRUE(sa.handle_leave(record(1, 1), kJoin, port(1)));
        return int{made->packet_life_time};
    };
    EXPECT_EQ(life(wire::Selector::kGreaterThan, 0), 18);
    EXPECT_EQ(life(wire::Selector::kExactly, 12), 12);
    EXPECT_EQ(life(wire::Selector::kLessThan, 10), 9);
    EXPECT_EQ(life(wire::Selector::kGreaterThan, 20), 21);
    EXPECT_EQ(life(wire::Selector::kLessThan, 0), -1);
}

}  // namespace softib::sm
