// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa/subscriptions.h"

#include <gtest/gtest.h>

#include "core/base/time_units.h"
#include "core/sm/sa/test_subnet.h"
#include "core/wire/sa/inform_info_record.h"

namespace softib::sm {

using test::Answer;
using test::Client;
using test::kTenant;
using wire::component;
using wire::InformInfo;
using wire::InformInfoRecord;
using wire::Method;
using wire::SaAttribute;
namespace status = wire::mad_status;
namespace sa_status = wire::sa_status;
namespace trap = wire::trap;

namespace {

InformInfo all_of(std::uint16_t trap_number) {
    return {.lid_range_begin = Lid{wire::kInformAll},
            .is_generic = 1,
            .subscribe = 1,
            .type = wire::kInformAll,
            .trap_number = trap_number,
            .producer_type = 0xFFFFFF};
}

}  // namespace

struct SubscriptionsTest : testing::Test {
    test::TreeSubnet tree{1, 4, 1};
    SubnetAdmin sa{tree.subnet,
                   {.sm_key = 77,
                    .port_guid = Guid{test::kHostGuid + 1},
                    .subscriptions = {.subscriptions_per_client_max = 3},
                    .reports = {.timeout_ns = kNsPerSecond, .retries = 2, .per_port_max = 4}}};
    Client client{sa, tree.lid_of_host(1)};
    Client other{sa, tree.lid_of_host(2)};
    Client trusted{sa, tree.lid_of_host(3), 77};

    Answer set(Client& who, const InformInfo& info) {
        return who.ask(Method::kSet, SaAttribute::kInformInfo, 0, info);
    }
    std::vector<InformInfoRecord> records(Client& who, std::uint64_t components = 0,
                                          const InformInfoRecord& asked = {}) {
        return who.table<InformInfoRecord>(SaAttribute::kInformInfoRecord, components, asked);
    }
    /// Returns the LIDs to which the SA sends reports now.
    std::vector<std::uint16_t> reported() {
        std::vector<std::uint16_t> lids;
        while (const auto report = sa.poll_report()) {
            lids.push_back(report->to.lid.value);
        }
        return lids;
    }
    std::vector<std::uint16_t> lids(std::initializer_list<std::uint32_t> hosts) const {
        std::vector<std::uint16_t> found;
        for (const std::uint32_t host : hosts) {
            found.push_back(tree.lid_of_host(host).value);
        }
        return found;
    }
    wire::Notice link_notice() const {
        wire::Notice notice{.type = wire::NoticeType::kUrgent,
                            .producer_type = 2,
                            .trap_number = trap::kLinkStateChanged,
                            .issuer_lid = tree.lid(tree.leaf(0))};
        notice.set_details(wire::LinkStateTrap{notice.issuer_lid});
        return notice;
    }
};

TEST_F(SubscriptionsTest, SubscribeConfirmsWithACopy) {
    const Answer answer = set(client, all_of(trap::kGidInService));
    ASSERT_EQ(answer.status, status::kOk);
    EXPECT_EQ(answer.mad.method, Method::kGetResp);
    EXPECT_EQ(answer.records<InformInfo>().at(0), all_of(trap::kGidInService));
    EXPECT_EQ(sa.subscriptions().count(), 1U);
    ASSERT_EQ(set(client, all_of(trap::kGidInService)).status, status::kOk);
    EXPECT_EQ(sa.subscriptions().count(), 1U);
}

TEST_F(SubscriptionsTest, UnsubscribeNeedsASubscription) {
    InformInfo info = all_of(trap::kGidInService);
    info.subscribe = 0;
    info.qpn = Qpn{1};
    EXPECT_EQ(set(client, info).status, sa_status::kRequestInvalid);
    ASSERT_EQ(set(client, all_of(trap::kGidInService)).status, status::kOk);
    EXPECT_EQ(set(other, info).status, sa_status::kRequestInvalid);
    info.qpn = Qpn{5};
    EXPECT_EQ(set(client, info).status, sa_status::kRequestInvalid);
    info.qpn = Qpn{1};
    EXPECT_EQ(set(client, info).status, status::kOk);
    EXPECT_EQ(sa.subscriptions().count(), 0U);
    EXPECT_EQ(client.get(SaAttribute::kInformInfo, 0, info).status, status::kUnsupportedAttribute);
}

TEST_F(SubscriptionsTest, RefusalSaysNotSubscribed) {
    InformInfo info = all_of(trap::kBadMKey);
    const Answer answer = set(client, info);
    EXPECT_EQ(answer.status, sa_status::kRequestInvalid);
    EXPECT_EQ(wire::parse<InformInfo>(answer.data)->subscribe, 0);
    EXPECT_EQ(set(trusted, info).status, status::kOk);
    info = all_of(trap::kGidInService);
    info.subscribe = 2;
    EXPECT_EQ(set(client, info).status, sa_status::kRequestInvalid);
    info = all_of(trap::kGidInService);
    info.lid_range_begin = Lid{4000};
    EXPECT_EQ(set(client, info).status, sa_status::kRequestInvalid);
    tree.subnet.port(tree.host(0)).pkeys = {kTenant};
    info.lid_range_begin = tree.lid_of_host(0);
    EXPECT_EQ(set(client, info).status, sa_status::kRequestInvalid);
    info.gid = tree.gid_of_host(0);
    EXPECT_EQ(set(client, info).status, sa_status::kRequestInvalid);
    info.gid = tree.gid_of_host(2);
    EXPECT_EQ(set(client, info).status, status::kOk);
}

TEST_F(SubscriptionsTest, RecordsShowThemWithoutTheQp) {
    ASSERT_EQ(set(client, all_of(trap::kGidInService)).status, status::kOk);
    ASSERT_EQ(set(client, all_of(trap::kGidOutOfService)).status, status::kOk);
    ASSERT_EQ(set(other, all_of(wire::kInformAll)).status, status::kOk);
    const auto seen = records(other);
    ASSERT_EQ(seen.size(), 3U);
    EXPECT_EQ(seen[0].subscriber_gid, tree.gid_of_host(1));
    EXPECT_EQ(seen[1].enumeration, 1);
    EXPECT_EQ(seen[0].inform_info.qpn, Qpn{0});
    EXPECT_EQ(records(trusted)[0].inform_info.qpn, Qpn{1});
    const InformInfoRecord by_gid{.subscriber_gid = tree.gid_of_host(1), .enumeration = 1};
    EXPECT_EQ(records(other, component(&InformInfoRecord::subscriber_gid), by_gid).size(), 2U);
    EXPECT_EQ(records(other,
                      component(&InformInfoRecord::subscriber_gid) |
                          component(&InformInfoRecord::enumeration),
                      by_gid)
                  .size(),
              1U);
    EXPECT_EQ(other.ask(Method::kSet, SaAttribute::kInformInfoRecord, 0, by_gid).status,
              status::kUnsupportedAttribute);
}

TEST_F(SubscriptionsTest, ClientsHaveAQuota) {
    for (std::uint16_t number = 64; number < 67; ++number) {
        ASSERT_EQ(set(client, all_of(number)).status, status::kOk);
    }
    EXPECT_EQ(set(client, all_of(67)).status, sa_status::kNoResources);
    EXPECT_EQ(set(other, all_of(67)).status, status::kOk);
}

TEST_F(SubscriptionsTest, NoticeGoesToThoseWhoWantIt) {
    ASSERT_EQ(set(client, all_of(trap::kLinkStateChanged)).status, status::kOk);
    ASSERT_EQ(set(other, all_of(trap::kGidInService)).status, status::kOk);
    ASSERT_EQ(set(trusted, all_of(wire::kInformAll)).status, status::kOk);
    sa.report_trap(link_notice(), 0);
    EXPECT_EQ(reported(), lids({1, 3}));
    sa.report_port(tree.gid_of_host(0), true, {kPKeyDefaultFull}, 0);
    EXPECT_EQ(reported(), lids({2, 3}));
    sa.report_port(tree.gid_of_host(0), false, {kPKeyDefaultFull}, 0);
    EXPECT_EQ(reported(), lids({3}));
}

TEST_F(SubscriptionsTest, EveryFieldOfASubscriptionCounts) {
    const auto hears = [&](InformInfo info) {
        EXPECT_EQ(set(client, info).status, status::kOk);
        sa.report_trap(link_notice(), 0);
        const bool heard = !reported().empty();
        while (sa.next_timeout_ns() != UINT64_MAX) {  // No subscriber answers in this test.
            sa.handle_timeout(sa.next_timeout_ns());
        }
        info.subscribe = 0;
        EXPECT_EQ(set(client, info).status, status::kOk);
        return heard;
    };
    InformInfo info = all_of(trap::kLinkStateChanged);
    EXPECT_TRUE(hears(info));
    info.type = static_cast<std::uint16_t>(wire::NoticeType::kUrgent);
    EXPECT_TRUE(hears(info));
    info.type = static_cast<std::uint16_t>(wire::NoticeType::kSecurity);
    EXPECT_FALSE(hears(info));
    info = all_of(trap::kLinkStateChanged);
    info.producer_type = 2;
    EXPECT_TRUE(hears(info));
    info.producer_type = 1;
    EXPECT_FALSE(hears(info));
    info = all_of(trap::kLinkStateChanged);
    info.is_generic = 0;
    EXPECT_FALSE(hears(info));
    info = all_of(trap::kLinkStateChanged);
    info.lid_range_begin = tree.lid(tree.leaf(0));
    EXPECT_TRUE(hears(info));
    info.lid_range_begin = Lid{1};
    EXPECT_FALSE(hears(info));
    info.lid_range_end = tree.lid(tree.leaf(0));
    EXPECT_TRUE(hears(info));
    info = all_of(trap::kLinkStateChanged);
    info.gid = gid_of(tree.subnet, tree.leaf(0));
    EXPECT_TRUE(hears(info));
    info.gid = tree.gid_of_host(0);
    EXPECT_FALSE(hears(info));
}

TEST_F(SubscriptionsTest, StrangersAndTheCuriousHearNothing) {
    ASSERT_EQ(set(client, all_of(wire::kInformAll)).status, status::kOk);
    sa.report_port(tree.gid_of_host(0), true, {kTenant}, 0);
    EXPECT_TRUE(reported().empty());
    wire::Notice security{.type = wire::NoticeType::kSecurity,
                          .producer_type = 1,
                          .trap_number = trap::kBadPKey,
                          .issuer_lid = tree.lid_of_host(0)};
    sa.report_trap(security, 0);
    EXPECT_TRUE(reported().empty());
    ASSERT_EQ(set(trusted, all_of(wire::kInformAll)).status, status::kOk);
    sa.report_trap(security, 0);
    EXPECT_EQ(reported(), lids({3}));
}

TEST_F(SubscriptionsTest, ReportIsRepeatedUntilItIsAnswered) {
    ASSERT_EQ(set(client, all_of(trap::kLinkStateChanged)).status, status::kOk);
    sa.report_trap(link_notice(), 0);
    const auto report = sa.poll_report();
    ASSERT_TRUE(report);
    const Answer parts = test::take_apart(report->message);
    EXPECT_EQ(report->message.size(), wire::kMadBytes);
    EXPECT_EQ(parts.mad.method, Method::kReport);
    EXPECT_EQ(parts.mad.class_version, wire::kSaClassVersion);
    EXPECT_EQ(parts.mad.attribute_id, static_cast<std::uint16_t>(SaAttribute::kNotice));
    const auto told = *wire::parse<wire::GmpNotice>(parts.data);
    EXPECT_EQ(told.notice, link_notice());
    EXPECT_EQ(told.issuer_gid, gid_of(tree.subnet, tree.leaf(0)));
    EXPECT_FALSE(sa.poll_report());
    EXPECT_EQ(sa.next_timeout_ns(), kNsPerSecond);
    sa.handle_timeout(kNsPerSecond);
    ASSERT_TRUE(sa.poll_report());
    // An answer from another port does not count.
    std::vector<std::uint8_t> response = report->message;
    response[3] = 0x86;
    EXPECT_FALSE(sa.handle(response, tree.lid_of_host(2), Qpn{1}, kNsPerSecond));
    EXPECT_EQ(sa.reports().pending(), 1U);
    EXPECT_FALSE(sa.handle(response, tree.lid_of_host(1), Qpn{1}, kNsPerSecond));
    EXPECT_EQ(sa.reports().pending(), 0U);
    EXPECT_EQ(sa.next_timeout_ns(), UINT64_MAX);
}

TEST_F(SubscriptionsTest, SilenceEndsAReport) {
    ASSERT_EQ(set(client, all_of(trap::kLinkStateChanged)).status, status::kOk);
    sa.report_trap(link_notice(), 0);
    std::size_t sent = reported().size();
    while (sa.next_timeout_ns() != UINT64_MAX) {
        sa.handle_timeout(sa.next_timeout_ns());
        sent += reported().size();
    }
    EXPECT_EQ(sent, 3U);
    EXPECT_EQ(sa.reports().lost(), 1U);
    for (int i = 0; i < 10; ++i) {
        sa.report_trap(link_notice(), 0);
    }
    EXPECT_EQ(sa.reports().pending(), 4U);  // The port answers none, so it gets no more.
    EXPECT_EQ(sa.reports().lost(), 7U);
    sa.forget_port(tree.gid_of_host(1), 0);
    EXPECT_EQ(sa.reports().pending(), 0U);
    EXPECT_EQ(sa.subscriptions().count(), 0U);
}

TEST_F(SubscriptionsTest, GroupsThatComeAndGoAreReported) {
    namespace mc = wire::mc_member;
    ASSERT_EQ(set(other, all_of(trap::kMulticastGroupCreated)).status, status::kOk);
    ASSERT_EQ(set(other, all_of(trap::kMulticastGroupDeleted)).status, status::kOk);
    wire::McMemberRecord group{.port_gid = tree.gid_of_host(1),
                               .pkey = kPKeyDefaultFull,
                               .join_state = wire::kJoinFullMember};
    group.mgid.bytes = {0xFF, 0x12, 0xA0, 0x1C, 1};
    const auto ask = [&](Method method) {
        return client
            .ask(method, SaAttribute::kMcMemberRecord,
                 mc::kMgid | mc::kPortGid | mc::kQKey | mc::kPKey | mc::kTClass | mc::kSl |
                     mc::kFlowLabel | mc::kJoinState,
                 group)
            .status;
    };
    const auto trap_told = [&]() -> int {
        const auto report = sa.poll_report();
        if (!report) {
            return -1;
        }
        const auto told = *wire::parse<wire::GmpNotice>(test::take_apart(report->message).data);
        EXPECT_EQ(told.notice.details<wire::GidTrap>().gid, group.mgid);
        EXPECT_EQ(told.issuer_gid, tree.gid_of_host(0));
        return told.notice.trap_number;
    };
    ASSERT_EQ(ask(Method::kSet), status::kOk);
    EXPECT_EQ(trap_told(), trap::kMulticastGroupCreated);
    EXPECT_EQ(sa.poll_changed_mlid(), Lid{0xC000});
    const auto members = sa.members_of(Lid{0xC000});
    ASSERT_EQ(members.size(), 1U);
    EXPECT_TRUE(same(members[0].port, tree.host(1)));
    EXPECT_TRUE(members[0].receives);
    ASSERT_EQ(ask(Method::kSet), status::kOk);  // Joining again changes nothing.
    EXPECT_FALSE(sa.poll_changed_mlid());
    ASSERT_EQ(ask(Method::kDelete), status::kOk);
    EXPECT_EQ(trap_told(), trap::kMulticastGroupDeleted);
    EXPECT_EQ(sa.poll_changed_mlid(), Lid{0xC000});
    EXPECT_EQ(trap_told(), -1);
}

TEST_F(SubscriptionsTest, APortThatFloodsIsToldBusyAndOthersAreServed) {
    SubnetAdmin queued(tree.subnet, {.queue = {.per_port_max = 4}});
    std::vector<std::uint8_t> request(wire::kMadBytes);
    request[0] = 1;
    request[1] = 3;
    request[2] = 2;
    request[3] = static_cast<std::uint8_t>(Method::kGet);
    request[17] = 1;  // ClassPortInfo.
    for (int i = 0; i < 10; ++i) {
        queued.submit(request, {.lid = tree.lid_of_host(0), .sl = 3});
    }
    queued.submit(request, {.lid = tree.lid_of_host(1), .sl = 3});
    std::vector<std::pair<std::uint16_t, std::uint16_t>> answers;
    while (const auto answer = queued.poll_answer(0)) {
        EXPECT_EQ(answer->to.sl, 3);
        answers.emplace_back(answer->to.lid.value, test::take_apart(answer->message).status);
    }
    ASSERT_EQ(answers.size(), 11U);
    const std::pair<std::uint16_t, std::uint16_t> busy{tree.lid_of_host(0).value, status::kBusy};
    EXPECT_EQ(std::ranges::count(answers, busy), 6);
    // Its turn is the second one, however many requests came before.
    EXPECT_EQ(answers[7].first, tree.lid_of_host(1).value);
    EXPECT_EQ(answers[7].second, status::kOk);
    EXPECT_EQ(queued.waiting(), 0U);
    const auto instead = SubnetAdmin::busy_instead(request);
    EXPECT_EQ(test::take_apart(instead).status, status::kBusy);
}

}  // namespace softib::sm
