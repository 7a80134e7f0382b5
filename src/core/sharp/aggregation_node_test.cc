// SPDX-License-Identifier: BSD-2-Clause
#include "core/sharp/aggregation_node.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>

#include "core/base/prng.h"
#include "core/sharp/test_tables.h"

namespace softib::sharp {
namespace {

using wire::SharpDataHeader;

class NodeTest : public testing::Test {
  protected:
    static constexpr std::uint8_t kChildren = 4;

    DataPacket packet(std::uint32_t sequence, std::vector<std::uint8_t> payload) const {
        DataPacket made;
        made.header.kind = SharpDataHeader::Kind::kUp;
        made.header.contributes = true;
        made.header.wants_result = true;
        made.header.data_type = static_cast<std::uint8_t>(DataType::kU8);
        made.header.reduce_op = static_cast<std::uint8_t>(ReduceOp::kSum);
        made.header.tree_id = 3;
        made.header.group_id = 7;
        made.header.sequence = sequence;
        made.header.length = static_cast<std::uint32_t>(payload.size());
        made.payload = std::move(payload);
        return made;
    }
    void give(std::size_t child, const DataPacket& made) {
        node_.handle_packet(qps_[child], emit_packet(made));
    }
    /// Returns the packets that the node has sent, by queue pair.
    std::map<Qpn, DataPacket> take() {
        std::map<Qpn, DataPacket> out;
        while (const auto departure = node_.poll_transmit()) {
            const auto parsed = parse_packet(departure->bytes);
            EXPECT_TRUE(parsed);
            EXPECT_TRUE(out.emplace(departure->from, *parsed).second);
        }
        return out;
    }

    AggregationTables tables_{default_an_info(), 8};
    AggregationNode node_{tables_};
    std::vector<Qpn> qps_ = make_root(tables_, kChildren);
};

TEST_F(NodeTest, AllReduceGivesEverybodyTheSum) {
    for (std::uint8_t child = 0; child < kChildren; ++child) {
        EXPECT_TRUE(take().empty());
        give(child, packet(1, {child, 10}));
    }
    const auto out = take();
    ASSERT_EQ(out.size(), kChildren);
    for (const auto& [qpn, result] : out) {
        EXPECT_EQ(result.header.kind, SharpDataHeader::Kind::kDown);
        EXPECT_EQ(result.payload, (std::vector<std::uint8_t>{6, 40}));
    }
    EXPECT_EQ(node_.outstanding(), 0U);
}

TEST_F(NodeTest, AReduceIsForTheOneThatWantsIt) {
    for (std::uint8_t child = 0; child < kChildren; ++child) {
        DataPacket made = packet(1, {1});
        made.header.wants_result = child == 2;
        give(child, made);
    }
    const auto out = take();
    ASSERT_EQ(out.size(), kChildren);
    EXPECT_EQ(out.at(qps_[2]).payload, (std::vector<std::uint8_t>{4}));
    EXPECT_TRUE(out.at(qps_[1]).payload.empty());
    EXPECT_EQ(out.at(qps_[1]).header.kind, SharpDataHeader::Kind::kDown);
}

TEST_F(NodeTest, ABroadcastHasOneContribution) {
    for (std::uint8_t child = 0; child < kChildren; ++child) {
        DataPacket made = packet(1, {9, 8, 7});
        made.header.contributes = child == 1;
        made.header.wants_result = child != 1;
        if (child != 1) {
            made.payload.clear();
        }
        give(child, made);
    }
    const auto out = take();
    EXPECT_EQ(out.size(), kChildren);
    EXPECT_TRUE(out.at(qps_[1]).payload.empty());
    EXPECT_EQ(out.at(qps_[0]).payload, (std::vector<std::uint8_t>{9, 8, 7}));
}

TEST_F(NodeTest, ABarrierHasNoPayload) {
    for (std::uint8_t child = 0; child < kChildren; ++child) {
        DataPacket made = packet(1, {});
        made.header.contributes = false;
        give(child, made);
    }
    EXPECT_EQ(take().size(), kChildren);
}

TEST_F(NodeTest, TheOrderOfArrivalDoesNotMatter) {
    Prng prng(11);
    std::vector<std::vector<std::uint8_t>> payloads(kChildren);
    for (auto& payload : payloads) {
        for (int i = 0; i < 16; ++i) {
            const auto value = static_cast<float>(prng.next() % 1000003) * 1e-3F;
            const auto bits = std::bit_cast<std::array<std::uint8_t, 4>>(value);
            payload.insert(payload.end(), bits.begin(), bits.end());
        }
    }
    std::vector<std::uint8_t> first;
    std::vector<std::size_t> order{0, 1, 2, 3};
    std::uint32_t sequence = 0;
    do {
        ++sequence;
        for (const std::size_t child : order) {
            DataPacket made = packet(sequence, payloads[child]);
            made.header.data_type = static_cast<std::uint8_t>(DataType::kF32);
            give(child, made);
        }
        const auto out = take();
        ASSERT_EQ(out.size(), kChildren);
        const std::vector<std::uint8_t>& result = out.begin()->second.payload;
        first = first.empty() ? result : first;
        EXPECT_EQ(result, first);
    } while (std::ranges::next_permutation(order).found);
    EXPECT_EQ(sequence, 24U);
}

TEST_F(NodeTest, WhoDisagreeAllHearOfIt) {
    give(0, packet(1, {1, 2}));
    give(1, packet(1, {1, 2, 3}));
    const auto out = take();
    EXPECT_EQ(out.size(), kChildren);
    for (const auto& [qpn, answer] : out) {
        EXPECT_EQ(answer.header.kind, SharpDataHeader::Kind::kError);
    }
    EXPECT_EQ(node_.outstanding(), 0U);
}

TEST_F(NodeTest, StreamingNeedsTheLocks) {
    DataPacket made = packet(1, {1});
    made.header.streaming = true;
    give(0, made);
    const auto out = take();
    ASSERT_EQ(out.size(), kChildren);
    EXPECT_EQ(out.begin()->second.header.error,
              static_cast<std::uint8_t>(SharpDataHeader::Error::kNotLocked));
}

TEST_F(NodeTest, AJobHasNoMoreOperationsThanItsQuota) {
    for (std::uint32_t sequence = 1; sequence <= 20; ++sequence) {
        give(0, packet(sequence, {1}));
    }
    EXPECT_EQ(node_.outstanding(), 8U);
    EXPECT_EQ(tables_.counters().packet_discard_sharp, 12U);
}

TEST_F(NodeTest, StreamsHaveRoomOfTheirOwn) {
    wire::SharpGroupJoin lock;
    lock.op = wire::SharpGroupJoin::Op::kLock;
    lock.tree_id = 3;
    lock.group_id = 7;
    lock.job_id = 1;
    ASSERT_EQ(set(tables_, wire::SharpAttribute::kGroupJoin, lock), 0);
    const std::uint32_t room = tables_.info().streaming_operations;
    for (std::uint32_t sequence = 1; sequence <= room + 2; ++sequence) {
        DataPacket made = packet(sequence, {1});
        made.header.streaming = true;
        give(0, made);
    }
    EXPECT_EQ(node_.outstanding(), room);
    for (std::uint32_t sequence = 1000; sequence < 1020; ++sequence) {
        give(0, packet(sequence, {1}));
    }
    EXPECT_EQ(node_.outstanding(), room + 8);
}

TEST_F(NodeTest, ASecondPacketOfAChildIsDropped) {
    give(0, packet(1, {1}));
    give(0, packet(1, {1}));
    EXPECT_EQ(tables_.counters().packet_discard_sharp, 1U);
}

TEST_F(NodeTest, OperationsEndWithTheirGroup) {
    give(0, packet(1, {1}));
    wire::SharpResourceCleanup cleanup;
    cleanup.op = wire::SharpResourceCleanup::Op::kJob;
    cleanup.job_id = 1;
    set(tables_, wire::SharpAttribute::kResourceCleanup, cleanup);
    give(1, packet(1, {1}));
    EXPECT_EQ(node_.outstanding(), 0U);
}

/// Returns random bytes, most of which begin like a packet of the group.
std::vector<std::uint8_t> hostile_packet(Prng& prng) {
    std::vector<std::uint8_t> bytes(prng.below(80));
    for (std::uint8_t& byte : bytes) {
        byte = static_cast<std::uint8_t>(prng.next());
    }
    if (bytes.size() >= SharpDataHeader::kBytes && prng.chance(3, 4)) {
        auto header = *wire::parse<SharpDataHeader>(std::span<const std::uint8_t>(bytes));
        header.version = 1;
        header.tree_id = static_cast<std::uint16_t>(3 + prng.below(2));
        header.group_id = static_cast<std::uint32_t>(7 + prng.below(2));
        header.length =
            static_cast<std::uint32_t>(bytes.size() - SharpDataHeader::kBytes + prng.below(2));
        header.sequence = 1'000'000 + static_cast<std::uint32_t>(prng.below(4));
        header.kind = static_cast<SharpDataHeader::Kind>(prng.below(16));
        if (header.kind == SharpDataHeader::Kind::kUp) {
            header.data_type = 15;  // No such type, so that no packet is valid by chance.
        }
        wire::emit(header, std::span(bytes));
    }
    return bytes;
}

TEST_F(NodeTest, HostilePacketsChangeNothing) {
    Prng prng(5);
    give(0, packet(1, {1}));
    const char* const count = std::getenv("SOFTIB_HOSTILE");  // A million in the long tests.
    for (int i = count == nullptr ? 50000 : std::atoi(count); i > 0; --i) {
        // A child may send errors, so errors name a tree that the node does not have.
        const Qpn at = prng.chance(1, 2) ? Qpn{static_cast<std::uint32_t>(prng.below(1 << 24))}
                                         : qps_[prng.below(kChildren)];
        auto bytes = hostile_packet(prng);
        if (bytes.size() >= SharpDataHeader::kBytes) {
            auto header = *wire::parse<SharpDataHeader>(std::span<const std::uint8_t>(bytes));
            if (header.kind == SharpDataHeader::Kind::kError) {
                header.tree_id = 9;
                wire::emit(header, std::span(bytes));
            }
        }
        node_.handle_packet(at, bytes);
        ASSERT_EQ(node_.outstanding(), 1U);
        ASSERT_FALSE(node_.poll_transmit());
    }
    for (std::uint8_t child = 1; child < kChildren; ++child) {
        give(child, packet(1, {1}));
    }
    EXPECT_EQ(take().size(), kChildren);
}

}  // namespace
}  // namespace softib::sharp
