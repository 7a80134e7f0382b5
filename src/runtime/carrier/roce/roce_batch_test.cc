// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/carrier/roce/roce_batch.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <unistd.h>

#include <array>

namespace softib::carrier {
namespace {

/// Returns one of two addresses that other tests do not use at the same time.
Gid address(std::uint32_t number) {
    const auto process = static_cast<std::uint32_t>(getpid()) & 0xFFFF;
    return wire::ipv4_gid(0x7FFA0000U + (process >> 8 << 8) + (process & 0x7F) * 2 + number);
}

class Batches : public testing::Test {
  protected:
    void SetUp() override {
        from_ = open_roce_socket(address(0)).value();
        to_ = open_roce_socket(address(1)).value();
        const int off = 0;
        setsockopt(to_, IPPROTO_UDP, UDP_GRO, &off, sizeof off);
    }
    void TearDown() override {
        close(from_);
        close(to_);
    }

    hca::Transmit packet(std::uint32_t psn, std::uint32_t bytes) {
        hca::Transmit out;
        out.headers.grh = wire::Grh{.hop_lmt = 64, .sgid = address(0), .dgid = address(1)};
        out.headers.bth = {.opcode = wire::opcode(wire::Transport::kUc, wire::Operation::kSendOnly),
                           .p_key = kPKeyDefaultFull,
                           .dest_qp = Qpn{17},
                           .psn = Psn{psn}};
        out.payload.add(payload_.data(), bytes);
        hca::set_lengths(out.headers, bytes);
        return out;
    }
    /// Expects the next datagram to be the packet with this PSN.
    void expect(std::uint32_t psn, std::uint32_t bytes) {
        std::array<std::uint8_t, 8192> room;
        const ssize_t size = recv(to_, room.data(), room.size(), 0);
        ASSERT_GT(size, 0) << "PSN " << psn;
        const auto got =
            wire::parse_roce_payload(std::span(room).first(static_cast<std::size_t>(size)),
                                     wire::Grh{.sgid = address(0), .dgid = address(1)},
                                     {.source_port = wire::kRocePort}, wire::CheckIcrc::kAnyIpv4Id);
        ASSERT_TRUE(got) << to_string(got.error());
        EXPECT_EQ(got->headers.bth.psn, Psn{psn});
        EXPECT_EQ(got->payload.size(), bytes);
    }

    int from_ = -1;
    int to_ = -1;
    std::array<std::uint8_t, 4096> payload_{};
    RoceBatches batches_;
};

TEST_F(Batches, ComeOutAsThePacketsThatWentInInTheirOrder) {
    // Sizes that are equal, shorter, longer again, and odd.
    const std::vector<std::uint32_t> sizes{1024, 1024, 1024, 100, 1024, 4096, 4096, 7, 0, 0, 64};
    for (std::uint32_t i = 0; i < sizes.size(); ++i) {
        ASSERT_TRUE(batches_.has_room());
        batches_.add(from_, packet(i, sizes[i]));
    }
    EXPECT_FALSE(batches_.empty());
    ASSERT_TRUE(batches_.flush());
    EXPECT_TRUE(batches_.empty());
    for (std::uint32_t i = 0; i < sizes.size(); ++i) {
        expect(i, sizes[i]);
    }
}

TEST_F(Batches, AreLimited) {
    std::uint32_t taken = 0;
    for (; taken < 10'000 && batches_.has_room(); ++taken) {
        batches_.add(from_, packet(taken, 4096));
    }
    EXPECT_GT(taken, 100U);
    EXPECT_LT(taken, 10'000U);
}

TEST_F(Batches, APacketForNobodyHoldsUpNoOther) {
    hca::Transmit lost = packet(0, 8);
    lost.headers.grh->dgid = Gid::from(kSubnetPrefixDefault, Guid{1});
    batches_.add(from_, lost);
    batches_.add(from_, packet(1, 8));
    ASSERT_TRUE(batches_.flush());
    expect(1, 8);
}

TEST(RoceSocket, AnAddressIsTakenOnce) {
    const auto first = open_roce_socket(address(0));
    ASSERT_TRUE(first) << first.error();
    const auto second = open_roce_socket(address(0));
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().find("--roce-address-base"), std::string::npos);
    close(*first);
}

}  // namespace
}  // namespace softib::carrier
