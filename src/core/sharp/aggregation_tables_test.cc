// SPDX-License-Identifier: BSD-2-Clause
#include "core/sharp/aggregation_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "core/base/prng.h"
#include "core/base/test_effort.h"
#include "core/sharp/test_tables.h"
#include "core/wire/sharp/sharp_am_key_info.h"

namespace softib::sharp {
namespace {

using wire::SharpAttribute;

constexpr std::uint8_t kPorts = 8;

TEST(AggregationTables, GiveBackWhatWasWritten) {
    AggregationTables tables(default_an_info(), kPorts);
    const std::vector<Qpn> qps = make_root(tables, 3);
    wire::SharpTreeConfig wanted;
    wanted.tree_id = 3;
    const auto answer =
        tables.answer(make_request(wire::Method::kGet, SharpAttribute::kTreeConfig, wanted));
    const auto told =
        wire::parse<wire::SharpTreeConfig>(wire::Sharp<const std::uint8_t>(*answer).data());
    EXPECT_EQ(told.num_of_children, 3);
    EXPECT_EQ(told.children[2], qps[2]);
    EXPECT_EQ(told.state, wire::SharpTreeConfig::State::kEnabled);
    EXPECT_EQ(tables.group(7)->children.size(), 3U);
    EXPECT_EQ(tables.info().tree_radix_used, 3);
}

TEST(AggregationTables, AQueuePairIsInOneTreeOnly) {
    AggregationTables tables(default_an_info(), kPorts);
    const std::vector<Qpn> qps = make_root(tables, 2);
    wire::SharpTreeConfig other;
    other.tree_id = 4;
    other.op = wire::SharpTreeConfig::Op::kWriteTree;
    other.num_of_children = 1;
    other.children[0] = qps[0];
    const AggregationTables before = tables;
    EXPECT_EQ(set(tables, SharpAttribute::kTreeConfig, other), wire::mad_status::kInvalidField);
    EXPECT_EQ(tables, before);
}

TEST(AggregationTables, FullTablesRefuse) {
    wire::SharpAnInfo info = default_an_info();
    info.max_num_qps = 4;
    info.operation_table_size = 8;
    AggregationTables tables(info, kPorts);
    make_root(tables, 4);
    wire::SharpQpAllocation more;
    more.op = wire::SharpQpAllocation::Op::kAllocate;
    more.count = 1;
    EXPECT_EQ(set(tables, SharpAttribute::kQpAllocation, more), wire::sharp_status::kNoResource);
    wire::SharpQuotaConfig quota;
    quota.job_id = 2;
    quota.op = wire::SharpQuotaConfig::Op::kSet;
    quota.tree_id = 3;
    quota.max_osts = 1;
    EXPECT_EQ(set(tables, SharpAttribute::kQuotaConfig, quota), wire::sharp_status::kNoResource);
}

TEST(AggregationTables, OneGroupStreamsThroughAPort) {
    AggregationTables tables(default_an_info(), kPorts);
    const std::vector<Qpn> qps = make_root(tables, 2);
    wire::SharpGroupJoin second;
    second.tree_id = 3;
    second.group_id = 8;
    second.qpn = qps[0];
    second.job_id = 1;
    ASSERT_EQ(set(tables, SharpAttribute::kGroupJoin, second), 0);
    wire::SharpGroupJoin lock;
    lock.tree_id = 3;
    lock.group_id = 7;
    lock.job_id = 1;
    lock.op = wire::SharpGroupJoin::Op::kLock;
    EXPECT_EQ(set(tables, SharpAttribute::kGroupJoin, lock), 0);
    EXPECT_EQ(set(tables, SharpAttribute::kGroupJoin, lock), 0) << "it has it";
    second.op = wire::SharpGroupJoin::Op::kLock;
    EXPECT_EQ(set(tables, SharpAttribute::kGroupJoin, second), wire::sharp_status::kLocked);
    lock.op = wire::SharpGroupJoin::Op::kUnlock;
    EXPECT_EQ(set(tables, SharpAttribute::kGroupJoin, lock), 0);
    EXPECT_EQ(set(tables, SharpAttribute::kGroupJoin, second), 0);
}

TEST(AggregationTables, CleanupLeavesNothingOfATree) {
    AggregationTables tables(default_an_info(), kPorts);
    make_root(tables, 4);
    wire::SharpResourceCleanup cleanup;
    cleanup.op = wire::SharpResourceCleanup::Op::kTree;
    cleanup.tree_id = 3;
    EXPECT_EQ(set(tables, SharpAttribute::kResourceCleanup, cleanup), 0);
    EXPECT_EQ(tables.qp_count(), 0U);
    EXPECT_TRUE(tables.trees().empty());
    EXPECT_TRUE(tables.groups().empty());
    EXPECT_EQ(tables.quota(1, 3), nullptr);
}

TEST(AggregationTables, AQueuePairNumberIsGivenAgainOnlyWhenAllOthersWere) {
    AggregationTables tables(default_an_info(), kPorts);
    wire::SharpResourceCleanup cleanup;
    cleanup.op = wire::SharpResourceCleanup::Op::kTree;
    cleanup.tree_id = 3;
    std::set<Qpn> seen;
    for (int job = 0; job < 1000; ++job) {
        for (const Qpn qpn : make_root(tables, kPorts)) {
            EXPECT_TRUE(seen.insert(qpn).second) << qpn.value;
        }
        ASSERT_EQ(set(tables, SharpAttribute::kResourceCleanup, cleanup), 0);
    }
    const std::vector<Qpn> held = allocate(tables, 16);
    for (int job = 0; job < 10000; ++job) {  // Numbers wrap, and skip those in use.
        for (const Qpn qpn : make_root(tables, kPorts)) {
            EXPECT_EQ(std::ranges::find(held, qpn), held.end()) << qpn.value;
        }
        ASSERT_EQ(set(tables, SharpAttribute::kResourceCleanup, cleanup), 0);
    }
}

TEST(AggregationTables, OtherClassesAndAnswersAreNotForThem) {
    AggregationTables tables(default_an_info(), kPorts);
    wire::MadBytes mad =
        make_request(wire::Method::kGetResp, SharpAttribute::kAnInfo, wire::SharpAnInfo{});
    EXPECT_FALSE(tables.answer(mad));
    wire::Mad<std::uint8_t>(mad).set_method(wire::Method::kGet);
    wire::Mad<std::uint8_t>(mad).set_mgmt_class(wire::MgmtClass::kPerf);
    EXPECT_FALSE(tables.answer(mad));
    wire::Mad<std::uint8_t>(mad).set_mgmt_class(wire::MgmtClass::kSharp);
    wire::Mad<std::uint8_t>(mad).set_class_version(77);
    EXPECT_EQ(wire::Mad<const std::uint8_t>(*tables.answer(mad)).status(),
              wire::mad_status::kUnsupportedClass);
}

TEST(AggregationTables, ARefusedRequestChangesNothing) {
    AggregationTables tables(default_an_info(), kPorts);
    make_root(tables, 4);
    Prng prng(3);
    const SharpAttribute attributes[] = {
        SharpAttribute::kQpAllocation,     SharpAttribute::kQpcConfig,
        SharpAttribute::kTreeConfig,       SharpAttribute::kQuotaConfig,
        SharpAttribute::kGroupJoin,        SharpAttribute::kAnInfo,
        static_cast<SharpAttribute>(0x77), SharpAttribute::kClassPortInfo};
    int refused = 0;
    for (int i = 0; i < effort(20000, 4000); ++i) {
        wire::MadBytes mad{};
        for (std::uint8_t& byte : mad) {  // Many zeros, since mostly small numbers are valid.
            byte = static_cast<std::uint8_t>(prng.chance(1, 2) ? 0 : prng.next());
        }
        const wire::MadRepr header{
            .mgmt_class = wire::MgmtClass::kSharp,
            .class_version = static_cast<std::uint8_t>(prng.below(4)),
            .method = prng.chance(1, 4) ? wire::Method::kGet : wire::Method::kSet,
            .attribute_id =
                static_cast<std::uint16_t>(attributes[prng.below(std::size(attributes))])};
        header.emit(wire::Mad<std::uint8_t>(mad));
        const AggregationTables before = tables;
        const auto answer = tables.answer(mad);
        ASSERT_TRUE(answer);
        if (wire::Mad<const std::uint8_t>(*answer).status() != wire::mad_status::kOk) {
            ++refused;
            ASSERT_EQ(tables, before);
        }
    }
    EXPECT_GT(refused, effort(1000, 200));
}

TEST(AggregationTables, ARepeatedRequestForQueuePairsGetsTheSameOnes) {
    AggregationTables tables(default_an_info(), kPorts);
    wire::SharpQpAllocation wanted;
    wanted.op = wire::SharpQpAllocation::Op::kAllocate;
    wanted.count = 5;
    const wire::MadBytes request =
        make_request(wire::Method::kSet, SharpAttribute::kQpAllocation, wanted);
    const auto first = tables.answer(request);
    EXPECT_EQ(tables.answer(request), first);
    EXPECT_EQ(tables.qp_count(), 5U);
    wire::MadBytes again = request;  // A kernel may number each try in the upper half.
    const std::uint64_t number =
        wire::Mad<const std::uint8_t>(request).transaction_id() | 0x77'00000000;
    wire::Mad<std::uint8_t>(again).set_transaction_id(number);
    const auto told = tables.answer(again);
    EXPECT_EQ(tables.qp_count(), 5U);
    EXPECT_EQ(wire::Mad<const std::uint8_t>(*told).transaction_id(), number);
    // Once one of the queue pairs is in use, the same request gets others.
    wire::SharpQpcConfig context;
    context.qpn =
        wire::parse<wire::SharpQpAllocation>(wire::Sharp<const std::uint8_t>(*first).data()).qps[0];
    context.state = wire::SharpQpcConfig::State::kActive;
    ASSERT_EQ(set(tables, SharpAttribute::kQpcConfig, context), 0);
    EXPECT_NE(tables.answer(request), first);
    EXPECT_EQ(tables.qp_count(), 10U);
}

TEST(AggregationTables, ChildrenThatAreAddedTwiceAreThereOnce) {
    AggregationTables tables(default_an_info(), kPorts);
    wire::SharpQpAllocation wanted;
    wanted.op = wire::SharpQpAllocation::Op::kAllocate;
    wanted.count = 3;
    const auto answer =
        tables.answer(make_request(wire::Method::kSet, SharpAttribute::kQpAllocation, wanted));
    const auto given =
        wire::parse<wire::SharpQpAllocation>(wire::Sharp<const std::uint8_t>(*answer).data()).qps;
    wire::SharpTreeConfig tree;
    tree.state = wire::SharpTreeConfig::State::kEnabled;
    tree.op = wire::SharpTreeConfig::Op::kWriteTree;
    tree.num_of_children = 1;
    tree.children[0] = given[0];
    ASSERT_EQ(set(tables, SharpAttribute::kTreeConfig, tree), 0);
    tree.op = wire::SharpTreeConfig::Op::kAddChildren;
    tree.num_of_children = 2;
    tree.children[0] = given[1];
    tree.children[1] = given[2];
    for (int tries = 0; tries < 2; ++tries) {  // The answer to the first was lost.
        EXPECT_EQ(set(tables, SharpAttribute::kTreeConfig, tree), 0);
        EXPECT_EQ(tables.tree(0)->children.size(), 3U);
    }
    tree.children[1] = given[1];
    tree.tree_id = 1;
    tree.op = wire::SharpTreeConfig::Op::kWriteTree;
    EXPECT_NE(set(tables, SharpAttribute::kTreeConfig, tree), 0) << "twice in one request";
}

/// Returns a random request with a valid header and random content.
wire::MadBytes random_request(Prng& prng) {
    wire::MadBytes mad{};
    for (std::uint8_t& byte : mad) {
        byte = static_cast<std::uint8_t>(prng.chance(1, 2) ? 0 : prng.next());
    }
    const std::uint16_t attributes[] = {0x01, 0x10, 0x20, 0x21, 0x22, 0x23, 0x24, 0x30, 0x40, 0x77};
    const wire::MadRepr header{
        .mgmt_class = wire::MgmtClass::kSharp,
        .class_version = wire::kSharpClassVersion,
        .method = prng.chance(1, 4) ? wire::Method::kGet : wire::Method::kSet,
        .attribute_id = attributes[prng.below(std::size(attributes))]};
    header.emit(wire::Mad<std::uint8_t>(mad));
    return mad;
}

TEST(AggregationTables, WithoutItsKeyNothingIsWritten) {
    // No byte of the key is zero: random requests have many zeros and would guess such a key.
    constexpr std::uint64_t kKey = 0x1122334455667788;
    const char* const count = std::getenv("SOFTIB_HOSTILE");  // A million in the long tests.
    AggregationTables tables(default_an_info(), kPorts);
    make_root(tables, 4);
    ASSERT_EQ(set(tables, SharpAttribute::kAmKeyInfo, wire::SharpAmKeyInfo{.am_key = kKey}), 0);
    const AggregationTables before = tables;
    Prng prng(4);
    for (int i = count == nullptr ? 20000 : std::atoi(count); i > 0; --i) {
        tables.answer(random_request(prng));
        if (i % 1000 == 0) {
            ASSERT_EQ(tables, before);
        }
    }
    EXPECT_EQ(tables, before);
    wire::MadBytes right = make_request(wire::Method::kSet, SharpAttribute::kAmKeyInfo,
                                        wire::SharpAmKeyInfo{.am_key = 0});
    EXPECT_EQ(wire::Mad<const std::uint8_t>(*tables.answer(right)).status(),
              wire::sharp_status::kBadKey);
    wire::Sharp<std::uint8_t>(right).set_am_key(kKey);
    EXPECT_EQ(wire::Mad<const std::uint8_t>(*tables.answer(right)).status(), 0);
}

TEST(AggregationTables, CountersAreTheNodesAndThoseCountedElsewhereSinceTheLastReset) {
    AggregationTables tables(default_an_info(), kPorts);
    const auto ask = [&](wire::Method method) {
        const auto answer = tables.answer(make_request(method, SharpAttribute::kPerformanceCounters,
                                                       wire::SharpPerformanceCounters{}));
        return wire::parse<wire::SharpPerformanceCounters>(
            wire::Sharp<const std::uint8_t>(*answer).data());
    };
    tables.counters().packet_sent = 3;
    tables.set_counted_elsewhere({.packet_sent = 10, .timeout_event = 2});
    EXPECT_EQ(ask(wire::Method::kGet).packet_sent, 13U);
    EXPECT_EQ(ask(wire::Method::kGet).timeout_event, 2U);
    EXPECT_EQ(ask(wire::Method::kSet).packet_sent, 0U);
    tables.set_counted_elsewhere({.packet_sent = 11, .timeout_event = 2});
    ++tables.counters().packet_sent;
    EXPECT_EQ(ask(wire::Method::kGet).packet_sent, 2U);
    EXPECT_EQ(ask(wire::Method::kGet).timeout_event, 0U);
}

TEST(AggregationTables, ASnapshotMakesEqualTables) {
    AggregationTables tables(default_an_info(), 64);
    make_root(tables, 30);
    wire::SharpGroupJoin lock;
    lock.op = wire::SharpGroupJoin::Op::kLock;
    lock.tree_id = 3;
    lock.group_id = 7;
    lock.job_id = 1;
    ASSERT_EQ(set(tables, wire::SharpAttribute::kGroupJoin, lock), 0);
    const std::vector<Qpn> more = allocate(tables, 3);
    wire::SharpQpAllocation release;
    release.op = wire::SharpQpAllocation::Op::kRelease;
    release.count = 1;
    release.qps[0] = more[0];
    ASSERT_EQ(set(tables, wire::SharpAttribute::kQpAllocation, release), 0);

    AggregationTables copy(default_an_info(), 64);
    allocate(copy, 5);  // restore() must remove these.
    copy.restore(tables.snapshot());
    EXPECT_EQ(copy.qps(), tables.qps());
    EXPECT_EQ(copy.trees(), tables.trees());
    EXPECT_EQ(copy.groups(), tables.groups());
    ASSERT_NE(copy.quota(1, 3), nullptr);
    EXPECT_EQ(*copy.quota(1, 3), *tables.quota(1, 3));
}

}  // namespace
}  // namespace softib::sharp
