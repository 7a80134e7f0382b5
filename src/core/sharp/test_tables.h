// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Requests to aggregation nodes, for tests.

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "core/sharp/aggregation_tables.h"
#include "core/wire/mad/mad.h"

namespace softib::sharp {

template <typename Attribute>
wire::MadBytes make_request(wire::Method method, wire::SharpAttribute id,
                            const Attribute& attribute) {
    static std::uint64_t transaction = 5;  // Every request has its own: none repeats another.
    wire::MadBytes mad{};
    const wire::MadRepr header{.mgmt_class = wire::MgmtClass::kSharp,
                               .class_version = wire::kSharpClassVersion,
                               .method = method,
                               .transaction_id = ++transaction,
                               .attribute_id = static_cast<std::uint16_t>(id)};
    header.emit(wire::Mad<std::uint8_t>(mad));
    const auto data = wire::Sharp<std::uint8_t>(mad).data();
    wire::emit(attribute, std::span<std::uint8_t>(data));
    return mad;
}

/// Sends a Set and returns the status of its answer.
template <typename Attribute>
std::uint16_t set(AggregationTables& tables, wire::SharpAttribute id, const Attribute& attribute) {
    const auto answer = tables.answer(make_request(wire::Method::kSet, id, attribute));
    EXPECT_TRUE(answer);
    return answer ? wire::Mad<const std::uint8_t>(*answer).status() : std::uint16_t{0xFFFF};
}

inline std::vector<Qpn> allocate(AggregationTables& tables, std::uint8_t count) {
    wire::SharpQpAllocation wanted;
    wanted.op = wire::SharpQpAllocation::Op::kAllocate;
    wanted.count = count;
    const auto answer = tables.answer(
        make_request(wire::Method::kSet, wire::SharpAttribute::kQpAllocation, wanted));
    EXPECT_EQ(wire::Mad<const std::uint8_t>(*answer).status(), wire::mad_status::kOk);
    const auto got =
        wire::parse<wire::SharpQpAllocation>(wire::Sharp<const std::uint8_t>(*answer).data());
    return {got.qps.begin(), got.qps.begin() + count};
}

/// Writes tree 3 into the tables, whose root is this node, with `children` queue pairs on ports 1,
/// 2 and so on, a quota for job 1, and group 7 of all children. Returns the queue pairs.
inline std::vector<Qpn> make_root(AggregationTables& tables, std::uint8_t children,
                                  std::uint32_t osts = 8) {
    const std::vector<Qpn> qps = allocate(tables, children);
    wire::SharpTreeConfig tree;
    tree.tree_id = 3;
    tree.state = wire::SharpTreeConfig::State::kEnabled;
    tree.mode = wire::SharpTreeConfig::Mode::kSat;
    tree.op = wire::SharpTreeConfig::Op::kWriteTree;
    for (std::uint8_t i = 0; i < children; ++i) {
        wire::SharpQpcConfig context;
        context.qpn = qps[i];
        context.state = wire::SharpQpcConfig::State::kActive;
        context.port = static_cast<std::uint8_t>(i + 1);
        context.rlid = Lid{static_cast<std::uint16_t>(i + 1)};
        context.rqpn = Qpn{i + 100U};
        EXPECT_EQ(set(tables, wire::SharpAttribute::kQpcConfig, context), 0);
        tree.children[tree.num_of_children++] = qps[i];
    }
    EXPECT_EQ(set(tables, wire::SharpAttribute::kTreeConfig, tree), 0);
    wire::SharpQuotaConfig quota;
    quota.job_id = 1;
    quota.op = wire::SharpQuotaConfig::Op::kSet;
    quota.tree_id = 3;
    quota.max_osts = osts;
    quota.max_groups = 2;
    EXPECT_EQ(set(tables, wire::SharpAttribute::kQuotaConfig, quota), 0);
    for (const Qpn qpn : qps) {
        wire::SharpGroupJoin join;
        join.tree_id = 3;
        join.group_id = 7;
        join.qpn = qpn;
        join.job_id = 1;
        EXPECT_EQ(set(tables, wire::SharpAttribute::kGroupJoin, join), 0);
    }
    return qps;
}

}  // namespace softib::sharp
