// SPDX-License-Identifier: BSD-2-Clause
// How an HCA answers a packet that a switch has marked, and what it does with such an answer.
// Clauses are of IBA vol. 1, annex A10.
#include "probe.h"

namespace softib::transport {
namespace {

using enum Operation;

/// Marks the packets to an end for which the predicate holds.
template <typename Predicate>
void mark(Probe& p, int to, Predicate predicate) {
    p.filter = [&p, to, predicate](Flight& flight) {
        if (flight.to == to && predicate(flight)) {
            flight.headers.bth.fecn = true;
        }
        p.sent.push_back(flight);
        return true;
    };
}

bool is_cnp(const Flight& flight) {
    return flight.headers.bth.opcode == wire::kCnpOpcode;
}

std::vector<Becn> becns(Probe& p, int end) {
    std::vector<Becn> all;
    while (const auto becn = p.ends[end].hca.poll_becn()) {
        all.push_back(*becn);
    }
    return all;
}

// A10.2.1.2: an acknowledgement that was asked for has the BECN bit.
TEST(CongestionNotice, IsInTheAcknowledgementThatIsDueAnyhow) {
    Probe p;
    mark(p, 1, [](const Flight& f) { return f.headers.bth.a; });
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 900));
    p.drive();
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kSuccess);
    const auto answers = p.sent_to(0);
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(Probe::operation(answers[0]), kAcknowledge);
    EXPECT_TRUE(answers[0].headers.bth.becn);
    EXPECT_EQ(becns(p, 0), (std::vector<Becn>{{p.ends[0].qpn, 0}}));
    EXPECT_TRUE(becns(p, 1).empty());
    EXPECT_EQ(p.count(0, Counted::kBecn), 1U);
    // The BECN is sent once.
    p.sent.clear();
    mark(p, 1, [](const Flight&) { return false; });
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 900));
    p.drive();
    EXPECT_FALSE(p.sent_to(0).back().headers.bth.becn);
}

// A10.2.1.2: a packet that asks for no answer gets a CNP.
TEST(CongestionNotice, IsAPacketOfItsOwnWhereNoAnswerIsDue) {
    Probe p;
    mark(p, 1, [](const Flight& f) { return !f.headers.bth.a; });
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 900));
    p.drive();
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kSuccess);
    auto answers = p.sent_to(0);
    // All but the last of four packets are marked.
    EXPECT_EQ(std::ranges::count_if(answers, is_cnp), 3);
    const Flight& cnp = *std::ranges::find_if(answers, is_cnp);
    EXPECT_TRUE(cnp.headers.bth.becn);
    EXPECT_FALSE(cnp.headers.bth.fecn);
    EXPECT_EQ(cnp.headers.bth.dest_qp, p.ends[0].qpn);
    EXPECT_EQ(cnp.headers.bth.psn, Psn{0});
    EXPECT_EQ(cnp.headers.bth.p_key, kPKeyDefaultFull);
    EXPECT_EQ(cnp.headers.lrh.dlid, p.ends[0].lid);
    EXPECT_EQ(cnp.headers.lrh.pkt_len, 6);  // LRH, BTH, ICRC.
    EXPECT_EQ(becns(p, 0).size(), 3U);
    EXPECT_EQ(p.count(0, Counted::kGhost) + p.count(0, Counted::kWrongService), 0U);
}

// A10.2.1.2: a marked READ response gets a CNP too.
TEST(CongestionNotice, TellsAResponderAboutItsReadResponses) {
    Probe p;
    mark(p, 0,
         [](const Flight& f) { return !is_cnp(f) && Probe::operation(f) == kReadResponseMiddle; });
    p.post(0, p.request(0, WrOpcode::kRead, 0, 900));
    p.drive();
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kSuccess);
    EXPECT_EQ(becns(p, 1), (std::vector<Becn>(2, {p.ends[1].qpn, 0})));
    EXPECT_TRUE(becns(p, 0).empty());
}

TEST(CongestionNotice, UnreliableConnectionsHaveTheCnp) {
    Probe p({.type = QpType::kUc});
    mark(p, 1, [](const Flight&) { return true; });
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 600));
    p.drive();
    EXPECT_EQ(p.sent_to(0).size(), 3U);
    EXPECT_TRUE(std::ranges::all_of(p.sent_to(0), is_cnp));
    EXPECT_EQ(becns(p, 0), (std::vector<Becn>(3, {p.ends[0].qpn, 0})));
}

TEST(CongestionNotice, GoesToTheQueuePairThatADatagramCameFrom) {
    Probe p({.type = QpType::kUd});
    p.ends[1].receive(1, 0, 400);
    mark(p, 1, [](const Flight&) { return true; });
    p.post(0, p.request(0, WrOpcode::kSend, 0, 200));
    p.drive();
    ASSERT_EQ(p.sent_to(0).size(), 1U);
    EXPECT_TRUE(is_cnp(p.sent_to(0)[0]));
    EXPECT_EQ(p.sent_to(0)[0].headers.bth.dest_qp, p.ends[0].qpn);
    EXPECT_EQ(becns(p, 0), (std::vector<Becn>{{p.ends[0].qpn, 0}}));
    EXPECT_EQ(p.count(0, Counted::kBadQKey), 0U);
}

TEST(CongestionNotice, OfStrangersIsNotHeard) {
    Probe p;
    wire::PacketHeaders cnp = p.headers(1, kSendFirst, 0);
    cnp.bth.opcode = wire::kCnpOpcode;
    cnp.bth.becn = true;
    for (const int lie : {0, 1, 2}) {
        wire::PacketHeaders forged = cnp;
        forged.lrh.slid = lie == 0 ? Lid{77} : forged.lrh.slid;
        forged.bth.p_key = lie == 1 ? PKey{0x8123} : forged.bth.p_key;
        forged.bth.dest_qp = lie == 2 ? Qpn{999} : forged.bth.dest_qp;
        p.inject(1, forged);
    }
    EXPECT_TRUE(becns(p, 1).empty());
    EXPECT_EQ(
        p.count(1, Counted::kBadLid) + p.count(1, Counted::kBadPKey) + p.count(1, Counted::kNoQp),
        3U);
    p.inject(1, cnp);
    EXPECT_EQ(becns(p, 1).size(), 1U);
}

TEST(CongestionNotice, MoreThanAnybodyReadsAreForgotten) {
    Probe p;
    wire::PacketHeaders cnp = p.headers(1, kSendFirst, 0);
    cnp.bth.opcode = wire::kCnpOpcode;
    for (int i = 0; i < 1000; ++i) {
        p.inject(1, cnp);
    }
    EXPECT_EQ(p.count(1, Counted::kBecn), 1000U);
    EXPECT_EQ(becns(p, 1).size(), 32U);
}

TEST(Hold, AQueuePairSendsNothingBeforeItsTime) {
    Probe p;
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 600));
    p.ends[0].hca.hold(p.ends[0].qpn, 50'000);
    Transmit out;
    EXPECT_FALSE(p.ends[0].hca.poll_transmit(out, 49'999));
    EXPECT_EQ(p.ends[0].hca.next_timeout_ns(), 50'000U);
    p.drive();
    EXPECT_GE(p.now_ns, 50'000U);
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kSuccess);
    EXPECT_EQ(p.count(0, Counted::kTimeout), 0U);
    EXPECT_TRUE(p.same(0, 0, 1, 0, 600));
}

}  // namespace
}  // namespace softib::transport
