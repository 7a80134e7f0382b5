// SPDX-License-Identifier: BSD-2-Clause
// Receivers that are not ready, peers that do not answer, flushing, and the states between.
#include <atomic>
#include <thread>

#include "verbs_rig.h"

namespace softib::test {
namespace {

QpOptions rnr(std::uint8_t retry) {
    QpOptions o;
    o.rnr_retry = retry;
    return o;
}

Send small_send(End& end, std::uint64_t id = 0, unsigned flags = IBV_SEND_SIGNALED) {
    Send s(IBV_WR_SEND, flags);
    s.id(id).from(end.region(), 0, 64);
    return s;
}

TEST(Rnr, NoRetryFailsAtOnce) {
    Pair p(rnr(0));
    ASSERT_EQ(small_send(p.a, 5).post(p.a.qp.get()), 0);
    const ibv_wc wc = next(p.a.send_cq.get());
    EXPECT_EQ(wc.status, IBV_WC_RNR_RETRY_EXC_ERR);
    EXPECT_EQ(wc.wr_id, 5U);
    EXPECT_EQ(state_of(p.a.qp.get()), IBV_QPS_ERR);
    // The receiver's queue pair is not affected.
    EXPECT_EQ(state_of(p.b.qp.get()), IBV_QPS_RTS);
}

TEST(Rnr, FiniteRetriesEnd) {
    Pair p(rnr(3));
    ASSERT_EQ(small_send(p.a).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_RNR_RETRY_EXC_ERR);
}

TEST(Rnr, SevenWaitsForTheReceiver) {
    Pair p(rnr(7));
    ASSERT_EQ(small_send(p.a, 1).post(p.a.qp.get()), 0);
    ASSERT_EQ(small_send(p.a, 2).post(p.a.qp.get()), 0);
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(empty(p.a.send_cq.get()));
    }
    ASSERT_EQ(p.b.receive(8, 0, 64), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).wr_id, 1U);
    EXPECT_EQ(next(p.b.recv_cq.get()).wr_id, 8U);
    EXPECT_TRUE(empty(p.a.send_cq.get()));
    ASSERT_EQ(p.b.receive(9, 0, 64), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).wr_id, 2U);
}

TEST(Rnr, WaitingSenderNeedNotPoll) {
    QpOptions o = rnr(7);
    o.with_channel = true;
    Pair p(o);
    ASSERT_EQ(ibv_req_notify_cq(p.a.send_cq.get(), 0), 0);
    ASSERT_EQ(small_send(p.a, 1).post(p.a.qp.get()), 0);
    ASSERT_EQ(p.b.receive(8, 0, 64), 0);
    EXPECT_TRUE(take_event(p.a.channel.get(), p.a.send_cq.get()));
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
}

TEST(Rnr, WaitingInlineDataIsKept) {
    Pair p(rnr(7));
    std::vector<std::byte> data(64, std::byte{3});
    Send s(IBV_WR_SEND, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
    s.sge(reinterpret_cast<std::uint64_t>(data.data()), 64, 0);
    ASSERT_EQ(s.post(p.a.qp.get()), 0);
    std::fill(data.begin(), data.end(), std::byte{4});
    ASSERT_EQ(p.b.receive(1, 0, 64), 0);
    EXPECT_EQ(next(p.b.recv_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(same(p.b.memory.span(0, 64), std::vector<std::byte>(64, std::byte{3})));
}

TEST(Rnr, WriteBehindAWaitingSendWaitsToo) {
    Pair p(rnr(7));
    const auto before = p.b.memory.copy();
    ASSERT_EQ(small_send(p.a, 1).post(p.a.qp.get()), 0);
    Send write(IBV_WR_RDMA_WRITE);
    write.id(2).from(p.a.region(), 0, 64).to(p.b.region(), 8192);
    ASSERT_EQ(write.post(p.a.qp.get()), 0);
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(empty(p.a.send_cq.get()));
    }
    EXPECT_TRUE(same(p.b.memory.copy(), before));
    ASSERT_EQ(p.b.receive(8, 0, 64), 0);
    const auto done = poll_many(p.a.send_cq.get(), 2);
    ASSERT_EQ(done.size(), 2U);
    EXPECT_EQ(done[0].wr_id, 1U);
    EXPECT_EQ(done[1].wr_id, 2U);
    EXPECT_TRUE(same(p.b.memory.span(8192, 64), p.a.memory.span(0, 64)));
}

TEST(Retry, PeerThatIsNotReadyToReceiveNeverAnswers) {
    End a(0);
    End b(1);
    ASSERT_EQ(to_init(a.qp.get(), a.options), 0);
    ASSERT_EQ(to_init(b.qp.get(), b.options), 0);
    ASSERT_EQ(to_rtr(a.qp.get(), a.options, b.qp->qp_num, lid_of(b.context.get())), 0);
    ASSERT_EQ(to_rts(a.qp.get(), a.options), 0);
    const auto before = b.memory.copy();
    Send write(IBV_WR_RDMA_WRITE);
    ASSERT_EQ(write.id(1).from(a.region(), 0, 64).to(b.region(), 0).post(a.qp.get()), 0);
    ASSERT_EQ(small_send(a, 2, 0).post(a.qp.get()), 0);
    ASSERT_EQ(a.receive(3, 0, 64), 0);
    const auto failed = poll_many(a.send_cq.get(), 2);
    ASSERT_EQ(failed.size(), 2U);
    EXPECT_EQ(failed[0].wr_id, 1U);
    EXPECT_EQ(failed[0].status, IBV_WC_RETRY_EXC_ERR);
    // An unsignaled request is completed too, once it fails.
    EXPECT_EQ(failed[1].wr_id, 2U);
    EXPECT_EQ(failed[1].status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(next(a.recv_cq.get()).status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_TRUE(same(b.memory.copy(), before));
}

TEST(Retry, PeerThatBecomesReadyInTimeIsAnswered) {
    QpOptions o;
    o.timeout = 20;  // A timeout of seconds.
    End a(0, o);
    End b(1, o);
    ASSERT_EQ(to_init(a.qp.get(), o), 0);
    ASSERT_EQ(to_rtr(a.qp.get(), o, b.qp->qp_num, lid_of(b.context.get())), 0);
    ASSERT_EQ(to_rts(a.qp.get(), o), 0);
    Send write(IBV_WR_RDMA_WRITE);
    ASSERT_EQ(write.from(a.region(), 0, 64).to(b.region(), 0).post(a.qp.get()), 0);
    EXPECT_TRUE(empty(a.send_cq.get()));
    ASSERT_EQ(to_init(b.qp.get(), o), 0);
    ASSERT_EQ(to_rtr(b.qp.get(), o, a.qp->qp_num, lid_of(a.context.get())), 0);
    EXPECT_EQ(next(a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(same(b.memory.span(0, 64), a.memory.span(0, 64)));
}

TEST(Retry, DestroyedPeerIsGone) {
    Pair p;
    p.b.qp.reset();
    ASSERT_EQ(small_send(p.a).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_RETRY_EXC_ERR);
}

TEST(Flush, EveryPostedRequestComesBackExactlyOnce) {
    Pair p(rnr(7));
    for (std::uint64_t i = 0; i < 5; ++i) {
        ASSERT_EQ(small_send(p.a, 100 + i, 0).post(p.a.qp.get()), 0);
    }
    for (std::uint64_t i = 0; i < 7; ++i) {
        ASSERT_EQ(p.a.receive(200 + i, 0, 64), 0);
    }
    ASSERT_EQ(to_state(p.a.qp.get(), IBV_QPS_ERR), 0);
    const auto sends = poll_many(p.a.send_cq.get(), 5);
    for (std::uint64_t i = 0; i < sends.size(); ++i) {
        EXPECT_EQ(sends[i].status, IBV_WC_WR_FLUSH_ERR);
        EXPECT_EQ(sends[i].wr_id, 100 + i);
    }
    const auto receives = poll_many(p.a.recv_cq.get(), 7);
    for (std::uint64_t i = 0; i < receives.size(); ++i) {
        EXPECT_EQ(receives[i].status, IBV_WC_WR_FLUSH_ERR);
        EXPECT_EQ(receives[i].wr_id, 200 + i);
    }
    EXPECT_TRUE(empty(p.a.send_cq.get()));
    EXPECT_TRUE(empty(p.a.recv_cq.get()));
}

TEST(Flush, RequestsPostedInErrorAreFlushed) {
    Pair p;
    ASSERT_EQ(to_state(p.a.qp.get(), IBV_QPS_ERR), 0);
    ASSERT_EQ(small_send(p.a, 1, 0).post(p.a.qp.get()), 0);
    ASSERT_EQ(p.a.receive(2, 0, 64), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(next(p.a.recv_cq.get()).status, IBV_WC_WR_FLUSH_ERR);
}

TEST(Flush, BothSidesOfARefusedRequestAreFlushed) {
    Pair p;
    for (std::uint64_t i = 0; i < 3; ++i) {
        ASSERT_EQ(p.b.receive(i, 0, 64), 0);
        ASSERT_EQ(p.a.receive(i, 0, 64), 0);
    }
    Send bad(IBV_WR_RDMA_WRITE);
    ASSERT_EQ(bad.from(p.a.region(), 0, 8).at(p.b.memory.address(), 1).post(p.a.qp.get()), 0);
    ASSERT_EQ(small_send(p.a).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_WR_FLUSH_ERR);
    for (End* end : {&p.a, &p.b}) {
        for (const ibv_wc& wc : poll_many(end->recv_cq.get(), 3)) {
            EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
        }
        EXPECT_TRUE(empty(end->recv_cq.get()));
        EXPECT_EQ(state_of(end->qp.get()), IBV_QPS_ERR);
    }
}

TEST(Flush, ResetForgetsWithoutCompletions) {
    Pair p(rnr(7));
    ASSERT_EQ(small_send(p.a).post(p.a.qp.get()), 0);
    ASSERT_EQ(p.a.receive(1, 0, 64), 0);
    ASSERT_EQ(to_state(p.a.qp.get(), IBV_QPS_RESET), 0);
    EXPECT_TRUE(empty(p.a.send_cq.get()));
    EXPECT_TRUE(empty(p.a.recv_cq.get()));
    // The pair can be connected again.
    ASSERT_EQ(to_state(p.b.qp.get(), IBV_QPS_RESET), 0);
    connect(p.a, p.b);
    ASSERT_EQ(p.b.receive(7, 0, 64), 0);
    ASSERT_EQ(small_send(p.a).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_EQ(next(p.b.recv_cq.get()).wr_id, 7U);
}

TEST(Flush, DestroyRemovesItsCompletionsAndLeavesOthers) {
    Pair p;
    Owned<ibv_qp> other = p.a.make_qp(p.a.options);
    ASSERT_EQ(to_init(other.get(), p.a.options), 0);
    ASSERT_EQ(post_recv(other.get(), 42, {}), 0);
    Send write(IBV_WR_RDMA_WRITE);
    ASSERT_EQ(write.from(p.a.region(), 0, 8).to(p.b.region(), 0).post(p.a.qp.get()), 0);
    ASSERT_EQ(p.a.receive(1, 0, 8), 0);
    ASSERT_EQ(to_state(other.get(), IBV_QPS_ERR), 0);
    ASSERT_EQ(to_state(p.a.qp.get(), IBV_QPS_ERR), 0);
    p.a.qp.reset();
    EXPECT_EQ(next(p.a.recv_cq.get()).wr_id, 42U);
    EXPECT_TRUE(empty(p.a.recv_cq.get()));
    EXPECT_TRUE(empty(p.a.send_cq.get()));
}

TEST(LocalError, UnknownLkeyOfASend) {
    Pair p;
    ASSERT_EQ(p.b.receive(1, 0, 64), 0);
    const auto before = p.b.memory.copy();
    Send s(IBV_WR_SEND);
    ASSERT_EQ(s.sge(p.a.memory.address(), 64, 0xDEAD00).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_LOC_PROT_ERR);
    EXPECT_EQ(state_of(p.a.qp.get()), IBV_QPS_ERR);
    EXPECT_TRUE(empty(p.b.recv_cq.get()));
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

TEST(LocalError, MessageLongerThanTheReceive) {
    Pair p;
    const auto before = p.b.memory.copy();
    ASSERT_EQ(p.b.receive(1, 0, 63), 0);
    ASSERT_EQ(small_send(p.a).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_REM_INV_REQ_ERR);
    EXPECT_EQ(next(p.b.recv_cq.get()).status, IBV_WC_LOC_LEN_ERR);
    EXPECT_TRUE(wait_async(p.b.context.get(), IBV_EVENT_QP_REQ_ERR, p.b.qp.get()));
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

TEST(LocalError, ReceiveIntoMemoryThatIsNotRegistered) {
    Pair p;
    const auto before = p.b.memory.copy();
    ASSERT_EQ(post_recv(p.b.qp.get(), 1, {{p.b.memory.address(), 64, 0xDEAD00}}), 0);
    ASSERT_EQ(small_send(p.a).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_REM_OP_ERR);
    EXPECT_EQ(next(p.b.recv_cq.get()).status, IBV_WC_LOC_PROT_ERR);
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

TEST(LocalError, MisalignedAtomicIsAnInvalidRequest) {
    Pair p;
    const auto before = p.b.memory.copy();
    Send s(IBV_WR_ATOMIC_FETCH_AND_ADD);
    s.from(p.a.region(), 0, 8).to(p.b.region(), 4).atomic(1);
    ASSERT_EQ(s.post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_REM_INV_REQ_ERR);
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

TEST(Sqd, DrainedQueueHoldsNewRequestsUntilRts) {
    Pair p;
    ASSERT_EQ(to_state(p.a.qp.get(), IBV_QPS_SQD), 0);
    const auto before = p.b.memory.copy();
    Send write(IBV_WR_RDMA_WRITE);
    ASSERT_EQ(write.from(p.a.region(), 0, 64).to(p.b.region(), 0).post(p.a.qp.get()), 0);
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(empty(p.a.send_cq.get()));
    }
    EXPECT_TRUE(same(p.b.memory.copy(), before));
    ASSERT_EQ(to_state(p.a.qp.get(), IBV_QPS_RTS), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(same(p.b.memory.span(0, 64), p.a.memory.span(0, 64)));
}

TEST(Sqd, EventOnRequest) {
    Pair p;
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_SQD;
    attr.en_sqd_async_notify = 1;
    ASSERT_EQ(ibv_modify_qp(p.a.qp.get(), &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
    EXPECT_TRUE(wait_async(p.a.context.get(), IBV_EVENT_SQ_DRAINED, p.a.qp.get()));
}

TEST(Sqd, ErrorFlushesWhatWasHeld) {
    Pair p;
    ASSERT_EQ(to_state(p.a.qp.get(), IBV_QPS_SQD), 0);
    ASSERT_EQ(small_send(p.a, 9).post(p.a.qp.get()), 0);
    ASSERT_EQ(to_state(p.a.qp.get(), IBV_QPS_ERR), 0);
    const ibv_wc wc = next(p.a.send_cq.get());
    EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(wc.wr_id, 9U);
}

TEST(Sqe, UnreliableSendErrorStopsOnlyTheSendQueue) {
    QpOptions o;
    o.type = IBV_QPT_UC;
    Pair p(o);
    Send bad(IBV_WR_SEND);
    ASSERT_EQ(bad.sge(p.a.memory.address(), 8, 0xDEAD00).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_LOC_PROT_ERR);
    EXPECT_EQ(state_of(p.a.qp.get()), IBV_QPS_SQE);
    ASSERT_EQ(small_send(p.a).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_WR_FLUSH_ERR);
    // The queue pair still receives.
    ASSERT_EQ(p.a.receive(3, 0, 64), 0);
    ASSERT_EQ(small_send(p.b).post(p.b.qp.get()), 0);
    EXPECT_EQ(next(p.a.recv_cq.get()).status, IBV_WC_SUCCESS);
    // The queue pair sends again when the program moves it to RTS.
    ASSERT_EQ(to_state(p.a.qp.get(), IBV_QPS_RTS), 0);
    ASSERT_EQ(p.b.receive(4, 0, 64), 0);
    ASSERT_EQ(small_send(p.a).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_EQ(next(p.b.recv_cq.get()).wr_id, 4U);
}

TEST(AsyncEvent, FirstMessageInRtrEstablishesCommunication) {
    End a(0);
    End b(1);
    ASSERT_EQ(to_init(a.qp.get(), a.options), 0);
    ASSERT_EQ(to_init(b.qp.get(), b.options), 0);
    ASSERT_EQ(to_rtr(a.qp.get(), a.options, b.qp->qp_num, lid_of(b.context.get())), 0);
    ASSERT_EQ(to_rts(a.qp.get(), a.options), 0);
    ASSERT_EQ(to_rtr(b.qp.get(), b.options, a.qp->qp_num, lid_of(a.context.get())), 0);
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(b.receive(1, 0, 64), 0);
        ASSERT_EQ(small_send(a).post(a.qp.get()), 0);
        EXPECT_EQ(next(a.send_cq.get()).status, IBV_WC_SUCCESS);
    }
    EXPECT_TRUE(wait_async(b.context.get(), IBV_EVENT_COMM_EST, b.qp.get()));
    EXPECT_FALSE(readable(b.context->async_fd, 0ms)) << "once is enough";
}

TEST(AsyncEvent, RefusedKeyRaisesAccessErrorAtTheResponder) {
    Pair p;
    Send bad(IBV_WR_RDMA_READ);
    ASSERT_EQ(bad.from(p.a.region(), 0, 8).at(p.b.memory.address(), 1).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(wait_async(p.b.context.get(), IBV_EVENT_QP_ACCESS_ERR, p.b.qp.get()));
    EXPECT_FALSE(readable(p.a.context->async_fd, 0ms)) << "the requester learns by completion";
}

TEST(AsyncEvent, DestroyWaitsForAcknowledgement) {
    Pair p;
    Send bad(IBV_WR_RDMA_READ);
    ASSERT_EQ(bad.from(p.a.region(), 0, 8).at(p.b.memory.address(), 1).post(p.a.qp.get()), 0);
    ASSERT_TRUE(readable(p.b.context->async_fd));
    ibv_async_event event{};
    ASSERT_EQ(ibv_get_async_event(p.b.context.get(), &event), 0);
    std::atomic<bool> acknowledged = false;
    std::thread destroyer([&] {
        p.b.qp.reset();
        EXPECT_TRUE(acknowledged.load()) << "the queue pair went before its event was acknowledged";
    });
    acknowledged.store(true);
    ibv_ack_async_event(&event);
    destroyer.join();
}

}  // namespace
}  // namespace softib::test
