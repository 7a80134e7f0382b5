// SPDX-License-Identifier: BSD-2-Clause
// Unreliable connections and datagrams, multicast.
// Clauses are of IBA vol. 1; a test without one is about a choice of ours.
#include "probe.h"

namespace softib::transport {
namespace {

using enum Operation;

constexpr std::uint32_t kGrhBytes = wire::Grh::kBytes;
constexpr Lid kGroupLid{0xC001};

PairOptions connection() {
    return {.type = QpType::kUc};
}
PairOptions datagram(bool global = false) {
    return {.type = QpType::kUd, .global = global};
}
Gid group_of(std::uint8_t number) {
    Gid gid;
    gid.bytes = {0xFF, 0x12, 0x40, 0x1B};
    gid.bytes[15] = number;
    return gid;
}

// 9.8.2: nothing is acknowledged; a request is done when it has left.
TEST(UcSender, IsDoneWhenItHasLeft) {
    Probe p(connection());
    p.lose = [](const Flight&) { return true; };
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 600));
    p.drive();
    EXPECT_EQ(p.operations_to(1), (std::vector{kWriteFirst, kWriteMiddle, kWriteLast}));
    EXPECT_FALSE(p.sent[2].headers.bth.a);
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kSuccess);
}

// 9.8.2: UC has SEND and WRITE only.
TEST(UcSender, KnowsNoReadsNorAtomics) {
    Probe p(connection());
    for (const WrOpcode opcode :
         {WrOpcode::kRead, WrOpcode::kCompareSwap, WrOpcode::kFetchAdd, WrOpcode::kSendInv}) {
        EXPECT_EQ(p.post(0, p.request(0, opcode, 0, 8)), PostError::kInvalid);
    }
}

// 9.8.2: a message with a packet missing is given up, and its receive request used for the next.
TEST(UcReceiver, GapGivesTheMessageUp) {
    Probe p(connection());
    p.ends[1].receive(1, 0, 1024);
    p.lose = lose_psn(1, 1);
    p.post(0, p.request(0, WrOpcode::kSend, 0, 1024));
    p.post(0, p.request(0, WrOpcode::kSend, 2048, 700));
    p.drive();
    EXPECT_EQ(p.completions(0).size(), 2U);
    const Completion done = p.only_completion(1, true);
    EXPECT_EQ(done.wr_id, 1U);
    EXPECT_EQ(done.byte_len, 700U);
    EXPECT_TRUE(p.same(0, 2048, 1, 0, 700));
    EXPECT_EQ(p.count(1, Counted::kLostMessage), 1U);
    EXPECT_TRUE(p.sent_to(0).empty());
}

// 9.8.2: a message without its last packet is given up when the next message begins.
TEST(UcReceiver, LostEndIsNoticedByTheNextMessage) {
    Probe p(connection());
    p.ends[1].receive(1, 0, 1024);
    p.lose = lose_psn(1, 1);
    p.post(0, p.request(0, WrOpcode::kSend, 0, 512));
    p.post(0, p.request(0, WrOpcode::kSend, 2048, 8));
    p.drive();
    EXPECT_EQ(p.only_completion(1, true).byte_len, 8U);
}

// 9.8.2: there is no RNR NAK.
TEST(UcReceiver, WithoutAReceiveTheMessageIsLost) {
    Probe p(connection());
    p.post(0, p.request(0, WrOpcode::kSend, 0, 600));
    p.drive();
    p.ends[1].receive(1, 0, 1024);
    p.post(0, p.request(0, WrOpcode::kSend, 0, 300));
    p.drive();
    EXPECT_EQ(p.only_completion(1, true).byte_len, 300U);
    EXPECT_EQ(p.count(1, Counted::kNotReady), 1U);
    EXPECT_EQ(p.ends[1].state(), QpState::kRts);
}

// 9.8.2: UC has no NAK.
TEST(UcReceiver, ForbiddenWriteIsLostSilently) {
    Probe p(connection());
    const Bytes before = p.ends[1].bytes;
    WorkRequest write = p.request(0, WrOpcode::kWrite, 0, 600);
    write.rkey += 1;
    p.post(0, write);
    p.drive();
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kSuccess);
    EXPECT_EQ(p.ends[1].bytes, before);
    EXPECT_EQ(p.count(1, Counted::kAccessViolation), 1U);
    EXPECT_EQ(p.ends[1].state(), QpState::kRts);
    EXPECT_TRUE(p.sent_to(0).empty());
}

// 9.9.6.3, class D: a message that is too long is dropped, its receive request used for the next.
TEST(UcReceiver, MessageLongerThanTheReceiveIsLost) {
    // The second packet, or a later one, shows that the message is too long.
    for (const std::uint32_t bytes : {300U, 1000U}) {
        Probe p(connection());
        p.ends[1].receive(1, 0, bytes - 1);
        p.post(0, p.request(0, WrOpcode::kSend, 0, bytes));
        p.post(0, p.request(0, WrOpcode::kSend, 2048, 270));
        p.drive();
        EXPECT_EQ(p.completions(0).size(), 2U);
        const Completion done = p.only_completion(1, true);
        EXPECT_EQ(done.status, WcStatus::kSuccess);
        EXPECT_EQ(done.byte_len, 270U);
        EXPECT_TRUE(p.same(0, 2048, 1, 0, 270));
        EXPECT_EQ(p.count(1, Counted::kLostMessage), 1U);
        EXPECT_EQ(p.ends[1].state(), QpState::kRts);
    }
}

// 9.9.6.3, class E: a shared queue takes no request back, so the request ends in an error.
TEST(UcReceiver, MessageLongerThanASharedReceiveUsesItUp) {
    PairOptions o = connection();
    o.srq = true;
    Probe p(o);
    p.ends[1].receive(1, 0, 999);
    p.ends[1].receive(2, 0, 1000);
    p.post(0, p.request(0, WrOpcode::kSend, 0, 1000));
    p.post(0, p.request(0, WrOpcode::kSend, 2048, 270));
    p.drive();
    const auto done = p.completions(1, true);
    ASSERT_EQ(done.size(), 2U);
    EXPECT_EQ(done[0].wr_id, 1U);
    EXPECT_EQ(done[0].status, WcStatus::kLocLenErr);
    EXPECT_EQ(done[1].wr_id, 2U);
    EXPECT_EQ(done[1].status, WcStatus::kSuccess);
    EXPECT_TRUE(p.same(0, 2048, 1, 0, 270));
    EXPECT_EQ(p.ends[1].state(), QpState::kRts);
}

// 9.9.6.3, class E: the request of a shared queue ends in an error also where a packet in the
// middle, or the last one, is missing.
TEST(UcReceiver, GapEndsTheSharedReceiveInAnError) {
    // The next packet, or the next message, shows the gap.
    for (const std::uint32_t lost : {1U, 3U}) {
        PairOptions o = connection();
        o.srq = true;
        Probe p(o);
        p.ends[1].receive(1, 0, 1024);
        p.ends[1].receive(2, 0, 1024);
        p.lose = lose_psn(1, lost);
        p.post(0, p.request(0, WrOpcode::kSend, 0, 1024));
        p.post(0, p.request(0, WrOpcode::kSend, 2048, 700));
        p.drive();
        const auto done = p.completions(1, true);
        ASSERT_EQ(done.size(), 2U);
        EXPECT_EQ(done[0].wr_id, 1U);
        EXPECT_EQ(done[0].status, WcStatus::kRemInvReqErr);
        EXPECT_EQ(done[1].wr_id, 2U);
        EXPECT_EQ(done[1].status, WcStatus::kSuccess);
        EXPECT_EQ(done[1].byte_len, 700U);
        EXPECT_TRUE(p.same(0, 2048, 1, 0, 700));
        EXPECT_EQ(p.count(1, Counted::kLostMessage), 1U);
        EXPECT_EQ(p.ends[1].state(), QpState::kRts);
        EXPECT_TRUE(p.sent_to(0).empty());
    }
}

// 9.9.6.3, class A: memory that the receiver may not use is an error of the receiver, and stops it.
TEST(UcReceiver, ReceiveIntoForbiddenMemoryStopsTheReceiverOnly) {
    Probe p(connection());
    const Sge wrong{p.ends[1].addr(0), 64, 1};
    ASSERT_EQ(p.ends[1].hca.post_receive(p.ends[1].qpn, 1, std::span(&wrong, 1)), PostError::kOk);
    p.post(0, p.request(0, WrOpcode::kSend, 0, 11));
    p.drive();
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kSuccess);
    EXPECT_EQ(p.only_completion(1, true).status, WcStatus::kLocProtErr);
    EXPECT_EQ(p.ends[1].state(), QpState::kErr);
    EXPECT_EQ(p.ends[0].state(), QpState::kRts);
}

// 10.3.1.6: an error stops the send queue, not the receive queue.
TEST(UcSender, ErrorStopsTheSendQueueOnly) {
    Probe p(connection());
    WorkRequest bad = p.request(0, WrOpcode::kWrite, 0, 8);
    const Sge wrong{p.ends[0].addr(0), 8, 1};
    bad.sges = std::span(&wrong, 1);
    p.post(0, bad);
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 8));
    p.drive();
    const auto done = p.completions(0);
    ASSERT_EQ(done.size(), 2U);
    EXPECT_EQ(done[0].status, WcStatus::kLocProtErr);
    EXPECT_EQ(done[1].status, WcStatus::kWrFlushErr);
    EXPECT_EQ(p.ends[0].state(), QpState::kSqe);
    p.ends[0].receive(1, 0, 64);
    p.post(1, p.request(1, WrOpcode::kSend, 0, 64));
    p.drive();
    EXPECT_EQ(p.only_completion(0, true).status, WcStatus::kSuccess);
    QpAttr attr;
    attr.state = QpState::kRts;
    ASSERT_TRUE(p.ends[0].hca.modify_qp(p.ends[0].qpn, attr, qp_attr::kState));
    p.post(0, p.request(0, WrOpcode::kWrite, 0, 8));
    p.drive();
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kSuccess);
}

// 9.8.3: a datagram is one packet, received behind 40 bytes for a GRH.
TEST(Ud, DatagramLeavesRoomForTheGrh) {
    Probe p(datagram());
    p.ends[1].receive(1, 1000, 200);
    WorkRequest send = p.request(0, WrOpcode::kSendImm, 0, 100);
    send.imm_or_rkey = 9;
    p.post(0, send);
    p.drive();
    const Completion done = p.only_completion(1, true);
    EXPECT_EQ(done.byte_len, 140U);
    EXPECT_EQ(done.src_qp, p.ends[0].qpn);
    EXPECT_EQ(done.slid, p.ends[0].lid);
    EXPECT_EQ(done.flags, kWcWithImm);
    EXPECT_EQ(done.imm_or_rkey, 9U);
    EXPECT_TRUE(p.same(0, 0, 1, 1000 + kGrhBytes, 100));
}

// 9.8.3: the receiver sees the GRH of a datagram.
TEST(Ud, GrhArrivesAsItWasSent) {
    Probe p(datagram(true));
    p.ends[1].receive(1, 1000, 200);
    WorkRequest send = p.request(0, WrOpcode::kSend, 0, 101);
    send.av.hop_limit = 3;
    send.av.traffic_class = 0x5A;
    send.av.flow_label = 0x12345;
    p.post(0, send);
    p.drive();
    EXPECT_EQ(p.only_completion(1, true).flags, kWcGrh);
    const auto grh =
        wire::parse<wire::Grh>(std::span<const std::uint8_t>(p.ends[1].at(1000), kGrhBytes));
    ASSERT_TRUE(grh);
    EXPECT_EQ(grh->sgid, p.ends[0].gid);
    EXPECT_EQ(grh->dgid, p.ends[1].gid);
    EXPECT_EQ(grh->hop_lmt, 3U);
    EXPECT_EQ(grh->tclass, 0x5AU);
    EXPECT_EQ(grh->flow_label, 0x12345U);
    EXPECT_EQ(grh->pay_len, 12U + 8 + 104 + 4);
}

// Annex A17, 17.4.5.1: on Ethernet a completion tells what kind of packet it was.
TEST(Ud, OnEthernetTheCompletionTellsTheKindOfPacket) {
    constexpr std::uint8_t kByIpv6 = 9;
    constexpr std::uint8_t kByIpv4 = 10;
    for (const std::uint8_t kind : {kByIpv6, kByIpv4}) {
        Probe p(datagram(true));
        for (End& end : p.ends) {
            Port port = end.hca.port();
            port.link_layer = LinkLayer::kEthernet;
            if (kind == kByIpv4) {
                end.gid = wire::ipv4_gid(0x0A000001 + end.lid.value);
                port.gids = {end.gid};
            }
            end.hca.set_port(port);
        }
        p.ends[1].receive(1, 0, 200);
        p.post(0, p.request(0, WrOpcode::kSend, 0, 8));
        p.drive();
        EXPECT_EQ(p.only_completion(1, true).sl, kind);
    }
}

// 10.2.5: a datagram with another Q_Key is dropped and counted; with the high bit set, the sender's
// own Q_Key is used.
TEST(Ud, QKeyMustBeTheReceivers) {
    Probe p(datagram());
    p.ends[1].receive(1, 0, 200);
    WorkRequest send = p.request(0, WrOpcode::kSend, 0, 8);
    send.remote_qkey = kQKey.value + 1;
    p.post(0, send);
    p.drive();
    EXPECT_TRUE(p.completions(1, true).empty());
    EXPECT_EQ(p.count(1, Counted::kBadQKey), 1U);
    send.remote_qkey = 0x80000001;
    p.post(0, send);
    p.drive();
    EXPECT_EQ(p.completions(1, true).size(), 1U);
    EXPECT_EQ(p.completions(0).size(), 2U);
}

// 9.8.3: a datagram is one packet.
TEST(Ud, DatagramLongerThanThePortsMtuIsALocalError) {
    Probe p(datagram());
    p.post(0, p.request(0, WrOpcode::kSend, 0, 4097));
    p.drive();
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kLocLenErr);
    EXPECT_EQ(p.ends[0].state(), QpState::kSqe);
    EXPECT_TRUE(p.sent.empty());
}

// 9.8.3: a datagram without a receive request is dropped.
TEST(Ud, WithoutAReceiveItIsLost) {
    Probe p(datagram());
    p.post(0, p.request(0, WrOpcode::kSend, 0, 8));
    p.drive();
    EXPECT_EQ(p.only_completion(0).status, WcStatus::kSuccess);
    EXPECT_EQ(p.count(1, Counted::kNobodyListens), 1U);
    EXPECT_EQ(p.ends[1].state(), QpState::kRts);
}

// 9.8.3: a receive request needs 40 bytes more than the payload. 9.9.6.3, class D: a datagram that
// is too long is dropped, and the receive request waits for the next.
TEST(Ud, ReceiveMustHoldTheGrhToo) {
    Probe p(datagram());
    const Bytes before = p.ends[1].bytes;
    p.ends[1].receive(1, 0, 47);
    p.post(0, p.request(0, WrOpcode::kSend, 0, 8));
    p.drive();
    EXPECT_TRUE(p.completions(1, true).empty());
    EXPECT_EQ(p.count(1, Counted::kLostMessage), 1U);
    EXPECT_EQ(p.ends[1].bytes, before);
    EXPECT_EQ(p.ends[1].state(), QpState::kRts);
    p.post(0, p.request(0, WrOpcode::kSend, 0, 7));
    p.drive();
    EXPECT_EQ(p.only_completion(1, true).byte_len, 47U);
}

// 9.9.6.3, class E: a shared queue takes no request back, so the request ends in an error.
TEST(Ud, DatagramLongerThanASharedReceiveUsesItUp) {
    PairOptions o = datagram();
    o.srq = true;
    Probe p(o);
    p.ends[1].receive(5, 0, 47);
    p.ends[1].receive(6, 0, 64);
    p.post(0, p.request(0, WrOpcode::kSend, 0, 8));
    p.post(0, p.request(0, WrOpcode::kSend, 0, 8));
    p.drive();
    const auto done = p.completions(1, true);
    ASSERT_EQ(done.size(), 2U);
    EXPECT_EQ(done[0].wr_id, 5U);
    EXPECT_EQ(done[0].status, WcStatus::kLocLenErr);
    EXPECT_EQ(done[1].wr_id, 6U);
    EXPECT_EQ(done[1].status, WcStatus::kSuccess);
    EXPECT_EQ(p.ends[1].state(), QpState::kRts);
}

// 9.8.3: UD has SEND only.
TEST(Ud, OnlySends) {
    Probe p(datagram());
    EXPECT_EQ(p.post(0, p.request(0, WrOpcode::kWrite, 0, 8)), PostError::kInvalid);
    EXPECT_EQ(p.post(0, p.request(0, WrOpcode::kRead, 0, 8)), PostError::kInvalid);
    EXPECT_EQ(p.post(0, p.request(0, WrOpcode::kBindMw, 0, 0)), PostError::kInvalid);
}

TEST(Ud, SharedReceiveQueue) {
    PairOptions o = datagram();
    o.srq = true;
    Probe p(o);
    p.ends[1].receive(5, 0, 64);
    p.post(0, p.request(0, WrOpcode::kSend, 0, 8));
    p.drive();
    EXPECT_EQ(p.only_completion(1, true).wr_id, 5U);
}

struct MulticastPair : Probe {
    MulticastPair() : Probe(datagram(true)) {}
    WorkRequest to_group(int from, std::uint8_t number) {
        WorkRequest wr = request(from, WrOpcode::kSend, 0, 16);
        wr.av.dlid = kGroupLid;
        wr.av.dgid = group_of(number);
        wr.remote_qpn = kQpnMulticast.value;
        return wr;
    }
    Qpn second_qp(int end) {
        QpInit init{.type = QpType::kUd,
                    .pd = kPd,
                    .send_cq = ends[end].send_cq,
                    .recv_cq = ends[end].recv_cq,
                    .max_send_wr = 4,
                    .max_recv_wr = 4};
        const Qpn qpn = *ends[end].hca.create_qp(init);
        QpAttr attr;
        attr.port = 1;
        attr.qkey = kQKey.value;
        using namespace qp_attr;
        attr.state = QpState::kInit;
        EXPECT_TRUE(ends[end].hca.modify_qp(qpn, attr, kState | kPkeyIndex | kPort | kQkey));
        attr.state = QpState::kRtr;
        EXPECT_TRUE(ends[end].hca.modify_qp(qpn, attr, kState));
        const Sge place = ends[end].sge(8192, 64);
        EXPECT_EQ(ends[end].hca.post_receive(qpn, 2, std::span(&place, 1)), PostError::kOk);
        return qpn;
    }
};

// 10.5: every attached queue pair gets a copy, on the sender's HCA too, but not the sender.
TEST(Multicast, ReachesEveryMemberButTheSender) {
    MulticastPair p;
    const Qpn other[2]{p.second_qp(0), p.second_qp(1)};
    for (int end : {0, 1}) {
        p.ends[end].receive(1, 4096, 64);
        EXPECT_TRUE(p.ends[end].hca.attach(p.ends[end].qpn, group_of(1), kGroupLid));
        EXPECT_TRUE(p.ends[end].hca.attach(other[end], group_of(1), kGroupLid));
    }
    p.post(0, p.to_group(0, 1));
    p.drive();
    EXPECT_EQ(p.only_completion(0, true).qpn, other[0]);
    EXPECT_EQ(p.completions(1, true).size(), 2U);
    EXPECT_TRUE(p.same(0, 0, 1, 4096 + kGrhBytes, 16));
    EXPECT_TRUE(p.same(0, 0, 0, 8192 + kGrhBytes, 16));
    EXPECT_EQ(p.sent.size(), 1U);
}

// 10.5: a queue pair is attached by the GID of the group.
TEST(Multicast, OtherGroupsGetNoCopy) {
    MulticastPair p;
    p.ends[1].receive(1, 4096, 64);
    EXPECT_TRUE(p.ends[1].hca.attach(p.ends[1].qpn, group_of(1), kGroupLid));
    p.post(0, p.to_group(0, 2));
    p.drive();
    EXPECT_TRUE(p.completions(1, true).empty());
    EXPECT_EQ(p.count(1, Counted::kNobodyListens), 1U);
    EXPECT_TRUE(p.ends[1].hca.detach(p.ends[1].qpn, group_of(1), kGroupLid));
    EXPECT_FALSE(p.ends[1].hca.detach(p.ends[1].qpn, group_of(1), kGroupLid));
    p.post(0, p.to_group(0, 1));
    p.drive();
    EXPECT_TRUE(p.completions(1, true).empty());
}

// 10.5: a queue pair gets one copy, however often it is attached.
TEST(Multicast, AttachedTwiceHearsOnce) {
    MulticastPair p;
    p.ends[1].receive(1, 4096, 64);
    p.ends[1].receive(2, 4096, 64);
    EXPECT_TRUE(p.ends[1].hca.attach(p.ends[1].qpn, group_of(1), kGroupLid));
    EXPECT_TRUE(p.ends[1].hca.attach(p.ends[1].qpn, group_of(1), Lid{0xC002}));
    p.post(0, p.to_group(0, 1));
    p.drive();
    EXPECT_EQ(p.completions(1, true).size(), 1U);
}

// 9.6: the keys of every copy are checked.
TEST(Multicast, QKeyAndPKeyCountHereToo) {
    MulticastPair p;
    p.ends[1].receive(1, 4096, 64);
    EXPECT_TRUE(p.ends[1].hca.attach(p.ends[1].qpn, group_of(1), kGroupLid));
    WorkRequest wr = p.to_group(0, 1);
    wr.remote_qkey = 1;
    p.post(0, wr);
    p.drive();
    EXPECT_EQ(p.count(1, Counted::kBadQKey), 1U);
    EXPECT_TRUE(p.completions(1, true).empty());
}

TEST(Multicast, AnAttachmentThatIsInAFullTableIsMadeAgain) {
    const HcaLimits limits;
    MulticastPair p;
    Hca& hca = p.ends[0].hca;
    for (std::uint32_t i = 0; i < limits.group_members; ++i) {
        const Lid lid{static_cast<std::uint16_t>(kGroupLid.value + i)};
        ASSERT_TRUE(hca.attach(p.ends[0].qpn, group_of(1), lid));
    }
    EXPECT_FALSE(hca.attach(p.ends[0].qpn, group_of(2), kGroupLid)) << "the table is full";
    EXPECT_TRUE(hca.attach(p.ends[0].qpn, group_of(1), kGroupLid));
}

TEST(Multicast, OnlyDatagramsAndGroupsAttach) {
    Probe rc;
    EXPECT_FALSE(rc.ends[0].hca.attach(rc.ends[0].qpn, group_of(1), kGroupLid));
    MulticastPair p;
    EXPECT_FALSE(p.ends[0].hca.attach(p.ends[0].qpn, p.ends[0].gid, kGroupLid));
    EXPECT_FALSE(p.ends[0].hca.attach(Qpn{0x777}, group_of(1), kGroupLid));
}

}  // namespace
}  // namespace softib::transport
