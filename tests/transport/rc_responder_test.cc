// SPDX-License-Identifier: BSD-2-Clause
// What a responder must do, rule by rule; rc_responder_duplicates_test.cc has what follows from the
// PSN of a request.
// Clauses are of IBA vol. 1; a test without one is about a choice of ours.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "responder.h"

namespace softib::transport {
namespace {

using enum Operation;

// 9.7.5.2.8: an RNR NAK has the timer, and nothing else changes.
TEST(RcResponder, WithoutAReceiveItIsNotReady) {
    Responder r({.min_rnr_timer = 9});
    r.take(r.request(kSendFirst, 0), Bytes(256));
    EXPECT_EQ(r.last_syndrome(0), (Syndrome{.kind = AckKind::kRnrNak, .value = 9}));
    r.take(r.request(kSendLast, 1), Bytes(8));
    EXPECT_EQ(r.sent.size(), 1U);  // The requester knows of the gap already.
    r.ends[1].receive(1, 0, 512);
    r.take(r.request(kSendFirst, 0), Bytes(256));
    r.take(r.request(kSendLast, 1), Bytes(8));
    EXPECT_EQ(r.only_completion(1, true).byte_len, 264U);
    EXPECT_FALSE(r.stopped());
}

// 9.4.3: a WRITE with immediate needs its receive request with the last packet, not before.
TEST(RcResponder, WriteWithImmediateWaitsForAReceiveAtItsEnd) {
    Responder r;
    r.take(r.rdma(kWriteFirst, 0, 0, 260), Bytes(256, 9));
    auto last = r.request(kWriteLastImm, 1);
    last.imm_dt.imm_dt = 77;
    r.take(last, Bytes(4, 9));
    EXPECT_EQ(r.last_syndrome(0).kind, AckKind::kRnrNak);
    r.ends[1].receive(1, 0, 0);
    r.take(last, Bytes(4, 9));
    const Completion done = r.only_completion(1, true);
    EXPECT_EQ(done.opcode, WcOpcode::kRecvRdmaWithImm);
    EXPECT_EQ(done.imm_or_rkey, 77U);
    EXPECT_EQ(done.byte_len, 260U);
    EXPECT_EQ(*r.ends[1].at(259), 9);
}

// 9.7.4: opcodes must follow each other as the packets of a message do.
TEST(RcResponder, OpcodesOutOfOrderAreInvalid) {
    const std::vector<std::vector<Operation>> wrong{
        {kSendMiddle},
        {kSendLast},
        {kSendLastImm},
        {kWriteMiddle},
        {kWriteLast},
        {kSendFirst, kSendFirst},
        {kSendFirst, kSendOnly},
        {kSendFirst, kWriteMiddle},
        {kSendFirst, kReadRequest},
        {kSendFirst, kFetchAdd},
        {kWriteFirst, kSendMiddle},
        {kWriteFirst, kSendLast},
        {kWriteFirst, kWriteOnly},
        {kSendFirst, kSendLast, kSendLast},
    };
    for (const auto& packets : wrong) {
        Responder r;
        r.ends[1].receive(1, 0, 4096);
        std::uint32_t psn = 0;
        for (const Operation op : packets) {
            EXPECT_FALSE(r.stopped());
            auto h = r.rdma(op, psn++, 0, 600);
            h.atomic_eth = {
                .va = r.ends[1].addr(0), .r_key = r.ends[1].key, .swap_dt = 0, .cmp_dt = 0};
            const bool payload = wire::opcode_info(h.bth.opcode)->has_payload;
            r.take(h, Bytes(payload ? 256 : 0));
        }
        const std::string name(wire::to_string(packets.back()));
        EXPECT_EQ(r.last_syndrome(0), kNakInvalid) << name;
        EXPECT_TRUE(r.stopped()) << name;
        EXPECT_TRUE(r.has_event(1, AsyncKind::kQpReqErr)) << name;
        EXPECT_EQ(r.count(1, Counted::kInvalidRequest), 1U);
    }
}

// 9.7.4: only the last packet may be shorter than the MTU.
TEST(RcResponder, PacketsOfTheWrongLengthAreInvalid) {
    struct Case {
        Operation first;
        std::uint32_t bytes;
        std::optional<Operation> second;
        std::uint32_t second_bytes;
    };
    for (const Case& c :
         {Case{kSendFirst, 255, {}, 0}, Case{kSendFirst, 0, {}, 0}, Case{kWriteFirst, 252, {}, 0},
          Case{kSendFirst, 256, kSendMiddle, 255}, Case{kSendFirst, 256, kSendLast, 0},
          Case{kWriteFirst, 256, kWriteLast, 255},  // The RETH said 600 bytes.
          Case{kWriteOnly, 256, {}, 0}}) {
        Responder r;
        r.ends[1].receive(1, 0, 4096);
        r.take(r.rdma(c.first, 0, 0, 600), Bytes(c.bytes));
        if (c.second) {
            r.take(r.request(*c.second, 1), Bytes(c.second_bytes));
        }
        EXPECT_EQ(r.last_syndrome(0), kNakInvalid);
        EXPECT_TRUE(r.stopped());
    }
}

// 9.6: no packet may be longer than the path's MTU.
TEST(RcResponder, PacketLongerThanTheMtuIsDropped) {
    Responder r;
    r.ends[1].receive(1, 0, 4096);
    r.take(r.request(kSendOnly, 0), Bytes(257));
    EXPECT_TRUE(r.sent.empty());
    EXPECT_EQ(r.count(1, Counted::kBadLength), 1U);
    EXPECT_FALSE(r.stopped());
}

// 9.7.4: a WRITE must have exactly the length of its RETH.
TEST(RcResponder, WriteLongerThanAnnouncedIsInvalid) {
    Responder r;
    const Bytes before = r.ends[1].bytes;
    r.take(r.rdma(kWriteOnly, 0, 0, 8), Bytes(12));
    EXPECT_EQ(r.last_syndrome(0), kNakInvalid);
    EXPECT_EQ(r.ends[1].bytes, before);
}

// 9.7.4: no byte is read or written without a key for it.
TEST(RcResponder, NoByteMovesWithoutARight) {
    struct Case {
        const char* what;
        std::function<void(Responder&, wire::PacketHeaders&)> spoil;
    };
    const std::vector<Case> cases{
        {"key", [](Responder&, auto& h) { h.reth.r_key ^= 1; }},
        {"key of nothing", [](Responder&, auto& h) { h.reth.r_key = 0; }},
        {"key far away", [](Responder&, auto& h) { h.reth.r_key = 0xFFFFFFFF; }},
        {"before", [](Responder& r, auto& h) { h.reth.va = r.ends[1].addr(0) - 1; }},
        {"behind",
         [](Responder& r, auto& h) { h.reth.va = r.ends[1].addr(r.options.memory_bytes) - 7; }},
        {"round the end of memory", [](Responder&, auto& h) { h.reth.va = ~std::uint64_t{0}; }},
        {"domain",
         [](Responder& r, auto& h) {
             h.reth.r_key =
                 r.ends[1].memory.add_region({.pd = Pd{8},
                                              .addr = r.ends[1].addr(0),
                                              .length = 64,
                                              .access = kLocalWrite | kRemoteWrite | kRemoteRead,
                                              .bytes = r.ends[1].at(0)});
         }},
        {"rights of the key",
         [](Responder& r, auto& h) {
             h.reth.r_key = r.ends[1].memory.add_region({.pd = kPd,
                                                         .addr = r.ends[1].addr(0),
                                                         .length = 64,
                                                         .access = kLocalWrite | kRemoteAtomic,
                                                         .bytes = r.ends[1].at(0)});
         }},
        {"rights of the QP",
         [](Responder& r, auto&) {
             QpAttr attr;
             attr.access = kRemoteAtomic;
             EXPECT_TRUE(r.ends[1].hca.modify_qp(r.ends[1].qpn, attr, qp_attr::kAccessFlags));
         }},
    };
    for (const Case& c : cases) {
        for (const Operation op : {kWriteOnly, kReadRequest}) {
            Responder r;
            const Bytes before = r.ends[1].bytes;
            auto h = r.rdma(op, 0, 0, 8);
            c.spoil(r, h);
            r.take(h, Bytes(op == kWriteOnly ? 8 : 0, 0xEE));
            EXPECT_EQ(r.last_syndrome(0), kNakAccess) << c.what;
            EXPECT_EQ(r.ends[1].bytes, before) << c.what;
            EXPECT_TRUE(r.stopped()) << c.what;
            EXPECT_TRUE(r.has_event(1, AsyncKind::kQpAccessErr)) << c.what;
        }
    }
}

// 9.7.4: the whole WRITE is checked before its first byte is written.
TEST(RcResponder, WholeWriteIsCheckedWhenItBegins) {
    Responder r;
    const Bytes before = r.ends[1].bytes;
    r.take(r.rdma(kWriteFirst, 0, r.options.memory_bytes - 512, 513), Bytes(256));
    EXPECT_EQ(r.last_syndrome(0), kNakAccess);
    EXPECT_EQ(r.ends[1].bytes, before);
}

// 9.7.4: no byte is written after the key is gone.
TEST(RcResponder, KeyMayGoInTheMiddleOfAWrite) {
    Responder r;
    r.take(r.rdma(kWriteFirst, 0, 0, 512), Bytes(256, 1));
    r.ends[1].memory.remove(r.ends[1].key);
    const Bytes before = r.ends[1].bytes;
    r.take(r.request(kWriteLast, 1), Bytes(256, 1));
    EXPECT_EQ(r.last_syndrome(0), kNakAccess);
    EXPECT_EQ(r.ends[1].bytes, before);
}

// 9.7.4: no byte is read after the key is gone.
TEST(RcResponder, KeyMayGoInTheMiddleOfARead) {
    Responder r;
    r.inject(1, r.rdma(kReadRequest, 0, 0, 1024));
    r.drive_while([&] { return r.sent.size() < 2; });
    r.ends[1].memory.remove(r.ends[1].key);
    r.drive();
    EXPECT_EQ(r.last_syndrome(0), kNakAccess);
    EXPECT_EQ(r.sent.back().headers.bth.psn, Psn{2});
    EXPECT_TRUE(r.stopped());
}

// 9.7.4: a request of 0 bytes needs no key.
TEST(RcResponder, EmptyWriteAndReadNeedNoKey) {
    Responder r;
    auto write = r.rdma(kWriteOnly, 0, 0, 0);
    write.reth.r_key = 12345;
    r.take(write);
    EXPECT_EQ(r.last_syndrome(0).kind, AckKind::kAck);
    auto read = r.rdma(kReadRequest, 1, 0, 0);
    read.reth.r_key = 12345;
    r.take(read);
    EXPECT_EQ(r.operation(r.sent.back()), kReadResponseOnly);
    EXPECT_FALSE(r.stopped());
}

// 9.4.5: the address of an atomic must be a multiple of eight.
TEST(RcResponder, MisalignedAtomicIsInvalid) {
    Responder r;
    const Bytes before = r.ends[1].bytes;
    r.take(r.add(0, 61, 1));
    EXPECT_EQ(r.last_syndrome(0), kNakInvalid);
    EXPECT_EQ(r.ends[1].bytes, before);
}

// 9.4.5: compare-and-swap returns the value from before, whether it swaps or not.
TEST(RcResponder, CompareSwapSwapsOnlyWhatIsEqual) {
    Probe p;
    const std::uint64_t before = word_at(p, 1, 64);
    WorkRequest wr = p.request(0, WrOpcode::kCompareSwap, 64, 8);
    wr.compare_add = before + 1;
    wr.swap = 42;
    p.post(0, wr);
    p.drive();
    EXPECT_EQ(word_at(p, 1, 64), before);
    EXPECT_EQ(word_at(p, 0, 64), before);
    wr = p.request(0, WrOpcode::kCompareSwap, 64, 8);
    wr.compare_add = before;
    wr.swap = 42;
    p.post(0, wr);
    p.drive();
    EXPECT_EQ(word_at(p, 1, 64), 42U);
    EXPECT_EQ(p.completions(0).size(), 2U);
}

// 9.4.4: more READs than were agreed on are an invalid request.
TEST(RcResponder, TooManyReadsAreRefused) {
    Responder r({.rd_atomic = 2});
    for (std::uint32_t psn = 0; psn < 3; ++psn) {
        r.inject(1, r.rdma(kReadRequest, psn, 0, 8));
    }
    r.drive();
    EXPECT_EQ(r.operations_to(0),
              (std::vector{kReadResponseOnly, kReadResponseOnly, kAcknowledge}));
    EXPECT_EQ(r.last_syndrome(0), kNakInvalid);
}

TEST(RcResponder, MoreReadsMayBeAgreedOnLater) {
    Responder r({.rd_atomic = 1});
    r.inject(1, r.rdma(kReadRequest, 0, 0, 512));
    QpAttr attr;
    attr.state = QpState::kSqd;
    ASSERT_TRUE(r.ends[1].hca.modify_qp(r.ends[1].qpn, attr, qp_attr::kState));
    attr.max_dest_rd_atomic = 16;
    ASSERT_TRUE(r.ends[1].hca.modify_qp(r.ends[1].qpn, attr, qp_attr::kMaxDestRdAtomic));
    std::vector<std::uint32_t> psns{0, 1};
    for (std::uint32_t psn = 2; psn < 17; ++psn) {
        r.inject(1, r.rdma(kReadRequest, psn, 0, 8));
        psns.push_back(psn);
    }
    r.drive();
    EXPECT_EQ(r.psns_to(0), psns);
    EXPECT_FALSE(r.stopped());
}

// 9.9.3: a receive request that is too short gives an error on both sides.
TEST(RcResponder, MessageLongerThanItsReceive) {
    Responder r;
    r.ends[1].receive(1, 0, 300);
    r.take(r.request(kSendFirst, 0), Bytes(256));
    r.take(r.request(kSendLast, 1), Bytes(45));
    EXPECT_EQ(r.last_syndrome(0), kNakInvalid);
    EXPECT_EQ(r.only_completion(1, true).status, WcStatus::kLocLenErr);
    EXPECT_TRUE(r.stopped());
}

// 9.9.3: a receive request with wrong memory gives an error on both sides; the peer gets an
// operational error.
TEST(RcResponder, ReceiveIntoForeignMemory) {
    Responder r;
    const Sge wrong{r.ends[1].addr(0), 300, r.ends[1].key + 1};
    r.ends[1].hca.post_receive(r.ends[1].qpn, 1, std::span(&wrong, 1));
    r.take(r.request(kSendOnly, 0), Bytes(8));
    EXPECT_EQ(r.last_syndrome(0), kNakOperational);
    EXPECT_EQ(r.only_completion(1, true).status, WcStatus::kLocProtErr);
}

// 10.3.1: every receive request is completed.
TEST(RcResponder, UnfinishedMessageIsFlushed) {
    Responder r;
    r.ends[1].receive(1, 0, 4096);
    r.ends[1].receive(2, 0, 4096);
    r.take(r.request(kSendFirst, 0), Bytes(256));
    QpAttr attr;
    attr.state = QpState::kErr;
    r.ends[1].hca.modify_qp(r.ends[1].qpn, attr, qp_attr::kState);
    const auto done = r.completions(1, true);
    ASSERT_EQ(done.size(), 2U);
    EXPECT_EQ(done[0].wr_id, 1U);
    EXPECT_EQ(done[0].status, WcStatus::kWrFlushErr);
    EXPECT_EQ(done[1].wr_id, 2U);
}

// 9.7.5: an acknowledgement covers all before it, so one may stand for many.
TEST(RcResponder, OneAcknowledgementCoversManyPackets) {
    Responder r;
    for (std::uint32_t psn = 0; psn < 5; ++psn) {
        r.inject(1, r.rdma(kWriteOnly, psn, 0, 8), Bytes(8));
    }
    r.drive();
    ASSERT_EQ(r.sent.size(), 1U);
    EXPECT_EQ(r.sent[0].headers.bth.psn, Psn{4});
    EXPECT_EQ(r.sent[0].headers.aeth.msn, 5U);
}

// 9.7.5: a packet asks for an acknowledgement by its A bit.
TEST(RcResponder, AcknowledgesOnlyWhenAsked) {
    Responder r;
    auto h = r.rdma(kWriteOnly, 0, 0, 8);
    h.bth.a = false;
    r.take(h, Bytes(8));
    EXPECT_TRUE(r.sent.empty());
}

// 9.5: answers keep the order of the requests.
TEST(RcResponder, AnswersKeepTheirOrder) {
    Responder r;
    r.inject(1, r.rdma(kWriteOnly, 0, 0, 8), Bytes(8));
    r.inject(1, r.rdma(kReadRequest, 1, 0, 300));
    r.inject(1, r.rdma(kWriteOnly, 3, 0, 8), Bytes(8));
    r.inject(1, r.add(4, 64, 1));
    r.inject(1, r.rdma(kWriteOnly, 5, 0, 8), Bytes(8));
    r.drive();
    EXPECT_EQ(r.psns_to(0), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5}));
}

// 9.7.7: MSN counts messages, not packets.
TEST(RcResponder, MsnCountsMessages) {
    Responder r;
    r.take(r.rdma(kWriteFirst, 0, 0, 512), Bytes(256));
    EXPECT_EQ(r.sent.back().headers.aeth.msn, 0U);
    r.take(r.request(kWriteLast, 1), Bytes(256));
    EXPECT_EQ(r.sent.back().headers.aeth.msn, 1U);
    r.take(r.rdma(kReadRequest, 2, 0, 8));
    EXPECT_EQ(r.sent.back().headers.aeth.msn, 2U);
    r.take(r.add(3, 64, 1));
    EXPECT_EQ(r.sent.back().headers.aeth.msn, 3U);
}

// 9.7.7.2: credits count receive requests; those of a shared queue are not counted.
TEST(RcResponder, CreditsAreReceiveRequests) {
    Responder r;
    for (std::uint64_t i = 0; i < 7; ++i) {
        r.ends[1].receive(i, 0, 8);
    }
    r.take(r.rdma(kWriteOnly, 0, 0, 8), Bytes(8));
    EXPECT_EQ(r.last_syndrome(0), (Syndrome{.kind = AckKind::kAck, .value = 5}));  // Six.
    r.take(r.request(kSendOnly, 1));
    r.take(r.request(kSendOnly, 2));
    r.take(r.request(kSendOnly, 3));
    EXPECT_EQ(r.last_syndrome(0), (Syndrome{.kind = AckKind::kAck, .value = 4}));
    Responder shared({.srq = true});
    shared.take(shared.rdma(kWriteOnly, 0, 0, 8), Bytes(8));
    EXPECT_EQ(shared.last_syndrome(0).value, kCreditsUncounted);
}

// 10.2: a shared receive queue reports once that it has fewer requests than its limit.
TEST(RcResponder, SharedReceivesRunLowOnce) {
    Probe p({.srq = true});
    for (std::uint64_t i = 0; i < 4; ++i) {
        p.ends[1].receive(i, 0, 8);
    }
    ASSERT_TRUE(p.ends[1].hca.set_srq_limit(*p.ends[1].srq, 3));
    p.post(0, p.request(0, WrOpcode::kSend, 0, 8));
    p.drive();
    EXPECT_FALSE(p.has_event(1, AsyncKind::kSrqLimitReached));
    p.post(0, p.request(0, WrOpcode::kSend, 0, 8));
    p.drive();
    EXPECT_TRUE(p.has_event(1, AsyncKind::kSrqLimitReached));
    p.post(0, p.request(0, WrOpcode::kSend, 0, 8));
    p.drive();
    EXPECT_FALSE(p.has_event(1, AsyncKind::kSrqLimitReached));
    EXPECT_EQ(p.completions(1, true).size(), 3U);
}

// 9.9.3: after the NAK that ends the connection the responder sends nothing.
TEST(RcResponder, StoppedResponderIsSilent) {
    Responder r;
    r.inject(1, r.rdma(kReadRequest, 0, 0, 600));
    r.take(r.request(kSendMiddle, 3), Bytes(256));
    ASSERT_EQ(r.sent.size(), 4U);  // Requests before it are still answered.
    EXPECT_EQ(r.last_syndrome(0), kNakInvalid);
    r.take(r.rdma(kWriteOnly, 3, 0, 8), Bytes(8));
    r.take(r.rdma(kReadRequest, 0, 0, 600));
    EXPECT_EQ(r.sent.size(), 4U);
    EXPECT_EQ(r.count(1, Counted::kWrongState), 2U);
}

// 9.4.1: a SEND with invalidate ends the binding of a window.
TEST(RcResponder, SendWithInvalidateEndsABinding) {
    Probe p;
    End& b = p.ends[1];
    const std::uint32_t window = b.memory.add_window(kPd, KeyKind::kWindow2);
    WorkRequest bind = p.request(1, WrOpcode::kBindMw, 0, 0);
    bind.bind = {.mw_key = window,
                 .new_key = window + 1,
                 .mr_lkey = b.key,
                 .access = kRemoteWrite,
                 .addr = b.addr(0),
                 .length = 64};
    p.post(1, bind);
    p.drive();
    EXPECT_EQ(p.only_completion(1).status, WcStatus::kSuccess);
    WorkRequest write = p.request(0, WrOpcode::kWrite, 0, 64);
    write.rkey = window + 1;
    p.post(0, write);
    b.receive(1, 128, 8);
    WorkRequest send = p.request(0, WrOpcode::kSendInv, 0, 8);
    send.imm_or_rkey = window + 1;
    p.post(0, send);
    p.drive();
    EXPECT_EQ(p.completions(0).size(), 2U);
    const Completion done = p.only_completion(1, true);
    EXPECT_EQ(done.flags, kWcWithInv);
    EXPECT_EQ(done.imm_or_rkey, window + 1);
    p.post(0, write);
    p.drive();
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kRemAccessErr);
}

// 9.4.1: a SEND can invalidate only a window that is bound here. 9.9.6.3, class J: otherwise the
// receive request ends in an error and the responder stops without a NAK; packets before are still
// acknowledged.
TEST(RcResponder, InvalidatingWhatIsNoWindowIsNotAnswered) {
    Probe p;
    p.ends[1].receive(1, 0, 8);
    p.ends[1].receive(2, 0, 8);
    p.post(0, p.request(0, WrOpcode::kSend, 0, 8));
    WorkRequest send = p.request(0, WrOpcode::kSendInv, 0, 8);
    send.imm_or_rkey = p.ends[1].key;
    p.post(0, send);
    p.drive();
    const auto received = p.completions(1, true);
    ASSERT_EQ(received.size(), 2U);
    EXPECT_EQ(received[0].status, WcStatus::kSuccess);
    EXPECT_EQ(received[1].status, WcStatus::kLocAccessErr);
    EXPECT_EQ(p.ends[1].state(), QpState::kErr);
    const auto sent = p.completions(0);
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_EQ(sent[0].status, WcStatus::kSuccess);
    EXPECT_EQ(sent[1].status, WcStatus::kRetryExcErr);
    for (const Flight& flight : p.sent_to(0)) {
        EXPECT_EQ(Syndrome::parse(flight.headers.aeth.syndrome).kind, AckKind::kAck);
    }
}

// 11.4.2: only solicited messages wake a queue that is armed for them alone.
TEST(RcResponder, ImmediateAndSolicitedArrive) {
    Probe p;
    for (const bool solicited : {false, true}) {
        p.ends[1].receive(1, 0, 8);
        ASSERT_TRUE(p.ends[1].hca.arm(p.ends[1].recv_cq, Arm::kSolicited));
        WorkRequest send = p.request(0, WrOpcode::kSendImm, 0, 8);
        send.imm_or_rkey = 0xABCD;
        send.flags |= solicited ? kSendSolicited : kSendSignaled;
        p.post(0, send);
        p.drive();
        EXPECT_EQ(p.only_completion(1, true).imm_or_rkey, 0xABCDU);
        EXPECT_EQ(p.events(1).size(), solicited ? 1U : 0U);
    }
}

// 11.6: the first packet raises an event for a program whose queue pair is not in RTS yet.
TEST(RcResponder, FirstPacketEstablishesTheConnection) {
    Probe p;
    QpAttr reset;
    p.ends[1].hca.modify_qp(p.ends[1].qpn, reset, qp_attr::kState);
    p.to_init(1);
    p.to_rtr(1);
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 8));
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 8));
    p.drive();
    EXPECT_EQ(p.completions(0).size(), 2U);
    EXPECT_EQ(p.events(1), std::vector{(Event{.kind = Event::Kind::kAsync,
                                              .async = AsyncKind::kCommEst,
                                              .id = p.ends[1].qpn.value})});
}

}  // namespace
}  // namespace softib::transport
