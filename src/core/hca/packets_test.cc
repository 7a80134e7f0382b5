// SPDX-License-Identifier: BSD-2-Clause
#include "core/hca/packets.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace softib::hca {
namespace {

/// Builds the packets one by one, in bytes, header by header.
class Packetizer {
  public:
    explicit Packetizer(bool with_grh) : header_bytes_(8 + (with_grh ? 40 : 0) + 12) {}

    void packet(std::uint64_t extended_bytes, std::uint64_t payload_bytes) {
        const std::uint64_t pad = (4 - payload_bytes % 4) % 4;
        ++cost_.packets;
        cost_.words += (header_bytes_ + extended_bytes + payload_bytes + pad + 4) / 4;
    }
    WireCost cost() const { return cost_; }

  private:
    std::uint64_t header_bytes_;
    WireCost cost_;
};

std::uint64_t first_bytes(WireOp op) {
    return op == WireOp::kWrite || op == WireOp::kWriteImm ? 16 : 0;
}

std::uint64_t last_bytes(WireOp op) {
    return op == WireOp::kWriteImm || op == WireOp::kSendImm || op == WireOp::kSendInv ? 4 : 0;
}

TEST(Packets, MessagesCostTheSumOfTheirPackets) {
    for (const QpType type : {QpType::kRc, QpType::kUc, QpType::kXrcSend}) {
        for (const bool grh : {false, true}) {
            for (const std::uint32_t mtu : {256U, 512U, 1024U, 2048U, 4096U}) {
                for (const WireOp op : {WireOp::kSend, WireOp::kSendImm, WireOp::kSendInv,
                                        WireOp::kWrite, WireOp::kWriteImm}) {
                    const WireFormat format = make_wire_format(type, grh, mtu);
                    for (const std::uint64_t length :
                         {0U, 1U, 3U, 4U, 5U, 64U, 255U, 256U, 257U, 4095U, 4096U, 4097U, 8192U,
                          65536U, 1048577U}) {
                        Packetizer expected(grh);
                        std::uint64_t offset = 0;
                        do {
                            const std::uint64_t piece =
                                std::min<std::uint64_t>(mtu, length - offset);
                            const bool last = offset + piece == length;
                            expected.packet((type == QpType::kXrcSend ? 4U : 0U) +
                                                (offset == 0 ? first_bytes(op) : 0) +
                                                (last ? last_bytes(op) : 0),
                                            piece);
                            offset += piece;
                        } while (offset < length);
                        ASSERT_EQ(request_cost(format, op, length), expected.cost())
                            << "mtu " << mtu << " length " << length;
                    }
                }
            }
        }
    }
}

TEST(Packets, ReadResponseHasAethInFirstAndLast) {
    const WireFormat format = make_wire_format(QpType::kRc, false, 1024);
    for (const std::uint64_t length : {0U, 1U, 1024U, 1025U, 2048U, 2049U, 10000U}) {
        Packetizer expected(false);
        std::uint64_t offset = 0;
        do {
            const std::uint64_t piece = std::min<std::uint64_t>(1024, length - offset);
            const bool edge = offset == 0 || offset + piece == length;
            expected.packet(edge ? 4 : 0, piece);
            offset += piece;
        } while (offset < length);
        EXPECT_EQ(read_response_cost(format, length), expected.cost()) << length;
    }
}

TEST(Packets, ReadRequestIsOnePacketWhateverItsLength) {
    const WireFormat format = make_wire_format(QpType::kRc, false, 4096);
    EXPECT_EQ(request_cost(format, WireOp::kRead, 1U << 30), (WireCost{1, 10}));
}

TEST(Packets, AtomicsAndAcksHaveFixedSizes) {
    const WireFormat format = make_wire_format(QpType::kRc, false, 4096);
    EXPECT_EQ(request_cost(format, WireOp::kCmpSwap, 8), (WireCost{1, 13}));
    EXPECT_EQ(request_cost(format, WireOp::kFetchAdd, 8), (WireCost{1, 13}));
    EXPECT_EQ(atomic_ack_cost(format), (WireCost{1, 9}));
    EXPECT_EQ(ack_cost(format), (WireCost{1, 7}));
}

TEST(Packets, DatagramCarriesDethAndGrhWhenAsked) {
    const WireFormat local = make_wire_format(QpType::kUd, false, 4096);
    const WireFormat global = make_wire_format(QpType::kUd, true, 4096);
    // A management datagram: 256 bytes and 32 of headers and ICRC.
    EXPECT_EQ(request_cost(local, WireOp::kSend, 256), (WireCost{1, 72}));
    EXPECT_EQ(request_cost(global, WireOp::kSend, 256), (WireCost{1, 82}));
    EXPECT_EQ(request_cost(local, WireOp::kSendImm, 0), (WireCost{1, 9}));
}

TEST(Packets, ResponsesCarryNoXrceth) {
    EXPECT_EQ(ack_cost(make_wire_format(QpType::kXrcRecv, false, 4096)), (WireCost{1, 7}));
    EXPECT_EQ(request_cost(make_wire_format(QpType::kXrcSend, false, 4096), WireOp::kRead, 8),
              (WireCost{1, 11}));
}

TEST(Packets, LargestMessageDoesNotOverflow) {
    const WireFormat format = make_wire_format(QpType::kRc, true, 256);
    EXPECT_EQ(request_cost(format, WireOp::kSend, 1ULL << 31),
              (WireCost{1ULL << 23, (1ULL << 23) * 16 + (1ULL << 29)}));
}

}  // namespace
}  // namespace softib::hca
