// SPDX-License-Identifier: BSD-2-Clause
// What a requester must do, rule by rule.
// Clauses are of IBA vol. 1; a test without one is about a choice of ours.
#include "probe.h"

namespace softib::transport {
namespace {

using enum Operation;
using Ops = std::vector<Operation>;
using Psns = std::vector<std::uint32_t>;

// 9.7.3, 9.4.3: a message is cut into packets of one MTU, the last one shorter; only the first has
// a RETH.
TEST(RcRequester, CutsAMessageIntoPacketsOfTheMtu) {
    Probe p({.psn = 100});
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 1000));
    p.drive();
    EXPECT_EQ(p.operations_to(1), (Ops{kWriteFirst, kWriteMiddle, kWriteMiddle, kWriteLast}));
    EXPECT_EQ(p.psns_to(1), (Psns{100, 101, 102, 103}));
    EXPECT_EQ(p.sent_to(1)[0].headers.reth.dma_len, 1000U);
    EXPECT_EQ(p.sent_to(1)[0].length, 256U);
    EXPECT_EQ(p.sent_to(1)[3].length, 1000U - 3 * 256);
    EXPECT_EQ(p.sent_to(1)[3].headers.bth.pad_cnt, 0U);
    EXPECT_TRUE(p.same(0, 0, 1, 0, 1000));
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kSuccess);
}

// 9.2.4: the payload is padded to a word.
TEST(RcRequester, PadsToAWord) {
    Probe p;
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 5));
    p.drive();
    EXPECT_EQ(p.sent_to(1)[0].headers.bth.pad_cnt, 3U);
    EXPECT_EQ(p.sent_to(1)[0].headers.lrh.pkt_len, (8U + 12 + 16 + 8 + 4) / 4);
}

// 9.4: a message may have no payload, and is one packet then.
TEST(RcRequester, EmptyMessageIsOnePacket) {
    Probe p;
    p.ends[1].receive(1, 0, 16);
    p.post(0, p.request(0, WrOpcode::kSend, 0, 0));
    p.drive();
    EXPECT_EQ(p.operations_to(1), Ops{kSendOnly});
    EXPECT_EQ(p.only_completion(1, true).byte_len, 0U);
}

// 9.7.1: PSNs count modulo 2^24.
TEST(RcRequester, PsnWrapsAt24Bits) {
    Probe p({.psn = 0xFFFFFE});
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 1024));
    p.post(0, p.request(0, WrOpcode::kRead, 2048, 600));
    p.drive();
    EXPECT_EQ(p.psns_to(1), (Psns{0xFFFFFE, 0xFFFFFF, 0, 1, 2}));
    EXPECT_EQ(p.completions(0).size(), 2U);
    EXPECT_TRUE(p.same(0, 2048, 1, 2048, 600));
}

// 9.7.3: a READ uses as many PSNs as its response has packets.
TEST(RcRequester, ReadTakesThePsnsOfItsResponse) {
    Probe p({.psn = 7});
    p.post(0, p.request(0, WrOpcode::kRead, 0, 700));
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 1));
    p.drive();
    EXPECT_EQ(p.psns_to(1), (Psns{7, 10}));
    EXPECT_EQ(p.operations_to(0),
              (Ops{kReadResponseFirst, kReadResponseMiddle, kReadResponseLast, kAcknowledge}));
}

// 9.7.5: the requester asks for an acknowledgement at the end of a message.
TEST(RcRequester, AsksForAnAcknowledgementAtTheEnd) {
    Probe p;
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 512));
    p.drive();
    EXPECT_FALSE(p.sent_to(1)[0].headers.bth.a);
    EXPECT_TRUE(p.sent_to(1)[1].headers.bth.a);
}

TEST(RcRequester, AFullWindowAlwaysAsksForAnAcknowledgement) {
    for (const std::uint32_t window : {1U, 2U, 3U, 5U, 100U}) {
        Probe p({.window = window, .timeout = 0});
        p.post(0, p.request(0, WrOpcode::kWrite, 0, 60'000));
        p.drive();
        EXPECT_EQ(p.only_completion(0).status, WcStatus::kSuccess) << window;
    }
}

// 9.7.5: a NAK tells where the gap begins; packets before it have arrived.
TEST(RcRequester, SequenceNakGoesBackToItsPsn) {
    Probe p;
    p.lose = lose_psn(1, 1);
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 256));
    p.post(0, p.request(0, WrOpcode::kWrite, 256, 1024));
    p.drive();
    EXPECT_EQ(p.psns_to(1), (Psns{0, 1, 2, 3, 4, 1, 2, 3, 4}));
    EXPECT_EQ(p.count(0, Counted::kTimeout), 0U);
    EXPECT_EQ(p.count(0, Counted::kRetransmit), 4U);
    EXPECT_EQ(p.completions(0).size(), 2U);
    EXPECT_TRUE(p.same(0, 0, 1, 0, 1280));
}

// 9.7.5: each lost packet gets a NAK of its own.
TEST(RcRequester, EveryGapIsMendedByItsOwnNak) {
    Probe p;
    p.lose = [lost = 0](const Flight& f) mutable {
        const bool now =
            f.to == 1 && (f.headers.bth.psn.value == 1 || f.headers.bth.psn.value == 3);
        lost += now ? 1 : 0;
        // Packet 3 is sent in the first and in the second round.
        return now && (lost == 1 || lost == 4);
    };
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 1536));
    p.drive();
    EXPECT_EQ(p.psns_to(1), (Psns{0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 3, 4, 5}));
    EXPECT_EQ(p.count(0, Counted::kTimeout), 0U);
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kSuccess);
}

// 9.7.6: a late acknowledgement still counts.
TEST(RcRequester, LateAcknowledgementSavesSendingAgain) {
    Probe p({.timeout = 1});
    p.options.knobs.latency_ns = 100'000;
    p.lose = [](const Flight& f) { return f.to == 0; };
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 1024));
    p.drive_while([&] { return p.count(0, Counted::kTimeout) == 0; });
    ASSERT_EQ(p.sent.size(), 4U);
    p.inject(0, p.headers(0, kAcknowledge, 1));
    p.drive_while([&] { return p.sent.size() < 6; });
    EXPECT_EQ(p.psns_to(1), (Psns{0, 1, 2, 3, 2, 3}));
    EXPECT_EQ(p.count(0, Counted::kTimeout), 1U);
}

// 9.7.6.1.3: the requester sends again after 4.096 us times 2^n, as often as the retry count says.
TEST(RcRequester, SilenceIsRetriedThenFails) {
    Probe p({.timeout = 10, .retry_cnt = 3});
    std::vector<std::uint64_t> times;
    p.lose = [&](const Flight&) {
        times.push_back(p.now_ns);
        return true;
    };
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 8));
    p.drive();
    ASSERT_EQ(times.size(), 4U);
    for (std::size_t i = 1; i < times.size(); ++i) {
        EXPECT_GE(times[i] - times[i - 1], 4096U << 10);
    }
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kRetryExcErr);
    EXPECT_EQ(p.ends[0].state(), QpState::kErr);
    EXPECT_EQ(p.ends[1].state(), QpState::kRts);
}

// 9.7.6.1.3: a timeout of zero means none.
TEST(RcRequester, TimeoutZeroNeverEnds) {
    Probe p({.timeout = 0});
    p.lose = [](const Flight&) { return true; };
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 8));
    p.drive();
    EXPECT_EQ(p.sent.size(), 1U);
    EXPECT_TRUE(p.completions(0).empty());
    EXPECT_EQ(p.ends[0].state(), QpState::kRts);
}

// 9.9.2: progress resets the retry counter.
TEST(RcRequester, ProgressReloadsTheRetryCounter) {
    Probe p({.window = 1, .retry_cnt = 1});
    int n = 0;
    p.lose = [&](const Flight& f) { return f.to == 1 && n++ % 2 == 0; };
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 4096));
    p.drive();
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kSuccess);
    EXPECT_EQ(p.count(0, Counted::kTimeout), 16U);
}

// 9.7.5.2.8: the requester waits as long as the NAK says.
TEST(RcRequester, RnrNakWaitsItsTime) {
    Probe p({.min_rnr_timer = 12});
    p.post(0, p.request(0, WrOpcode::kSend, 0, 8));
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 8));
    p.drive_while([&] { return p.count(1, Counted::kNotReady) == 0; });
    const std::uint64_t refused_ns = p.now_ns;
    p.ends[1].receive(1, 100, 8);
    p.drive();
    EXPECT_EQ(p.psns_to(1), (Psns{0, 1, 0, 1}));
    EXPECT_GE(p.now_ns - refused_ns, 640'000U);
    EXPECT_EQ(p.completions(0).size(), 2U);
    EXPECT_EQ(p.count(0, Counted::kTimeout), 0U);
}

// 9.7.5.2.8: the requester tries again as often as rnr_retry says.
TEST(RcRequester, RnrRetriesAreCounted) {
    Probe p({.rnr_retry = 2});
    p.post(0, p.request(0, WrOpcode::kSend, 0, 8));
    p.drive();
    EXPECT_EQ(p.psns_to(1), (Psns{0, 0, 0}));
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kRnrRetryExcErr);
    EXPECT_EQ(p.ends[0].state(), QpState::kErr);
    EXPECT_EQ(p.ends[1].state(), QpState::kRts);  // The responder is not affected.
}

// 9.7.5.2.8: an rnr_retry of seven means for ever.
TEST(RcRequester, SevenRnrRetriesNeverEnd) {
    Probe p({.rnr_retry = 7});
    p.post(0, p.request(0, WrOpcode::kSend, 0, 8));
    p.drive_while([&] { return p.count(1, Counted::kNotReady) < 100; });
    EXPECT_TRUE(p.completions(0).empty());
    p.ends[1].receive(1, 100, 8);
    p.drive();
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kSuccess);
}

// 9.9.2: the retry counter and the RNR retry counter are separate.
TEST(RcRequester, LossesBetweenRnrNaksDoNotAddUp) {
    Probe p({.retry_cnt = 1, .rnr_retry = 7});
    int n = 0;
    p.lose = [&](const Flight& f) { return f.to == 1 && n++ % 2 == 0; };
    p.post(0, p.request(0, WrOpcode::kSend, 0, 8));
    p.drive_while([&] { return p.count(1, Counted::kNotReady) < 20; });
    EXPECT_TRUE(p.completions(0).empty());
    EXPECT_GE(p.count(0, Counted::kTimeout), 19U);
    p.ends[1].receive(1, 100, 8);
    p.drive();
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kSuccess);
}

// 9.7.6: only the missing part of a READ's response is requested again.
TEST(RcRequester, LostReadResponseAsksForTheRest) {
    Probe p({.psn = 50});
    p.lose = lose_psn(0, 52);
    p.post(0, p.request(0, WrOpcode::kRead, 1000, 1100));
    p.drive();
    const auto asked = p.sent_to(1);
    ASSERT_EQ(asked.size(), 2U);
    EXPECT_EQ(asked[1].headers.bth.psn, Psn{52});
    EXPECT_EQ(asked[1].headers.reth.va, p.ends[1].addr(1000 + 512));
    EXPECT_EQ(asked[1].headers.reth.dma_len, 1100U - 512);
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kSuccess);
    EXPECT_TRUE(p.same(0, 1000, 1, 1000, 1100));
}

// 9.7.6: an answer to a request after a READ shows that the READ's response was lost.
TEST(RcRequester, LaterAcknowledgementMeansALostReadResponse) {
    Probe p;
    p.lose = lose_psn(0, 0);
    p.post(0, p.request(0, WrOpcode::kRead, 0, 100));
    p.post(0, p.request(0, WrOpcode::kWrite, 512, 100));
    p.drive();
    EXPECT_EQ(p.count(0, Counted::kTimeout), 0U);
    EXPECT_EQ(p.operations_to(1), (Ops{kReadRequest, kWriteOnly, kReadRequest, kWriteOnly}));
    const auto done = p.completions(0);
    ASSERT_EQ(done.size(), 2U);
    EXPECT_EQ(done[0].opcode, WcOpcode::kRdmaRead);
}

// 9.5: a fenced request waits for the READs and atomics before it.
TEST(RcRequester, FenceWaitsForReads) {
    Probe p;
    p.post(0, p.request(0, WrOpcode::kRead, 0, 100));
    WorkRequest write = p.request(0, WrOpcode::kWrite, 0, 100);
    write.flags |= kSendFence;
    p.post(0, write);
    p.drive();
    ASSERT_EQ(p.sent.size(), 4U);
    EXPECT_EQ(p.operation(p.sent[1]), kReadResponseOnly);
    EXPECT_EQ(p.operation(p.sent[2]), kWriteOnly);
}

// 9.4.4: no more READs and atomics are under way than the responder has resources for.
TEST(RcRequester, KeepsToTheNumberOfReadsThatWasAgreedOn) {
    Probe p({.rd_atomic = 2});
    for (int i = 0; i < 6; ++i) {
        p.post(0, p.request(0, i % 2 == 0 ? WrOpcode::kRead : WrOpcode::kFetchAdd, 64, 8));
    }
    int outstanding = 0;
    int most = 0;
    p.lose = [&](const Flight& f) {
        outstanding += f.to == 1 ? 1 : -1;
        most = std::max(most, outstanding);
        return false;
    };
    p.drive();
    EXPECT_EQ(most, 2);
    EXPECT_EQ(p.completions(0).size(), 6U);
}

TEST(RcRequester, ReadWithoutResourcesFails) {
    Probe p({.rd_atomic = 0});
    p.post(0, p.request(0, WrOpcode::kRead, 0, 8));
    p.drive();
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kLocQpOpErr);
}

// 9.7.7.2: without a credit the requester sends one packet, and the next when it is answered.
TEST(RcRequester, WithoutCreditsOnlyOnePacketGoesOut) {
    Probe p;
    p.ends[1].receive(1, 0, 1024);
    p.post(0, p.request(0, WrOpcode::kSend, 0, 8));
    p.drive();
    p.sent.clear();
    p.post(0, p.request(0, WrOpcode::kSend, 0, 1024));
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 8));
    p.drive_while([&] { return p.count(1, Counted::kNotReady) == 0; });
    EXPECT_EQ(p.operations_to(1), Ops{kSendFirst});
    EXPECT_TRUE(p.sent[0].headers.bth.a);
    p.ends[1].receive(2, 4096, 1024);
    p.drive();
    EXPECT_EQ(p.completions(0).size(), 3U);
    EXPECT_TRUE(p.same(0, 0, 1, 4096, 1024));
}

// 9.7.7.2: as many messages are under way as there are credits.
TEST(RcRequester, CreditsLetMessagesGoTogether) {
    Probe p;
    for (std::uint64_t i = 0; i < 4; ++i) {
        p.ends[1].receive(i, 0, 8);
    }
    p.post(0, p.request(0, WrOpcode::kSend, 0, 8));
    p.drive();
    p.sent.clear();
    for (int i = 0; i < 3; ++i) {
        p.post(0, p.request(0, WrOpcode::kSend, 0, 8));
    }
    p.drive_while([&] { return p.sent_to(0).empty(); });
    EXPECT_EQ(p.sent_to(1).size(), 3U);
}

// 9.7.6: a response to no request is dropped.
TEST(RcRequester, ResponseToNoRequestIsDropped) {
    Probe p({.psn = 10});
    p.inject(0, p.headers(0, kAcknowledge, 10));
    p.inject(0, p.headers(0, kReadResponseOnly, 10));
    p.inject(0, p.headers(0, kAtomicAcknowledge, 9));
    EXPECT_EQ(p.count(0, Counted::kGhost), 3U);
    p.lose = [](const Flight&) { return true; };
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 8));
    p.drive_while([&] { return p.sent.empty(); });
    p.inject(0, p.headers(0, kAcknowledge, 11));
    EXPECT_EQ(p.count(0, Counted::kGhost), 4U);
    EXPECT_TRUE(p.completions(0).empty());
    p.inject(0, p.headers(0, kAcknowledge, 10));
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kSuccess);
}

// 9.9.2: a response that is not possible ends the connection.
TEST(RcRequester, ResponseOfTheWrongLengthIsBad) {
    Probe p;
    p.lose = [](const Flight& f) { return f.to == 0; };
    p.post(0, p.request(0, WrOpcode::kRead, 0, 100));
    p.drive_while([&] { return p.sent.empty(); });
    p.inject(0, p.headers(0, kReadResponseOnly, 0), std::vector<std::uint8_t>(99));
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kBadRespErr);
    EXPECT_EQ(p.ends[0].state(), QpState::kErr);
}

// 9.9.2: a response must end exactly where its READ ends.
TEST(RcRequester, ResponseThatEndsTooEarlyOrTooLateIsBad) {
    for (const Operation op : {kReadResponseOnly, kReadResponseLast}) {
        Probe p;
        p.lose = [](const Flight& f) { return f.to == 0; };
        p.post(0, p.request(0, WrOpcode::kRead, 0, 512));
        p.drive_while([&] { return p.sent.empty(); });
        p.inject(0, p.headers(0, op, 0), std::vector<std::uint8_t>(256));
        EXPECT_EQ(p.only_completion(0).status, WcStatus::kBadRespErr);
    }
    for (const Operation op : {kReadResponseFirst, kReadResponseMiddle}) {
        Probe p;
        p.lose = [](const Flight& f) { return f.to == 0; };
        p.post(0, p.request(0, WrOpcode::kRead, 0, 256));
        p.drive_while([&] { return p.sent.empty(); });
        p.inject(0, p.headers(0, op, 0), std::vector<std::uint8_t>(256));
        EXPECT_EQ(p.only_completion(0).status, WcStatus::kBadRespErr);
    }
}

// 9.7.6: only the kind of answer that a request asks for answers it.
TEST(RcRequester, ResponseToAnotherKindOfRequestIsDropped) {
    Probe p;
    p.lose = [](const Flight& f) { return f.to == 0; };
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 100));
    p.drive_while([&] { return p.sent.empty(); });
    p.inject(0, p.headers(0, kReadResponseOnly, 0), std::vector<std::uint8_t>(100));
    p.inject(0, p.headers(0, kAtomicAcknowledge, 0));
    EXPECT_EQ(p.count(0, Counted::kBadResponse), 2U);
    EXPECT_TRUE(p.completions(0).empty());
}

// 9.7.5: an acknowledgement with a reserved code is dropped.
TEST(RcRequester, ReservedSyndromesAreDropped) {
    Probe p;
    p.lose = [](const Flight& f) { return f.to == 0; };
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 100));
    p.drive_while([&] { return p.sent.empty(); });
    std::uint64_t dropped = 0;
    for (unsigned bits = 0; bits < 256; ++bits) {
        const bool reserved = (bits & 0x80) != 0 || (bits >> 5 & 3) == 2 ||
                              ((bits >> 5 & 3) == 3 && (bits & 0x1F) >= 4);
        if (reserved) {
            auto h = p.headers(0, kAcknowledge, 0);
            h.aeth.syndrome = static_cast<std::uint8_t>(bits);
            p.inject(0, h);
            EXPECT_EQ(p.count(0, Counted::kBadResponse), ++dropped) << bits;
        }
    }
    EXPECT_TRUE(p.completions(0).empty());
    EXPECT_EQ(p.ends[0].state(), QpState::kRts);
}

// 10.8: a request that fails always has a completion.
TEST(RcRequester, SuccessWithoutSignalIsSilentFailureIsNot) {
    Probe p;
    WorkRequest quiet = p.request(0, WrOpcode::kWrite, 0, 8);
    quiet.flags = 0;
    p.post(0, quiet);
    p.drive();
    EXPECT_TRUE(p.completions(0).empty());
    quiet.rkey += 1;
    quiet.wr_id = 5;
    p.post(0, quiet);
    p.drive();
    const Completion done = p.only_completion(0);
    EXPECT_EQ(done.status, WcStatus::kRemAccessErr);
    EXPECT_EQ(done.wr_id, 5U);
}

// 10.3.1: requests behind a failed request are flushed, in order, and so are requests that are
// posted later.
TEST(RcRequester, FailureFlushesTheRestInOrder) {
    Probe p;
    p.ends[0].receive(77, 0, 8);
    for (std::uint64_t i = 0; i < 5; ++i) {
        WorkRequest wr = p.request(0, WrOpcode::kWrite, 0, 300);
        wr.wr_id = i;
        wr.rkey += i == 2 ? 1 : 0;
        p.post(0, wr);
    }
    p.drive();
    const auto done = p.completions(0);
    ASSERT_EQ(done.size(), 5U);
    for (std::uint64_t i = 0; i < 5; ++i) {
        EXPECT_EQ(done[i].wr_id, i);
        EXPECT_EQ(done[i].status, i < 2    ? WcStatus::kSuccess
                                  : i == 2 ? WcStatus::kRemAccessErr
                                           : WcStatus::kWrFlushErr);
    }
    EXPECT_EQ(p.only_completion(0, true).wr_id, 77U);
    EXPECT_EQ(p.post(0, p.request(0, WrOpcode::kSend, 0, 8)), PostError::kOk);
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kWrFlushErr);
    EXPECT_EQ(p.ends[0].receive(78, 0, 8), PostError::kOk);
    EXPECT_EQ(p.only_completion(0, true).status, WcStatus::kWrFlushErr);
}

// 9.9.2: completions keep the order of the requests, also of those that fail.
TEST(RcRequester, LocalErrorWaitsForThoseBefore) {
    Probe p;
    p.post(0, p.request(0, WrOpcode::kRead, 0, 2000));
    WorkRequest bad = p.request(0, WrOpcode::kWrite, 0, 8);
    const Sge wrong{p.ends[0].addr(0), 8, p.ends[0].key + 1};
    bad.sges = std::span(&wrong, 1);
    p.post(0, bad);
    p.drive();
    const auto done = p.completions(0);
    ASSERT_EQ(done.size(), 2U);
    EXPECT_EQ(done[0].status, WcStatus::kSuccess);
    EXPECT_EQ(done[1].status, WcStatus::kLocProtErr);
    EXPECT_EQ(p.sent_to(1).size(), 1U);
}

// 9.9.2: the requester itself finds errors of its own memory.
TEST(RcRequester, MemoryThatMayNotBeWrittenTakesNoRead) {
    Probe p;
    End& a = p.ends[0];
    const std::uint32_t key = a.memory.add_region(
        {.pd = kPd, .addr = a.addr(0), .length = 64, .access = kRemoteRead, .bytes = a.at(0)});
    WorkRequest read = p.request(0, WrOpcode::kRead, 0, 64);
    const Sge place{a.addr(0), 64, key};
    read.sges = std::span(&place, 1);
    p.post(0, read);
    p.drive();
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kLocProtErr);
    EXPECT_TRUE(p.sent.empty());
}

TEST(RcRequester, InlineDataIsTakenWhenPosted) {
    Probe p;
    std::vector<std::uint8_t> data(64, 3);
    WorkRequest wr = p.request(0, WrOpcode::kWrite, 0, 0);
    wr.flags |= kSendInline;
    wr.inline_data = data;
    EXPECT_EQ(p.post(0, wr), PostError::kOk);
    std::ranges::fill(data, std::uint8_t{4});
    p.drive();
    EXPECT_TRUE(std::all_of(p.ends[1].at(0), p.ends[1].at(64), [](int b) { return b == 3; }));
    data.resize(65);
    wr.inline_data = data;
    EXPECT_EQ(p.post(0, wr), PostError::kInvalid);
}

TEST(RcRequester, FullQueueTakesNoMore) {
    Probe p({.max_wr = 2});
    EXPECT_EQ(p.post(0, p.request(0, WrOpcode::kWrite, 0, 8)), PostError::kOk);
    EXPECT_EQ(p.post(0, p.request(0, WrOpcode::kWrite, 0, 8)), PostError::kOk);
    EXPECT_EQ(p.post(0, p.request(0, WrOpcode::kWrite, 0, 8)), PostError::kFull);
    p.drive();
    EXPECT_EQ(p.completions(0).size(), 2U);
    EXPECT_EQ(p.post(0, p.request(0, WrOpcode::kWrite, 0, 8)), PostError::kOk);
}

// 10.3.1: a queue pair in SQD ends requests that were begun, begins none, and reports when it is
// done.
TEST(RcRequester, DrainingEndsWhatWasBegun) {
    Probe p({.window = 2});
    p.lose = lose_psn(1, 1);
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 1024));
    p.post(0, p.request(0, WrOpcode::kWrite, 2048, 8));
    p.drive_while([&] { return p.sent.size() < 2; });
    QpAttr attr;
    attr.state = QpState::kSqd;
    attr.sq_async_notify = 1;
    ASSERT_TRUE(
        p.ends[0].hca.modify_qp(p.ends[0].qpn, attr, qp_attr::kState | qp_attr::kEnSqdAsyncNotify));
    EXPECT_FALSE(p.has_event(0, AsyncKind::kSqDrained));
    p.drive();
    EXPECT_TRUE(p.has_event(0, AsyncKind::kSqDrained));
    EXPECT_EQ(p.completions(0).size(), 1U);
    attr.state = QpState::kRts;
    ASSERT_TRUE(p.ends[0].hca.modify_qp(p.ends[0].qpn, attr, qp_attr::kState));
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 8));
    p.drive();
    EXPECT_EQ(p.completions(0).size(), 2U);
}

TEST(RcRequester, ResetForgetsEverything) {
    Probe p;
    p.lose = [](const Flight&) { return true; };
    p.post(0, p.request(0, WrOpcode::kRead, 0, 8));
    p.drive_while([&] { return p.sent.empty(); });
    p.lose = nullptr;
    p.connect();
    p.post(0, p.request(0, WrOpcode::kRead, 0, 8));
    p.drive();
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kSuccess);
}

// 10.3.1: the send queue works from RTS on.
TEST(RcRequester, NothingIsPostedBeforeRts) {
    Probe p;
    QpAttr reset;
    p.ends[0].hca.modify_qp(p.ends[0].qpn, reset, qp_attr::kState);
    EXPECT_EQ(p.post(0, p.request(0, WrOpcode::kWrite, 0, 8)), PostError::kInvalid);
    p.to_init(0);
    p.to_rtr(0);
    EXPECT_EQ(p.post(0, p.request(0, WrOpcode::kWrite, 0, 8)), PostError::kInvalid);
    p.to_rts(0);
    EXPECT_EQ(p.post(0, p.request(0, WrOpcode::kWrite, 0, 8)), PostError::kOk);
}

// A message of 2^31 bytes in packets of 256 takes half of all PSNs.
#ifndef SOFTIB_SANITIZED
TEST(RcRequester, LongestMessageOfTheSmallestPacketsTravels) {
    Probe p({.memory_bytes = 1U << 31, .without_bytes = true});
    p.filter = nullptr;
    p.options.knobs.latency_ns = 10;
    p.options.knobs.packet_ns = 1;
    for (const WrOpcode opcode : {WrOpcode::kWrite, WrOpcode::kRead}) {
        p.post(0, p.request(0, opcode, 0, 1U << 31));
        p.post(0, p.request(0, WrOpcode::kRead, 0, 256));
        p.drive();
        const auto done = p.completions(0);
        ASSERT_EQ(done.size(), 2U);
        EXPECT_EQ(done[0].status, WcStatus::kSuccess);
        EXPECT_EQ(done[1].status, WcStatus::kSuccess);
    }
    EXPECT_EQ(p.count(0, Counted::kRetransmit), 0U);
}
#endif

}  // namespace
}  // namespace softib::transport
