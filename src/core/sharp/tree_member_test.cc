// SPDX-License-Identifier: BSD-2-Clause
#include "core/sharp/tree_member.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/sharp/aggregation_node.h"
#include "core/sharp/test_tables.h"

namespace softib::sharp {
namespace {

constexpr std::uint8_t kMembers = 3;
constexpr std::uint32_t kBytes = 40;

/// Members and the one node above them, without a network.
class TreeMemberTest : public testing::Test {
  protected:
    void SetUp() override {
        for (std::uint8_t i = 0; i < kMembers; ++i) {
            members_.emplace_back(std::uint16_t{3}, 7U, rule_);
            vectors_.emplace_back(kBytes, std::byte{0xEE});
        }
    }
    /// Moves packets until none is left. Returns how many went up.
    std::size_t run() {
        std::size_t sent = 0;
        for (bool busy = true; busy;) {
            busy = false;
            for (std::size_t i = 0; i < members_.size(); ++i) {
                while (const auto bytes = members_[i].poll_transmit()) {
                    busy = true;
                    ++sent;
                    most_ = std::max(most_, node_.outstanding());
                    node_.handle_packet(qps_[i], *bytes);
                }
            }
            while (const auto departure = node_.poll_transmit()) {
                busy = true;
                const auto at = std::ranges::find(qps_, departure->from) - qps_.begin();
                EXPECT_TRUE(members_[static_cast<std::size_t>(at)].handle_packet(departure->bytes));
            }
        }
        return sent;
    }
    TreeMember::Task task(std::size_t member, TreeMember::Part give, TreeMember::Part take) {
        return {.sequence = 1,
                .bytes = kBytes,
                .reduction = {DataType::kU8, ReduceOp::kBitOr},
                .give = give,
                .take = take,
                .vector = vectors_[member].data()};
    }

    FragmentRule rule_{.datagram_bytes = 8, .datagrams = 2};
    AggregationTables tables_{default_an_info(), 8};
    AggregationNode node_{tables_};
    std::vector<Qpn> qps_ = make_root(tables_, kMembers);
    std::vector<TreeMember> members_;
    std::vector<std::vector<std::byte>> vectors_;
    std::size_t most_ = 0;
};

TEST_F(TreeMemberTest, AnAllReduceIsCutIntoFragmentsOfTheRule) {
    for (std::size_t i = 0; i < kMembers; ++i) {
        std::ranges::fill(vectors_[i], std::byte(1U << i));
        members_[i].begin(task(i, {0, kBytes}, {0, kBytes}));
    }
    EXPECT_EQ(run(), kMembers * kBytes / 8);
    EXPECT_LE(most_, 2U);
    for (std::size_t i = 0; i < kMembers; ++i) {
        EXPECT_EQ(members_[i].poll_done(), 1U);
        EXPECT_FALSE(members_[i].poll_done());
        EXPECT_EQ(vectors_[i], std::vector<std::byte>(kBytes, std::byte{7}));
    }
}

TEST_F(TreeMemberTest, AnAllGatherPutsPartsTogetherThatShareAFragment) {
    for (std::size_t i = 0; i < kMembers; ++i) {
        const auto begin = static_cast<std::uint32_t>(i * 13);
        const TreeMember::Part own{begin, i == 2 ? kBytes : begin + 13};
        std::fill(vectors_[i].begin() + own.begin, vectors_[i].begin() + own.end, std::byte(i + 1));
        members_[i].begin(task(i, own, {0, kBytes}));
    }
    run();
    for (std::size_t i = 0; i < kMembers; ++i) {
        ASSERT_TRUE(members_[i].poll_done());
        for (std::uint32_t at = 0; at < kBytes; ++at) {
            ASSERT_EQ(vectors_[i][at], std::byte(std::min(at / 13, 2U) + 1)) << i << " " << at;
        }
    }
}

TEST_F(TreeMemberTest, WhoTakesNothingEndsAndKeepsItsMemory) {
    for (std::size_t i = 0; i < kMembers; ++i) {
        std::ranges::fill(vectors_[i], std::byte(i));
        members_[i].begin(task(i, i == 1 ? TreeMember::Part{0, kBytes} : TreeMember::Part{},
                               i == 0 ? TreeMember::Part{8, 20} : TreeMember::Part{}));
    }
    run();
    for (std::size_t i = 0; i < kMembers; ++i) {
        EXPECT_TRUE(members_[i].poll_done());
    }
    EXPECT_EQ(vectors_[1], std::vector<std::byte>(kBytes, std::byte{1}));
    EXPECT_EQ(vectors_[2], std::vector<std::byte>(kBytes, std::byte{2}));
    for (std::uint32_t at = 0; at < kBytes; ++at) {
        EXPECT_EQ(vectors_[0][at], std::byte(at >= 8 && at < 20 ? 1 : 0));
    }
}

TEST_F(TreeMemberTest, ABarrierIsOneFragmentWithoutBytes) {
    for (std::size_t i = 0; i < kMembers; ++i) {
        members_[i].begin({.sequence = 4});
    }
    EXPECT_EQ(run(), kMembers);
    for (TreeMember& member : members_) {
        EXPECT_EQ(member.poll_done(), 4U);
    }
}

TEST_F(TreeMemberTest, MembersThatDisagreeGetAnErrorAndNoResult) {
    for (std::size_t i = 0; i < kMembers; ++i) {
        auto made = task(i, {0, kBytes}, {0, kBytes});
        made.reduction.op = i == 1 ? ReduceOp::kSum : ReduceOp::kMax;
        members_[i].begin(made);
    }
    run();
    for (TreeMember& member : members_) {
        EXPECT_EQ(member.error(), Error::kInvalid);
        EXPECT_FALSE(member.poll_done());
    }
}

}  // namespace
}  // namespace softib::sharp
