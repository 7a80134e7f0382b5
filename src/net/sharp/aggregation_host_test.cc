// SPDX-License-Identifier: BSD-2-Clause
// Tests of an aggregation node with its transport: packets of strangers and of malicious children
// change nothing, and a child that stops answering is reported.
#include "net/sharp/aggregation_host.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "core/base/prng.h"
#include "core/base/test_effort.h"
#include "core/sharp/test_tables.h"
#include "core/wire/packet/opcode.h"

namespace softib::net {
namespace {

using wire::SharpDataHeader;

constexpr std::uint8_t kChildren = 4;
constexpr Lid kNodeLid{50};
constexpr int kHostilePackets = effort(1'000'000, 40'000);

class AggregationHostTest : public testing::Test {
  protected:
    AggregationHostTest() {
        for (const auto& [qpn, made] : tables_.qps()) {
            wire::SharpQpcConfig context = made;
            context.pkey = kPKeyDefaultFull;
            context.ack_timeout = 1;
            context.retry = 2;
            changed_.push_back(context);
        }
        for (const wire::SharpQpcConfig& context : changed_) {
            EXPECT_EQ(sharp::set(tables_, wire::SharpAttribute::kQpcConfig, context), 0);
        }
        hca::Port port;
        port.lid = kNodeLid;
        host_.hca().set_port(port);
        host_.follow_tables();
    }

    /// Returns the headers of the packet that a child's HCA would send next.
    wire::PacketHeaders next_of(std::size_t child) {
        wire::PacketHeaders headers;
        headers.lrh.slid = Lid{static_cast<std::uint16_t>(child + 1)};
        headers.lrh.dlid = kNodeLid;
        headers.bth.opcode = opcode(wire::Transport::kRc, wire::Operation::kSendOnly);
        headers.bth.p_key = kPKeyDefaultFull;
        headers.bth.dest_qp = qps_[child];
        headers.bth.psn = Psn{psns_[child] & 0xFFFFFF};
        headers.bth.a = true;
        return headers;
    }
    /// Gives the node a packet. Returns how many packets the node has to send then.
    std::size_t give(const wire::PacketHeaders& headers, std::span<const std::uint8_t> bytes) {
        host_.hca().handle_packet(headers, hca::Payload(bytes), now_ns_);
        const std::size_t packets = host_.receive();
        send_all();
        return packets;
    }
    std::size_t give_next(std::size_t child, std::span<const std::uint8_t> bytes) {
        const wire::PacketHeaders headers = next_of(child);
        ++psns_[child];
        return give(headers, bytes);
    }
    /// Drops all packets that the HCA sends.
    void send_all() {
        hca::Transmit out;
        while (host_.hca().poll_transmit(out, now_ns_)) {
        }
    }
    std::vector<std::uint8_t> contribution(std::uint32_t sequence) const {
        sharp::DataPacket packet;
        packet.header.kind = SharpDataHeader::Kind::kUp;
        packet.header.contributes = true;
        packet.header.wants_result = true;
        packet.header.data_type = static_cast<std::uint8_t>(sharp::DataType::kU8);
        packet.header.reduce_op = static_cast<std::uint8_t>(sharp::ReduceOp::kSum);
        packet.header.tree_id = 3;
        packet.header.group_id = 7;
        packet.header.sequence = sequence;
        packet.header.length = 4;
        packet.payload = {1, 2, 3, 4};
        return emit_packet(packet);
    }

    std::uint64_t now_ns_ = 1000;
    sharp::AggregationTables tables_{sharp::default_an_info(), 8};
    std::vector<Qpn> qps_ = sharp::make_root(tables_, kChildren);
    std::vector<wire::SharpQpcConfig> changed_;
    AggregationHost host_{tables_};
    std::array<std::uint32_t, kChildren> psns_{};
};

/// Returns random bytes, or a packet of the group with one wrong field.
std::vector<std::uint8_t> malformed(Prng& prng, std::vector<std::uint8_t> right) {
    if (prng.chance(1, 4)) {
        right.resize(prng.below(80));
        std::ranges::generate(right, [&] { return static_cast<std::uint8_t>(prng.next()); });
        if (!right.empty()) {
            right[0] = static_cast<std::uint8_t>(right[0] & 0x0F);  // Version 0 does not exist.
        }
        return right;
    }
    auto header = *wire::parse<SharpDataHeader>(std::span<const std::uint8_t>(right));
    const auto any = [&] { return static_cast<std::uint32_t>(prng.next()); };
    switch (prng.below(8)) {
        case 0:
            header.version = static_cast<std::uint8_t>(2 + prng.below(14));
            break;
        case 1:
            header.kind = prng.chance(1, 2) ? SharpDataHeader::Kind::kDown
                                            : static_cast<SharpDataHeader::Kind>(4 + any() % 12);
            break;
        case 2:
            header.tree_id = static_cast<std::uint16_t>(4 + any() % 1000);
            break;
        case 3:
            header.group_id = 8 + any() % 1000;
            break;
        case 4:
            header.length = any() | 8U;
            break;
        case 5:
            header.data_type = static_cast<std::uint8_t>(12 + any() % 4);
            break;
        case 6:
            header.reduce_op = static_cast<std::uint8_t>(12 + any() % 4);
            break;
        default:
            header.contributes = false;  // The packet has a payload all the same.
            break;
    }
    wire::emit(header, std::span(right));
    return right;
}

/// Changes a child's next packet so that its connection does not allow it.
void forge(Prng& prng, wire::PacketHeaders& headers) {
    switch (prng.below(6)) {
        case 0:
            headers.lrh.slid = Lid{static_cast<std::uint16_t>(100 + prng.below(1000))};
            break;
        case 1:
            headers.bth.dest_qp = Qpn{0x1000U + static_cast<std::uint32_t>(prng.below(1 << 20))};
            break;
        case 2:
            headers.bth.p_key = PKey{static_cast<std::uint16_t>(1 + prng.below(0x7FFE))};
            break;
        case 3:
            headers.bth.opcode = opcode(wire::Transport::kUd, wire::Operation::kSendOnly);
            break;
        case 4:  // A PSN that has been used before.
            headers.bth.psn =
                Psn{(headers.bth.psn.value - 1 - static_cast<std::uint32_t>(prng.below(1000))) &
                    0xFFFFFF};
            break;
        default:
            headers.lrh.dlid = Lid{static_cast<std::uint16_t>(100 + prng.below(1000))};
            break;
    }
}

TEST_F(AggregationHostTest, AMillionHostilePacketsChangeNothing) {
    Prng prng(16);
    const std::vector<std::uint8_t> right = contribution(1);
    EXPECT_EQ(give_next(0, right), 0U);
    int discards = 0;
    for (int i = 0; i < kHostilePackets; ++i) {
        const std::size_t child = prng.below(kChildren);
        if (prng.chance(1, 2)) {  // A forged packet: the transport refuses it.
            wire::PacketHeaders headers = next_of(child);
            forge(prng, headers);
            ASSERT_EQ(give(headers, right), 0U) << i;
        } else {  // A malformed packet on a child's own connection: the node refuses it.
            ++discards;
            ASSERT_EQ(give_next(child, malformed(prng, right)), 0U) << i;
        }
        ASSERT_EQ(host_.node().outstanding(), 1U) << i;
    }
    const wire::SharpPerformanceCounters counted = host_.counters();
    EXPECT_EQ(counted.packet_discard_sharp, static_cast<std::uint64_t>(discards));
    EXPECT_EQ(counted.packet_discard_transport + counted.packet_discard_sharp,
              static_cast<std::uint64_t>(kHostilePackets))
        << "each is counted once";
    EXPECT_EQ(counted.packet_sent, 0U);
    EXPECT_TRUE(host_.take_lost().empty());
    for (std::size_t child = 1; child < kChildren; ++child) {
        EXPECT_EQ(give_next(child, right), child + 1 == kChildren ? kChildren : 0U);
    }
    EXPECT_EQ(host_.counters().packet_sent, kChildren);
}

TEST_F(AggregationHostTest, AChildThatDoesNotAnswerIsReportedOnce) {
    for (std::size_t child = 0; child < kChildren; ++child) {
        give_next(child, contribution(1));
    }
    host_.transmit(kChildren);
    send_all();
    EXPECT_TRUE(host_.take_lost().empty());
    for (int i = 0; i < 1000 && host_.hca().next_timeout_ns() != hca::kNever; ++i) {
        now_ns_ = host_.hca().next_timeout_ns();
        host_.hca().handle_timeout(now_ns_);
        host_.receive();
        send_all();
    }
    std::vector<Qpn> lost = host_.take_lost();
    std::ranges::sort(lost);
    EXPECT_EQ(lost, qps_);
    EXPECT_TRUE(host_.take_lost().empty());
    EXPECT_GT(host_.counters().timeout_event, 0U);
}

}  // namespace
}  // namespace softib::net
