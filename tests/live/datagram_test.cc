// SPDX-License-Identifier: BSD-2-Clause
// UD: headers, Q_Keys, and which datagrams are dropped and counted.
#include <arpa/inet.h>

#include <cstring>

#include "verbs_rig.h"

namespace softib::test {
namespace {

TEST(Ud, PayloadFollowsTheRouteHeader) {
    DatagramPair p;
    const auto before = p.b.memory.copy();
    ASSERT_EQ(p.b.receive(4, 1000, 300), 0);
    ASSERT_EQ(p.send().id(9).from(p.a.region(), 50, 100).post(p.a.qp.get()), 0);
    const ibv_wc sent = next(p.a.send_cq.get());
    EXPECT_EQ(sent.status, IBV_WC_SUCCESS);
    EXPECT_EQ(sent.wr_id, 9U);
    const ibv_wc got = next(p.b.recv_cq.get());
    EXPECT_EQ(got.status, IBV_WC_SUCCESS);
    EXPECT_EQ(got.wr_id, 4U);
    EXPECT_EQ(got.byte_len, 100 + kGrh);
    EXPECT_EQ(got.src_qp, p.a.qp->qp_num);
    EXPECT_EQ(got.slid, lid_of(p.a.context.get()));
    EXPECT_EQ(got.wc_flags & IBV_WC_GRH, 0U);
    EXPECT_TRUE(same(p.b.memory.span(1000 + kGrh, 100), p.a.memory.span(50, 100)));
    EXPECT_TRUE(same(p.b.memory.span(0, 1000), std::span(before).first(1000)));
    EXPECT_TRUE(same(p.b.memory.span(1140, 5000), std::span(before).subspan(1140, 5000)));
}

TEST(Ud, GlobalRouteHeaderIsWritten) {
    DatagramPair p({}, true);
    ASSERT_EQ(p.b.receive(4, 0, 300), 0);
    ASSERT_EQ(p.send().from(p.a.region(), 0, 10).post(p.a.qp.get()), 0);
    ibv_wc got = next(p.b.recv_cq.get());
    EXPECT_NE(got.wc_flags & IBV_WC_GRH, 0U);
    ibv_grh grh{};
    std::memcpy(&grh, p.b.memory.data(), sizeof grh);
    const std::uint32_t word = ntohl(grh.version_tclass_flow);
    EXPECT_EQ(word >> 28, 6U);
    EXPECT_EQ((word >> 20) & 0xFF, 0x12U);
    EXPECT_EQ(word & 0xFFFFF, 0x34567U);
    EXPECT_EQ(grh.next_hdr, 0x1B);
    EXPECT_EQ(grh.hop_limit, 5);
    const ibv_gid from = gid_of(p.a.context.get());
    const ibv_gid to = gid_of(p.b.context.get());
    EXPECT_EQ(std::memcmp(&grh.sgid, &from, sizeof from), 0);
    EXPECT_EQ(std::memcmp(&grh.dgid, &to, sizeof to), 0);
    // BTH, DETH, payload padded to words, ICRC.
    EXPECT_EQ(ntohs(grh.paylen), 12 + 8 + 12 + 4);
}

TEST(Ud, AnswerGoesBackByTheCompletion) {
    for (const bool global : {false, true}) {
        DatagramPair p({}, global);
        ASSERT_EQ(p.b.receive(4, 0, 300), 0);
        ASSERT_EQ(p.send().from(p.a.region(), 0, 10).post(p.a.qp.get()), 0);
        ibv_wc got = next(p.b.recv_cq.get());
        ibv_grh grh{};
        std::memcpy(&grh, p.b.memory.data(), sizeof grh);
        const Owned<ibv_ah> back(ibv_create_ah_from_wc(p.b.pd.get(), &got, &grh, 1));
        ASSERT_NE(back, nullptr);
        ASSERT_EQ(p.a.receive(5, 0, 300), 0);
        Send s(IBV_WR_SEND);
        s.from(p.b.region(), 1000, 20).datagram(back.get(), got.src_qp, p.a.options.qkey);
        ASSERT_EQ(s.post(p.b.qp.get()), 0);
        EXPECT_EQ(next(p.a.recv_cq.get()).byte_len, 20 + kGrh);
        EXPECT_TRUE(same(p.a.memory.span(kGrh, 20), p.b.memory.span(1000, 20)));
    }
}

TEST(Ud, ImmediateArrives) {
    DatagramPair p;
    ASSERT_EQ(p.b.receive(4, 0, 300), 0);
    ASSERT_EQ(p.send(IBV_WR_SEND_WITH_IMM).imm(htonl(5)).post(p.a.qp.get()), 0);
    const ibv_wc got = next(p.b.recv_cq.get());
    EXPECT_NE(got.wc_flags & IBV_WC_WITH_IMM, 0U);
    EXPECT_EQ(ntohl(got.imm_data), 5U);
    EXPECT_EQ(got.byte_len, kGrh);
}

TEST(Ud, HighBitSendsTheSendersOwnQKey) {
    DatagramPair p;
    ASSERT_EQ(p.b.receive(4, 0, 300), 0);
    Send s(IBV_WR_SEND);
    s.from(p.a.region(), 0, 10).datagram(p.to_b.get(), p.b.qp->qp_num, 0x80000000);
    ASSERT_EQ(s.post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.b.recv_cq.get()).status, IBV_WC_SUCCESS);
}

TEST(Ud, WrongQKeyIsDroppedAndCounted) {
    DatagramPair p;
    const auto before = p.b.memory.copy();
    const std::uint32_t counted = port_of(p.b.context.get()).qkey_viol_cntr;
    ASSERT_EQ(p.b.receive(4, 0, 300), 0);
    Send bad(IBV_WR_SEND);
    bad.from(p.a.region(), 0, 10).datagram(p.to_b.get(), p.b.qp->qp_num, 0x77);
    ASSERT_EQ(bad.post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS) << "a datagram is never answered";
    let_arrive();
    EXPECT_TRUE(same(p.b.memory.copy(), before));
    EXPECT_EQ(port_of(p.b.context.get()).qkey_viol_cntr, counted + 1);
    ASSERT_EQ(p.send().from(p.a.region(), 0, 11).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.b.recv_cq.get()).byte_len, 11 + kGrh) << "the next one is taken";
}

TEST(Ud, NobodyListensAndNothingHappens) {
    DatagramPair p;
    ASSERT_EQ(p.send().from(p.a.region(), 0, 10).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    Send nowhere(IBV_WR_SEND);
    nowhere.from(p.a.region(), 0, 10).datagram(p.to_b.get(), 0xABCDE, p.b.options.qkey);
    ASSERT_EQ(nowhere.post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(empty(p.b.recv_cq.get()));
}

TEST(Ud, ConnectedQueuePairTakesNoDatagrams) {
    DatagramPair p;
    Pair rc;
    ASSERT_EQ(rc.b.receive(1, 0, 300), 0);
    const auto before = rc.b.memory.copy();
    Send s(IBV_WR_SEND);
    s.from(p.a.region(), 0, 10).datagram(p.to_b.get(), rc.b.qp->qp_num, 0);
    ASSERT_EQ(s.post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(empty(rc.b.recv_cq.get()));
    EXPECT_TRUE(same(rc.b.memory.copy(), before));
}

TEST(Ud, MoreThanTheMtuIsALocalLengthError) {
    DatagramPair p;
    ASSERT_EQ(p.b.receive(1, 0, 8192), 0);
    const auto before = p.b.memory.copy();
    ASSERT_EQ(p.send().from(p.a.region(), 0, 4097).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_LOC_LEN_ERR);
    EXPECT_EQ(state_of(p.a.qp.get()), IBV_QPS_SQE);
    EXPECT_TRUE(same(p.b.memory.copy(), before));
    ASSERT_EQ(to_state(p.a.qp.get(), IBV_QPS_RTS), 0);
    ASSERT_EQ(p.send().from(p.a.region(), 0, 4096).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.b.recv_cq.get()).byte_len, 4096 + kGrh);
}

TEST(Ud, OnlySendsAreAllowed) {
    DatagramPair p;
    for (const auto opcode :
         {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND_WITH_INV}) {
        EXPECT_EQ(p.send(opcode).from(p.a.region(), 0, 8).post(p.a.qp.get()), EINVAL) << opcode;
    }
    EXPECT_EQ(Send(IBV_WR_SEND).from(p.a.region(), 0, 8).post(p.a.qp.get()), EINVAL) << "no handle";
}

TEST(Ud, EveryDestinationIsCounted) {
    DatagramPair p;
    constexpr std::uint16_t kLids = 300;  // No port has most of these LIDs.
    std::vector<Owned<ibv_ah>> handles;
    for (std::uint16_t lid = 1; lid <= kLids; ++lid) {
        ibv_ah_attr attr{};
        attr.dlid = lid;
        attr.port_num = 1;
        handles.emplace_back(ibv_create_ah(p.a.pd.get(), &attr));
        ASSERT_NE(handles.back(), nullptr);
    }
    const std::uint64_t sent = counter(0, "counters/port_xmit_packets");
    const std::uint64_t words = counter(0, "counters/port_xmit_data");
    const std::uint64_t arrived = counter(1, "counters/port_rcv_packets");
    constexpr int kRounds = 3;
    for (int round = 0; round < kRounds; ++round) {
        for (const auto& ah : handles) {
            Send s(IBV_WR_SEND);
            s.from(p.a.region(), 0, 10).datagram(ah.get(), p.b.qp->qp_num, p.b.options.qkey);
            ASSERT_EQ(s.post(p.a.qp.get()), 0);
            ASSERT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
        }
    }
    // On the packet path a datagram from a host to itself does not leave the HCA.
    const std::uint64_t packets = (kLids - (on_packet_path() ? 1U : 0U)) * kRounds;
    EXPECT_TRUE(counts_to(0, "counters/port_xmit_packets", sent + packets));
    // LRH 2, BTH 3, DETH 2, ICRC 1, 10 bytes padded to 3 words.
    EXPECT_TRUE(counts_to(0, "counters/port_xmit_data", words + packets * (2 + 3 + 2 + 1 + 3)));
    EXPECT_TRUE(counts_to(1, "counters/port_rcv_packets", arrived + kRounds));
}

TEST(Ud, DatagramsGoThroughSharedQueues) {
    QpOptions o;
    o.with_srq = true;
    DatagramPair p(o);
    ASSERT_EQ(post_recv(p.b.srq.get(), 3, {sge_of(p.b.region(), 0, 100)}), 0);
    ASSERT_EQ(p.send().from(p.a.region(), 0, 60).post(p.a.qp.get()), 0);
    const ibv_wc got = next(p.b.recv_cq.get());
    EXPECT_EQ(got.wr_id, 3U);
    EXPECT_TRUE(same(p.b.memory.span(kGrh, 60), p.a.memory.span(0, 60)));
}

// IBA vol. 1, 9.9.6.3, class D: the datagram is dropped, the receive request waits for the next.
TEST(Ud, TooSmallAReceiveWaitsForAnother) {
    DatagramPair p;
    const auto before = p.b.memory.copy();
    ASSERT_EQ(p.b.receive(3, 0, kGrh + 9), 0);
    ASSERT_EQ(p.send().from(p.a.region(), 0, 10).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    let_arrive();
    EXPECT_TRUE(empty(p.b.recv_cq.get()));
    EXPECT_TRUE(same(p.b.memory.copy(), before));
    EXPECT_EQ(state_of(p.b.qp.get()), IBV_QPS_RTS);
    ASSERT_EQ(p.send().from(p.a.region(), 0, 9).post(p.a.qp.get()), 0);
    const ibv_wc got = next(p.b.recv_cq.get());
    EXPECT_EQ(got.wr_id, 3U);
    EXPECT_EQ(got.status, IBV_WC_SUCCESS);
    EXPECT_EQ(got.byte_len, kGrh + 9);
}

// Class E: a shared queue takes no request back, so it ends in an error; the queue pair goes on.
TEST(Ud, TooSmallASharedReceiveIsUsedUp) {
    QpOptions o;
    o.with_srq = true;
    DatagramPair p(o);
    const auto before = p.b.memory.copy();
    ASSERT_EQ(post_recv(p.b.srq.get(), 3, {sge_of(p.b.region(), 0, kGrh + 9)}), 0);
    ASSERT_EQ(p.send().from(p.a.region(), 0, 10).post(p.a.qp.get()), 0);
    const ibv_wc first = next(p.b.recv_cq.get());
    EXPECT_EQ(first.wr_id, 3U);
    EXPECT_EQ(first.status, IBV_WC_LOC_LEN_ERR);
    EXPECT_EQ(state_of(p.b.qp.get()), IBV_QPS_RTS);
    EXPECT_TRUE(same(p.b.memory.copy(), before));
    ASSERT_EQ(post_recv(p.b.srq.get(), 4, {sge_of(p.b.region(), 0, kGrh + 10)}), 0);
    ASSERT_EQ(p.send().from(p.a.region(), 0, 10).post(p.a.qp.get()), 0);
    const ibv_wc second = next(p.b.recv_cq.get());
    EXPECT_EQ(second.wr_id, 4U);
    EXPECT_EQ(second.status, IBV_WC_SUCCESS);
}

// Class A: memory that the receiver may not use is an error of the receiver's queue pair.
TEST(Ud, ReceiveIntoForbiddenMemoryStopsTheReceiver) {
    DatagramPair p;
    ASSERT_EQ(post_recv(p.b.qp.get(), 3, {{p.b.memory.address(), 100, 0xDEAD00}}), 0);
    ASSERT_EQ(p.send().from(p.a.region(), 0, 10).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.b.recv_cq.get()).status, IBV_WC_LOC_PROT_ERR);
    EXPECT_EQ(state_of(p.b.qp.get()), IBV_QPS_ERR);
}

}  // namespace
}  // namespace softib::test
