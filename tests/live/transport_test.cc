// SPDX-License-Identifier: BSD-2-Clause
// Every operation over every transport: the right bytes, the right completion.
#include <arpa/inet.h>

#include "verbs_rig.h"

namespace softib::test {
namespace {

class Connected : public testing::TestWithParam<ibv_qp_type> {
  protected:
    static QpOptions options() {
        QpOptions o;
        o.type = GetParam();
        return o;
    }
    /// Checks that the bytes [offset, offset + bytes) of `b` are those of `a`, and that no other
    /// byte of `b` has changed.
    static void expect_only(Pair& p, const std::vector<std::byte>& before, std::size_t offset,
                            std::size_t bytes, std::size_t source) {
        std::vector<std::byte> expected = before;
        std::copy_n(p.a.memory.data() + source, bytes, expected.data() + offset);
        EXPECT_TRUE(same(p.b.memory.span(0, p.b.memory.size()), expected));
    }
};

INSTANTIATE_TEST_SUITE_P(Transport, Connected, testing::Values(IBV_QPT_RC, IBV_QPT_UC),
                         [](const auto& param_info) {
                             return param_info.param == IBV_QPT_RC ? "Rc" : "Uc";
                         });

TEST_P(Connected, SendScattersIntoTheOldestReceive) {
    Pair p(options());
    const auto before = p.b.memory.copy();
    ASSERT_EQ(p.b.receive(70, 5000, 300), 0);
    ASSERT_EQ(p.b.receive(71, 9000, 300), 0);
    ASSERT_EQ(Send(IBV_WR_SEND).id(7).from(p.a.region(), 11, 200).post(p.a.qp.get()), 0);
    const ibv_wc sent = next(p.a.send_cq.get());
    EXPECT_EQ(sent.status, IBV_WC_SUCCESS);
    EXPECT_EQ(sent.opcode, IBV_WC_SEND);
    EXPECT_EQ(sent.wr_id, 7U);
    EXPECT_EQ(sent.qp_num, p.a.qp->qp_num);
    const ibv_wc got = next(p.b.recv_cq.get());
    EXPECT_EQ(got.status, IBV_WC_SUCCESS);
    EXPECT_EQ(got.opcode, IBV_WC_RECV);
    EXPECT_EQ(got.wr_id, 70U);
    EXPECT_EQ(got.byte_len, 200U);
    EXPECT_EQ(got.qp_num, p.b.qp->qp_num);
    EXPECT_EQ(got.wc_flags & IBV_WC_WITH_IMM, 0U);
    expect_only(p, before, 5000, 200, 11);
    EXPECT_TRUE(empty(p.b.recv_cq.get()));
}

TEST_P(Connected, SendWithImmediateKeepsNetworkOrder) {
    Pair p(options());
    ASSERT_EQ(p.b.receive(1, 0, 64), 0);
    Send s(IBV_WR_SEND_WITH_IMM);
    ASSERT_EQ(s.from(p.a.region(), 0, 64).imm(htonl(0x01020304)).post(p.a.qp.get()), 0);
    const ibv_wc got = next(p.b.recv_cq.get());
    EXPECT_EQ(got.opcode, IBV_WC_RECV);
    EXPECT_NE(got.wc_flags & IBV_WC_WITH_IMM, 0U);
    EXPECT_EQ(ntohl(got.imm_data), 0x01020304U);
    EXPECT_EQ(next(p.a.send_cq.get()).opcode, IBV_WC_SEND);
}

TEST_P(Connected, WriteTakesNoReceive) {
    Pair p(options());
    const auto before = p.b.memory.copy();
    ASSERT_EQ(p.b.receive(1, 0, 64), 0);
    Send s(IBV_WR_RDMA_WRITE);
    ASSERT_EQ(s.from(p.a.region(), 4000, 5000).to(p.b.region(), 123).post(p.a.qp.get()), 0);
    const ibv_wc done = next(p.a.send_cq.get());
    EXPECT_EQ(done.status, IBV_WC_SUCCESS);
    EXPECT_EQ(done.opcode, IBV_WC_RDMA_WRITE);
    let_arrive();
    expect_only(p, before, 123, 5000, 4000);
    EXPECT_TRUE(empty(p.b.recv_cq.get()));
}

TEST_P(Connected, WriteWithImmediateTakesAReceiveButLeavesItsBufferAlone) {
    Pair p(options());
    const auto before = p.b.memory.copy();
    ASSERT_EQ(p.b.receive(9, 0, 64), 0);
    Send s(IBV_WR_RDMA_WRITE_WITH_IMM);
    s.from(p.a.region(), 100, 500).to(p.b.region(), 8000).imm(htonl(77));
    ASSERT_EQ(s.post(p.a.qp.get()), 0);
    const ibv_wc got = next(p.b.recv_cq.get());
    EXPECT_EQ(got.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
    EXPECT_EQ(got.wr_id, 9U);
    EXPECT_EQ(got.byte_len, 500U);
    EXPECT_EQ(ntohl(got.imm_data), 77U);
    EXPECT_EQ(next(p.a.send_cq.get()).opcode, IBV_WC_RDMA_WRITE);
    expect_only(p, before, 8000, 500, 100);
}

TEST_P(Connected, InlineDataIsReadBeforePostReturns) {
    Pair p(options());
    std::vector<std::byte> data(100, std::byte{0x5A});
    Send s(IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
    s.sge(reinterpret_cast<std::uint64_t>(data.data()), 100, 0).to(p.b.region(), 64);
    ASSERT_EQ(s.post(p.a.qp.get()), 0);
    std::fill(data.begin(), data.end(), std::byte{0});
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    let_arrive();
    EXPECT_TRUE(same(p.b.memory.span(64, 100), std::vector<std::byte>(100, std::byte{0x5A})));
}

TEST_P(Connected, ListsGatherAndScatterInOrder) {
    Pair p(options());
    ASSERT_EQ(post_recv(p.b.qp.get(), 1,
                        {sge_of(p.b.region(), 4090, 10), sge_of(p.b.region(), 0, 0),
                         sge_of(p.b.region(), 8192, 17), sge_of(p.b.region(), 12000, 100)}),
              0);
    Send s(IBV_WR_SEND);
    s.from(p.a.region(), 4095, 2).from(p.a.region(), 10, 30).from(p.a.region(), 900, 1);
    ASSERT_EQ(s.post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.b.recv_cq.get()).byte_len, 33U);
    std::vector<std::byte> sent;
    for (const auto& part :
         {p.a.memory.span(4095, 2), p.a.memory.span(10, 30), p.a.memory.span(900, 1)}) {
        sent.insert(sent.end(), part.begin(), part.end());
    }
    const std::span<const std::byte> all(sent);
    EXPECT_TRUE(same(p.b.memory.span(4090, 10), all.subspan(0, 10)));
    EXPECT_TRUE(same(p.b.memory.span(8192, 17), all.subspan(10, 17)));
    EXPECT_TRUE(same(p.b.memory.span(12000, 6), all.subspan(27)));
}

TEST_P(Connected, NoBytesIsAMessage) {
    Pair p(options());
    const auto before = p.b.memory.copy();
    ASSERT_EQ(post_recv(p.b.qp.get(), 3, {}), 0);
    ASSERT_EQ(Send(IBV_WR_SEND).post(p.a.qp.get()), 0);
    const ibv_wc got = next(p.b.recv_cq.get());
    EXPECT_EQ(got.status, IBV_WC_SUCCESS);
    EXPECT_EQ(got.byte_len, 0U);
    // No key is checked for a request of 0 bytes (IBA vol. 1, 9.7.5.2.4).
    ASSERT_EQ(Send(IBV_WR_RDMA_WRITE).at(0, 0).post(p.a.qp.get()), 0);
    for (const ibv_wc& wc : poll_many(p.a.send_cq.get(), 2)) {
        EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    }
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

TEST_P(Connected, UnsignaledRequestsCompleteSilently) {
    Pair p(options());
    for (int i = 0; i < 3; ++i) {
        Send s(IBV_WR_RDMA_WRITE, 0);
        ASSERT_EQ(s.id(1).from(p.a.region(), 0, 8).to(p.b.region(), 0).post(p.a.qp.get()), 0);
    }
    Send last(IBV_WR_RDMA_WRITE);
    ASSERT_EQ(last.id(2).from(p.a.region(), 0, 8).to(p.b.region(), 0).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).wr_id, 2U);
    EXPECT_TRUE(empty(p.a.send_cq.get()));
}

TEST_P(Connected, SlotsAreFreedOnlyByAPolledCompletion) {
    QpOptions o = options();
    o.send_wr = 4;
    Pair p(o);
    const auto write = [&](unsigned flags) {
        Send s(IBV_WR_RDMA_WRITE, flags);
        return s.from(p.a.region(), 0, 8).to(p.b.region(), 0).post(p.a.qp.get());
    };
    ASSERT_EQ(write(0), 0);
    ASSERT_EQ(write(IBV_SEND_SIGNALED), 0);
    ASSERT_EQ(write(0), 0);
    ASSERT_EQ(write(0), 0);
    EXPECT_EQ(write(0), ENOMEM);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    // The polled request and the one before it are free; the two behind it are not.
    EXPECT_EQ(write(0), 0);
    EXPECT_EQ(write(0), 0);
    EXPECT_EQ(write(0), ENOMEM);
}

TEST_P(Connected, SigAllSignalsEveryRequest) {
    QpOptions o = options();
    o.signal_all = true;
    Pair p(o);
    for (std::uint64_t i = 0; i < 3; ++i) {
        Send s(IBV_WR_RDMA_WRITE, 0);
        ASSERT_EQ(s.id(i).from(p.a.region(), 0, 8).to(p.b.region(), 0).post(p.a.qp.get()), 0);
    }
    const auto done = poll_many(p.a.send_cq.get(), 3);
    for (std::uint64_t i = 0; i < done.size(); ++i) {
        EXPECT_EQ(done[i].wr_id, i);
    }
}

TEST(Rc, ReadBringsRemoteBytesHome) {
    Pair p;
    const auto remote = p.b.memory.copy();
    Send s(IBV_WR_RDMA_READ);
    s.from(p.a.region(), 17, 3000).from(p.a.region(), 9000, 2000).to(p.b.region(), 4095);
    ASSERT_EQ(s.post(p.a.qp.get()), 0);
    const ibv_wc done = next(p.a.send_cq.get());
    EXPECT_EQ(done.status, IBV_WC_SUCCESS);
    EXPECT_EQ(done.opcode, IBV_WC_RDMA_READ);
    EXPECT_EQ(done.byte_len, 5000U);
    EXPECT_TRUE(same(p.a.memory.span(17, 3000), p.b.memory.span(4095, 3000)));
    EXPECT_TRUE(same(p.a.memory.span(9000, 2000), p.b.memory.span(7095, 2000)));
    EXPECT_TRUE(same(p.b.memory.copy(), remote));
}

TEST(Rc, FetchAndAddReturnsTheOldWord) {
    Pair p;
    p.b.memory.word(64) = 40;
    Send s(IBV_WR_ATOMIC_FETCH_AND_ADD);
    s.from(p.a.region(), 8, 8).to(p.b.region(), 64).atomic(2);
    ASSERT_EQ(s.post(p.a.qp.get()), 0);
    const ibv_wc done = next(p.a.send_cq.get());
    EXPECT_EQ(done.opcode, IBV_WC_FETCH_ADD);
    EXPECT_EQ(done.byte_len, 8U);
    EXPECT_EQ(p.a.memory.word(8), 40U);
    EXPECT_EQ(p.b.memory.word(64), 42U);
}

TEST(Rc, CompareAndSwapSwapsOnlyOnEquality) {
    Pair p;
    p.b.memory.word(64) = 40;
    const auto swap = [&](std::uint64_t compare, std::uint64_t value) {
        Send s(IBV_WR_ATOMIC_CMP_AND_SWP);
        s.from(p.a.region(), 8, 8).to(p.b.region(), 64).atomic(compare, value);
        EXPECT_EQ(s.post(p.a.qp.get()), 0);
        EXPECT_EQ(next(p.a.send_cq.get()).opcode, IBV_WC_COMP_SWAP);
        return p.a.memory.word(8);
    };
    EXPECT_EQ(swap(41, 1), 40U);
    EXPECT_EQ(p.b.memory.word(64), 40U);
    EXPECT_EQ(swap(40, 7), 40U);
    EXPECT_EQ(p.b.memory.word(64), 7U);
}

TEST(Rc, AtomicWritePlacesEightBytes) {
    Pair p;
    p.b.memory.word(64) = 40;
    p.a.memory.word(8) = 0x1122334455667788;
    const auto write = [&](std::size_t at, std::uint32_t bytes) {
        Send s(IBV_WR_ATOMIC_WRITE);
        EXPECT_EQ(s.from(p.a.region(), 8, bytes).to(p.b.region(), at).post(p.a.qp.get()), 0);
        return next(p.a.send_cq.get());
    };
    const ibv_wc done = write(64, 8);
    EXPECT_EQ(done.status, IBV_WC_SUCCESS);
    EXPECT_EQ(done.opcode, IBV_WC_ATOMIC_WRITE);
    EXPECT_EQ(p.b.memory.word(64), 0x1122334455667788U);
    const auto before = p.b.memory.copy();
    EXPECT_EQ(write(68, 8).status, IBV_WC_REM_INV_REQ_ERR) << "not aligned";
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

TEST(Rc, FencedSendSeesTheReadBeforeIt) {
    Pair p;
    ASSERT_EQ(p.b.receive(1, 12000, 100), 0);
    Send read(IBV_WR_RDMA_READ, 0);
    ASSERT_EQ(read.from(p.a.region(), 0, 100).to(p.b.region(), 500).post(p.a.qp.get()), 0);
    Send send(IBV_WR_SEND, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
    ASSERT_EQ(send.from(p.a.region(), 0, 100).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.b.recv_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(same(p.b.memory.span(12000, 100), p.b.memory.span(500, 100)));
}

TEST(Rc, ListOfRequestsRunsInOrderAndStopsAtTheBadOne) {
    Pair p;
    ibv_sge sge = sge_of(p.a.region(), 0, 8);
    ibv_send_wr wrs[3]{};
    for (std::uint64_t i = 0; i < 3; ++i) {
        wrs[i].wr_id = i;
        wrs[i].next = i < 2 ? &wrs[i + 1] : nullptr;
        wrs[i].sg_list = &sge;
        wrs[i].num_sge = 1;
        wrs[i].opcode = IBV_WR_RDMA_WRITE;
        wrs[i].send_flags = IBV_SEND_SIGNALED;
        wrs[i].wr.rdma = {p.b.memory.address(), p.b.mr->rkey};
    }
    wrs[1].num_sge = 100;
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(p.a.qp.get(), wrs, &bad), EINVAL);
    EXPECT_EQ(bad, &wrs[1]);
    EXPECT_EQ(next(p.a.send_cq.get()).wr_id, 0U);
    EXPECT_TRUE(empty(p.a.send_cq.get()));
}

TEST(Rc, LoopbackOnOneHost) {
    End a(0);
    End b(0);
    connect(a, b);
    ASSERT_EQ(b.receive(1, 0, 64), 0);
    ASSERT_EQ(Send(IBV_WR_SEND).from(a.region(), 99, 64).post(a.qp.get()), 0);
    EXPECT_EQ(next(b.recv_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(same(b.memory.span(0, 64), a.memory.span(99, 64)));
}

TEST(Rc, QueuePairConnectedToItselfTalksToItself) {
    End a(0);
    ASSERT_EQ(to_init(a.qp.get(), a.options), 0);
    ASSERT_EQ(to_rtr(a.qp.get(), a.options, a.qp->qp_num, lid_of(a.context.get())), 0);
    ASSERT_EQ(to_rts(a.qp.get(), a.options), 0);
    ASSERT_EQ(a.receive(1, 8000, 64), 0);
    ASSERT_EQ(Send(IBV_WR_SEND).from(a.region(), 0, 64).post(a.qp.get()), 0);
    EXPECT_EQ(next(a.recv_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(same(a.memory.span(8000, 64), a.memory.span(0, 64)));
}

TEST(Uc, MessageWithoutAReceiveIsLost) {
    QpOptions o;
    o.type = IBV_QPT_UC;
    Pair p(o);
    ASSERT_EQ(Send(IBV_WR_SEND).id(1).from(p.a.region(), 0, 64).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    let_arrive();
    ASSERT_EQ(p.b.receive(5, 0, 64), 0);
    ASSERT_EQ(Send(IBV_WR_SEND).id(2).from(p.a.region(), 64, 64).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_EQ(next(p.b.recv_cq.get()).wr_id, 5U);
    EXPECT_TRUE(same(p.b.memory.span(0, 64), p.a.memory.span(64, 64)));
}

// IBA vol. 1, 9.9.6.3, class D: the message is dropped, and the receive request waits for the next.
TEST(Uc, MessageLongerThanTheReceiveIsLost) {
    QpOptions o;
    o.type = IBV_QPT_UC;
    Pair p(o);
    ASSERT_EQ(p.b.receive(5, 0, 6000), 0);
    for (const std::uint32_t bytes : {6001U, 64U}) {
        ASSERT_EQ(Send(IBV_WR_SEND).from(p.a.region(), 0, bytes).post(p.a.qp.get()), 0);
        EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    }
    const ibv_wc got = next(p.b.recv_cq.get());
    EXPECT_EQ(got.status, IBV_WC_SUCCESS);
    EXPECT_EQ(got.wr_id, 5U);
    EXPECT_EQ(got.byte_len, 64U);
    EXPECT_EQ(state_of(p.b.qp.get()), IBV_QPS_RTS);
}

// Class E: a shared queue takes no request back, so it ends in an error; the queue pair goes on.
TEST(Uc, MessageLongerThanASharedReceiveUsesItUp) {
    QpOptions o;
    o.type = IBV_QPT_UC;
    o.with_srq = true;
    Pair p(o);
    ASSERT_EQ(post_recv(p.b.srq.get(), 5, {sge_of(p.b.region(), 0, 63)}), 0);
    ASSERT_EQ(post_recv(p.b.srq.get(), 6, {sge_of(p.b.region(), 0, 64)}), 0);
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(Send(IBV_WR_SEND).from(p.a.region(), 0, 64).post(p.a.qp.get()), 0);
        EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    }
    const ibv_wc first = next(p.b.recv_cq.get());
    EXPECT_EQ(first.wr_id, 5U);
    EXPECT_EQ(first.status, IBV_WC_LOC_LEN_ERR);
    EXPECT_EQ(state_of(p.b.qp.get()), IBV_QPS_RTS);
    const ibv_wc second = next(p.b.recv_cq.get());
    EXPECT_EQ(second.wr_id, 6U);
    EXPECT_EQ(second.status, IBV_WC_SUCCESS);
}

TEST(Uc, ReadsAndAtomicsAreRefusedAtOnce) {
    QpOptions o;
    o.type = IBV_QPT_UC;
    Pair p(o);
    Send read(IBV_WR_RDMA_READ);
    EXPECT_EQ(read.from(p.a.region(), 0, 8).to(p.b.region(), 0).post(p.a.qp.get()), EINVAL);
    Send add(IBV_WR_ATOMIC_FETCH_AND_ADD);
    EXPECT_EQ(add.from(p.a.region(), 0, 8).to(p.b.region(), 0).post(p.a.qp.get()), EINVAL);
}

}  // namespace
}  // namespace softib::test
