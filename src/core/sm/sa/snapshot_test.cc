// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "core/base/prng.h"
#include "core/base/time_units.h"
#include "core/sm/sa/subnet_admin.h"
#include "core/sm/sa/test_subnet.h"
#include "core/wire/mad/inform_info.h"
#include "core/wire/sa/guid_info_record.h"
#include "core/wire/sa/service_record.h"

namespace softib::sm {

using test::Client;
using wire::component;
using wire::Method;
using wire::SaAttribute;
namespace mc = wire::mc_member;
namespace status = wire::mad_status;

struct SnapshotTest : testing::Test {
    test::TreeSubnet tree{1, 4, 1};
    SubnetAdmin sa{tree.subnet, {}};
    SubnetAdmin next{tree.subnet, {}};
    Client client{sa, tree.lid_of_host(1)};

    /// Adds a group, a service, a subscription and an alias GUID at second 100.
    void fill() {
        client.now_ns = 100 * kNsPerSecond;
        wire::McMemberRecord group{.port_gid = tree.gid_of_host(1),
                                   .qkey = QKey{5},
                                   .mlid = Lid{0xC007},
                                   .pkey = kPKeyDefaultFull,
                                   .join_state = wire::kJoinFullMember};
        group.mgid.bytes = {0xFF, 0x12, 0xA0, 0x1C, 1};
        ASSERT_EQ(client
                      .ask(Method::kSet, SaAttribute::kMcMemberRecord,
                           mc::kMgid | mc::kPortGid | mc::kQKey | mc::kPKey | mc::kTClass |
                               mc::kSl | mc::kFlowLabel | mc::kJoinState | mc::kMlid,
                           group)
                      .status,
                  status::kOk);
        wire::ServiceRecord service{
            .service_id = 1, .service_gid = tree.gid_of_host(1), .service_lease = 60};
        const std::uint64_t id_and_gid = component(&wire::ServiceRecord::service_id) |
                                         component(&wire::ServiceRecord::service_gid);
        ASSERT_EQ(client
                      .ask(Method::kSet, SaAttribute::kServiceRecord,
                           id_and_gid | component(&wire::ServiceRecord::service_lease), service)
                      .status,
                  status::kOk);
        service.service_id = 2;
        ASSERT_EQ(client.ask(Method::kSet, SaAttribute::kServiceRecord, id_and_gid, service).status,
                  status::kOk);
        const wire::InformInfo info{.lid_range_begin = Lid{0xFFFF},
                                    .is_generic = 1,
                                    .subscribe = 1,
                                    .type = 0xFFFF,
                                    .trap_number = 64,
                                    .producer_type = 0xFFFFFF};
        ASSERT_EQ(client.ask(Method::kSet, SaAttribute::kInformInfo, 0, info).status, status::kOk);
        wire::GuidInfoRecord aliases{.lid = tree.lid_of_host(1)};
        aliases.guid_info.guid[1] = Guid{0xAAAA};
        ASSERT_EQ(client.ask(Method::kSet, SaAttribute::kGuidInfoRecord, 0b100011, aliases).status,
                  status::kOk);
        ASSERT_TRUE(sa.guids().find(Guid{0xAAAA}));
    }
};

TEST_F(SnapshotTest, AnotherGoesOnInOurPlace) {
    fill();
    const auto bytes = sa.snapshot(110 * kNsPerSecond);
    // The clock of the other SA shows another time.
    ASSERT_TRUE(next.restore(bytes, 5 * kNsPerSecond));
    EXPECT_EQ(next.snapshot(5 * kNsPerSecond), bytes);
    const auto& groups = next.multicast().groups();
    ASSERT_EQ(groups.size(), 1U);
    EXPECT_EQ(groups.begin()->second.common.mlid, Lid{0xC007});
    EXPECT_TRUE(groups.begin()->second.members.contains(tree.gid_of_host(1)));
    EXPECT_EQ(next.poll_changed_mlid(), Lid{0xC007});
    EXPECT_FALSE(next.poll_report());
    EXPECT_EQ(next.next_timeout_ns(), 55 * kNsPerSecond);  // 50 seconds of the lease are left.
    EXPECT_TRUE(next.guids().find(Guid{0xAAAA}));
    next.report_port(tree.gid_of_host(0), true, {}, 5 * kNsPerSecond);
    const auto report = next.poll_report();
    ASSERT_TRUE(report);
    EXPECT_EQ(report->to.lid, tree.lid_of_host(1));
    // The restored membership is a real one: the port can leave.
    Client later{next, tree.lid_of_host(1)};
    const wire::McMemberRecord leave{.mgid = groups.begin()->first,
                                     .port_gid = tree.gid_of_host(1),
                                     .join_state = wire::kJoinFullMember};
    EXPECT_EQ(later
                  .ask(Method::kDelete, SaAttribute::kMcMemberRecord,
                       mc::kMgid | mc::kPortGid | mc::kJoinState, leave)
                  .status,
              status::kOk);
    EXPECT_EQ(next.multicast().group_count(), 0U);
}

TEST_F(SnapshotTest, EmptyOneIsFine) {
    ASSERT_TRUE(next.restore(sa.snapshot(0), 0));
    EXPECT_EQ(next.multicast().group_count(), 0U);
}

TEST_F(SnapshotTest, WhatIsBrokenChangesNothing) {
    fill();
    const auto bytes = sa.snapshot(100 * kNsPerSecond);
    ASSERT_TRUE(next.restore(bytes, 0));
    const auto before = next.snapshot(0);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        EXPECT_FALSE(next.restore(std::span(bytes).first(length), 0)) << length;
    }
    auto longer = bytes;
    longer.push_back(0);
    EXPECT_FALSE(next.restore(longer, 0));
    auto other_version = bytes;
    other_version[11] = 9;
    EXPECT_FALSE(next.restore(other_version, 0));
    EXPECT_EQ(next.restore(std::vector<std::uint8_t>(20), 0).error(),
              "not a snapshot of a subnet administration");
    EXPECT_EQ(next.snapshot(0), before);
}

TEST_F(SnapshotTest, AnyBytesAreSurvived) {
    fill();
    const auto bytes = sa.snapshot(100 * kNsPerSecond);
    Prng prng(9);
    std::size_t taken = 0;
    for (int round = 0; round < 5'000; ++round) {
        auto changed = bytes;
        for (int i = 0; i < 3; ++i) {
            changed[12 + prng.below(changed.size() - 12)] = static_cast<std::uint8_t>(prng.next());
        }
        SubnetAdmin fresh(tree.subnet, {});
        if (fresh.restore(changed, 0)) {
            ++taken;
            fresh.forget_port(tree.gid_of_host(1), 0);
            fresh.handle_timeout(UINT64_MAX - 1);
        }
    }
    EXPECT_GT(taken, 100U);
}

}  // namespace softib::sm
