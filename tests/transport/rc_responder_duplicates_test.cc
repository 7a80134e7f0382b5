// SPDX-License-Identifier: BSD-2-Clause
// What a responder must do with a request whose PSN is not the expected one: duplicates and gaps.
// Clauses are of IBA vol. 1; a test without one is about a choice of ours.
#include <cstdint>
#include <vector>

#include "responder.h"

namespace softib::transport {
namespace {

using enum Operation;

// 9.7.5: a duplicate is acknowledged and has no other effect.
TEST(RcResponder, DuplicateSendIsAcknowledgedOnce) {
    Responder r;
    r.ends[1].receive(1, 0, 16);
    r.ends[1].receive(2, 16, 16);
    r.take(r.request(kSendOnly, 0), Bytes(8, 1));
    r.take(r.request(kSendOnly, 0), Bytes(8, 1));
    EXPECT_EQ(r.sent_to(0).size(), 2U);
    EXPECT_EQ(r.sent[1].headers.bth.psn, Psn{0});
    EXPECT_EQ(r.sent[1].headers.aeth.msn, 1U);
    EXPECT_EQ(r.only_completion(1, true).wr_id, 1U);
    EXPECT_EQ(r.count(1, Counted::kDuplicate), 1U);
}

// 9.7.5: a duplicate WRITE does not write again.
TEST(RcResponder, DuplicateWriteDoesNotWrite) {
    Responder r;
    r.take(r.rdma(kWriteOnly, 0, 0, 8), Bytes(8, 1));
    r.take(r.rdma(kWriteOnly, 1, 0, 8), Bytes(8, 2));
    r.take(r.rdma(kWriteOnly, 0, 0, 8), Bytes(8, 1));
    EXPECT_EQ(*r.ends[1].at(0), 2);
    // The answer acknowledges all that has arrived.
    EXPECT_EQ(r.sent.back().headers.bth.psn, Psn{1});
}

// 9.7.5: a duplicate READ is executed again, with the bytes that are there now.
TEST(RcResponder, DuplicateReadIsReexecuted) {
    Responder r;
    r.take(r.rdma(kReadRequest, 0, 0, 600));
    *r.ends[1].at(300) ^= 0xFF;
    r.take(r.rdma(kReadRequest, 0, 0, 600));
    ASSERT_EQ(r.sent.size(), 6U);
    EXPECT_EQ(r.operation(r.sent[3]), kReadResponseFirst);
    EXPECT_EQ(r.sent[4].payload[300 - 256], *r.ends[1].at(300));
    EXPECT_NE(r.sent[1].payload[300 - 256], *r.ends[1].at(300));
    EXPECT_EQ(r.sent[5].headers.aeth.msn, 1U);
}

// 9.7.5: a part of a READ is executed again, too.
TEST(RcResponder, RestOfAReadIsReexecuted) {
    Responder r;
    r.take(r.rdma(kReadRequest, 0, 0, 600));
    r.sent.clear();
    r.take(r.rdma(kReadRequest, 1, 256, 600 - 256));
    ASSERT_EQ(r.sent.size(), 2U);
    EXPECT_EQ(r.operation(r.sent[0]), kReadResponseFirst);
    EXPECT_EQ(r.sent[0].headers.bth.psn, Psn{1});
    EXPECT_EQ(r.operation(r.sent[1]), kReadResponseLast);
}

// 9.7.5: a duplicate READ must be within the first one.
TEST(RcResponder, DuplicateReadOfOtherMemoryIsDropped) {
    Responder r;
    r.take(r.rdma(kReadRequest, 0, 0, 600));
    r.sent.clear();
    r.take(r.rdma(kReadRequest, 1, 300, 600 - 256));
    r.take(r.rdma(kReadRequest, 0, 0, 601));
    r.take(r.rdma(kReadRequest, 0xFFFFFF, 0, 600));
    EXPECT_TRUE(r.sent.empty());
    EXPECT_EQ(r.count(1, Counted::kDuplicateUnknown), 3U);
    EXPECT_FALSE(r.stopped());
}

// 9.7.4: a duplicate is checked as the first request was.
TEST(RcResponder, DuplicateReadNeedsItsKeyStill) {
    Responder r;
    r.take(r.rdma(kReadRequest, 0, 0, 600));
    r.ends[1].memory.remove(r.ends[1].key);
    r.take(r.rdma(kReadRequest, 0, 0, 600));
    EXPECT_EQ(r.last_syndrome(0), kNakAccess);
}

// The requester drops all responses after a loss until it has the lost one, so that goes out first,
// once.
TEST(RcResponder, ReadThatIsBeingAnsweredGoesBack) {
    Responder r;
    r.inject(1, r.rdma(kReadRequest, 0, 0, 1024));
    r.inject(1, r.rdma(kReadRequest, 4, 2048, 512));
    r.drive_while([&] { return r.sent.size() < 3; });
    r.inject(1, r.rdma(kReadRequest, 1, 256, 768));
    r.inject(1, r.rdma(kReadRequest, 4, 2048, 512));  // The turn of the READ has not come yet.
    r.drive();
    EXPECT_EQ(r.psns_to(0), (std::vector<std::uint32_t>{0, 1, 2, 1, 2, 3, 4, 5}));
    EXPECT_EQ(r.operation(r.sent[3]), kReadResponseFirst);
    EXPECT_EQ(r.operation(r.sent[5]), kReadResponseLast);
}

TEST(RcResponder, AnsweredReadIsRepeatedBeforeLaterOnes) {
    Responder r;
    r.inject(1, r.rdma(kReadRequest, 0, 0, 256));
    r.inject(1, r.add(1, 64, 1));
    r.inject(1, r.rdma(kReadRequest, 2, 0, 1024));
    r.inject(1, r.rdma(kWriteOnly, 6, 0, 8), Bytes(8));
    r.drive_while([&] { return r.sent.size() < 4; });
    r.inject(1, r.rdma(kReadRequest, 0, 0, 256));
    r.inject(1, r.add(1, 64, 1));
    r.drive();
    EXPECT_EQ(r.psns_to(0), (std::vector<std::uint32_t>{0, 1, 2, 3, 0, 1, 4, 5, 6}));
}

TEST(RcResponder, AcknowledgementTakesThePlaceOfANakThatIsMended) {
    Responder r;
    r.inject(1, r.rdma(kWriteOnly, 1, 0, 8), Bytes(8));
    r.inject(1, r.rdma(kWriteOnly, 0, 0, 8), Bytes(8));
    r.drive();
    ASSERT_EQ(r.sent.size(), 1U);
    EXPECT_EQ(r.last_syndrome(0).kind, AckKind::kAck);
    r.sent.clear();
    r.inject(1, r.rdma(kWriteOnly, 3, 0, 8), Bytes(8));
    r.inject(1, r.rdma(kWriteOnly, 0, 0, 8), Bytes(8));  // A duplicate does not close the gap.
    r.drive();
    ASSERT_EQ(r.sent.size(), 1U);
    EXPECT_EQ(r.last_syndrome(0), kNakSequence);
}

// 9.4.5: an atomic is executed once, and answered each time that it is requested.
TEST(RcResponder, DuplicateAtomicIsAnsweredFromMemory) {
    Responder r;
    const std::uint64_t before = word_at(r, 1, 64);
    r.take(r.add(0, 64, 5));
    r.take(r.add(1, 64, 7));
    r.take(r.add(0, 64, 5));
    ASSERT_EQ(r.sent.size(), 3U);
    EXPECT_EQ(r.sent[0].headers.atomic_ack_eth.orig_rem_dt, before);
    EXPECT_EQ(r.sent[1].headers.atomic_ack_eth.orig_rem_dt, before + 5);
    EXPECT_EQ(r.sent[2].headers.atomic_ack_eth.orig_rem_dt, before);
    EXPECT_EQ(word_at(r, 1, 64), before + 12);
}

// 9.4.5: a duplicate atomic must be the same as the first.
TEST(RcResponder, DuplicateAtomicMustBeTheSame) {
    Responder r;
    r.take(r.add(0, 64, 5));
    r.sent.clear();
    r.take(r.add(0, 64, 6));
    r.take(r.add(0, 72, 5));
    auto swap = r.add(0, 64, 5);
    swap.bth.opcode = wire::opcode(wire::Transport::kRc, kCompareSwap);
    r.take(swap);
    EXPECT_TRUE(r.sent.empty());
    EXPECT_EQ(r.count(1, Counted::kDuplicateUnknown), 3U);
}

// 9.4.5: the responder keeps the results of as many atomics as were agreed on.
TEST(RcResponder, ForgottenAtomicIsDropped) {
    Responder r({.rd_atomic = 2});
    for (std::uint32_t psn = 0; psn < 3; ++psn) {
        r.take(r.add(psn, 64, 1));
    }
    r.sent.clear();
    r.take(r.add(0, 64, 1));
    EXPECT_TRUE(r.sent.empty());
    r.take(r.add(1, 64, 1));
    EXPECT_EQ(r.sent.size(), 1U);
}

// 9.7.5: the responder sends one NAK for one gap.
TEST(RcResponder, GapIsNakedOnce) {
    Responder r;
    r.take(r.rdma(kWriteOnly, 2, 0, 8), Bytes(8));
    r.take(r.rdma(kWriteOnly, 3, 0, 8), Bytes(8));
    ASSERT_EQ(r.sent.size(), 1U);
    EXPECT_EQ(r.last_syndrome(0), kNakSequence);
    EXPECT_EQ(r.sent[0].headers.bth.psn, Psn{0});
    r.take(r.rdma(kWriteOnly, 0, 0, 8), Bytes(8));
    r.take(r.rdma(kWriteOnly, 2, 0, 8), Bytes(8));
    ASSERT_EQ(r.sent.size(), 3U);
    EXPECT_EQ(r.sent[2].headers.bth.psn, Psn{1});
    EXPECT_EQ(r.count(1, Counted::kOutOfSequence), 3U);
}

// 9.7.1: half of all PSNs lie behind the expected one.
TEST(RcResponder, APsnUpToHalfTheCircleBehindIsADuplicate) {
    Responder r({.psn = 0x10});
    r.take(r.request(kSendOnly, 0x0F));
    EXPECT_EQ(r.count(1, Counted::kDuplicate), 1U);
    r.take(r.request(kSendOnly, 0x800010));
    EXPECT_EQ(r.count(1, Counted::kDuplicate), 2U);
    r.take(r.request(kSendOnly, 0x80000F));
    EXPECT_EQ(r.count(1, Counted::kOutOfSequence), 1U);
}

}  // namespace
}  // namespace softib::transport
