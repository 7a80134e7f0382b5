// SPDX-License-Identifier: BSD-2-Clause
// Completion queues that one sender has filled for a while (runtime/shm/sole_producer.h): it adds
// without a lock, and writes short completions. Programs must not see that.

#include <cerrno>
#include <vector>

#include "verbs_rig.h"

namespace softib::test {
namespace {

void send(ibv_qp* qp, const End& from, std::uint32_t bytes, unsigned flags = IBV_SEND_SIGNALED) {
    Send s(IBV_WR_SEND, flags);
    ASSERT_EQ(s.from(from.region(), 0, bytes).post(qp), 0);
    ASSERT_EQ(next(from.send_cq.get()).status, IBV_WC_SUCCESS);
}

/// Sends 200 messages, after which the sender is the sole producer. Returns the last completion of
/// a receive.
ibv_wc fill(Pair& p) {
    ibv_wc wc{};
    for (std::uint64_t i = 0; i < 200; ++i) {
        EXPECT_EQ(p.b.receive(i, 0, 64), 0);
        send(p.a.qp.get(), p.a, 8);
        wc = next(p.b.recv_cq.get());
        EXPECT_EQ(wc.wr_id, i);
    }
    return wc;
}

/// Sends `count` messages of 8, 16, 24 … bytes into receives of the ids 1000, 1001 …
void send_some(Pair& p, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
        ASSERT_EQ(p.b.receive(1000 + i, 64UL * i, 64), 0);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        send(p.a.qp.get(), p.a, 8 * (i + 1));
    }
    let_arrive();
}

void expect_some(ibv_cq* cq, std::uint32_t count) {
    const auto done = poll_many(cq, count);
    ASSERT_EQ(done.size(), count);
    for (std::uint32_t i = 0; i < count; ++i) {
        EXPECT_EQ(done[i].status, IBV_WC_SUCCESS);
        EXPECT_EQ(done[i].wr_id, 1000 + i);
        EXPECT_EQ(done[i].byte_len, 8 * (i + 1));
    }
}

TEST(SoleProducer, ItsCompletionsSayTheSameAsOthers) {
    for (const std::uint32_t sges : {1U, 4U}) {
        QpOptions o;
        o.sges = sges;
        Pair p(o);
        ASSERT_EQ(p.b.receive(0, 0, 64), 0);
        send(p.a.qp.get(), p.a, 8);
        const ibv_wc first = next(p.b.recv_cq.get());
        const ibv_wc last = fill(p);
        EXPECT_EQ(last.opcode, IBV_WC_RECV);
        EXPECT_EQ(last.byte_len, 8U);
        EXPECT_EQ(last.qp_num, first.qp_num);
        EXPECT_EQ(last.src_qp, first.src_qp);
        EXPECT_EQ(last.slid, first.slid);
        EXPECT_EQ(last.sl, first.sl);
        EXPECT_EQ(last.pkey_index, first.pkey_index);
        EXPECT_EQ(last.wc_flags, 0U);
        send_some(p, 7);
        expect_some(p.b.recv_cq.get(), 7);
        EXPECT_TRUE(same(p.a.memory.span(0, 56), p.b.memory.span(64UL * 6, 56)));
        // One that says more.
        ASSERT_EQ(p.b.receive(7, 0, 64), 0);
        Send s(IBV_WR_SEND_WITH_IMM);
        ASSERT_EQ(s.imm(0x12345678).from(p.a.region(), 0, 24).post(p.a.qp.get()), 0);
        const ibv_wc wc = next(p.b.recv_cq.get());
        EXPECT_EQ(wc.wr_id, 7U);
        EXPECT_EQ(wc.imm_data, 0x12345678U);
        EXPECT_EQ(wc.wc_flags & IBV_WC_WITH_IMM, static_cast<unsigned>(IBV_WC_WITH_IMM));
    }
}

TEST(SoleProducer, AReceiveWithoutBuffersTakesNoByte) {
    QpOptions o;
    o.sges = 1;
    Pair p(o);
    fill(p);
    ASSERT_EQ(post_recv(p.b.qp.get(), 5, {}), 0);
    Send none(IBV_WR_SEND);
    ASSERT_EQ(none.post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.b.recv_cq.get()).wr_id, 5U);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    ASSERT_EQ(post_recv(p.b.qp.get(), 6, {}), 0);
    Send s(IBV_WR_SEND);
    ASSERT_EQ(s.from(p.a.region(), 0, 8).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.b.recv_cq.get()).status, IBV_WC_LOC_LEN_ERR);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_REM_INV_REQ_ERR);
}

TEST(SoleProducer, ResizingKeepsItsEntries) {
    Pair p;
    fill(p);
    send_some(p, 7);
    ASSERT_EQ(ibv_resize_cq(p.b.recv_cq.get(), 500), 0);
    expect_some(p.b.recv_cq.get(), 7);
    fill(p);
}

TEST(SoleProducer, AnotherProducerComesAndGoes) {
    Pair p;
    fill(p);
    Owned<ibv_qp> from = p.a.make_qp(p.a.options);
    Owned<ibv_qp> to = p.b.make_qp(p.b.options);
    const auto join = [](End& end, ibv_qp* qp, const ibv_qp* peer, End& there) {
        ASSERT_EQ(to_init(qp, end.options), 0);
        ASSERT_EQ(to_rtr(qp, end.options, peer->qp_num, lid_of(there.context.get())), 0);
        ASSERT_EQ(to_rts(qp, end.options), 0);
    };
    join(p.a, from.get(), to.get(), p.b);
    join(p.b, to.get(), from.get(), p.a);
    ASSERT_EQ(post_recv(to.get(), 1, {sge_of(p.b.region(), 0, 64)}), 0);
    ASSERT_EQ(post_recv(to.get(), 2, {sge_of(p.b.region(), 0, 64)}), 0);
    send(from.get(), p.a, 8);
    send_some(p, 5);
    send(from.get(), p.a, 8);
    let_arrive();
    // The queue pair takes its two completions along.
    to.reset();
    expect_some(p.b.recv_cq.get(), 5);
    EXPECT_TRUE(empty(p.b.recv_cq.get()));
    fill(p);
}

TEST(SoleProducer, WhatIsLeftIsFlushedBehindItsEntries) {
    Pair p;
    fill(p);
    send_some(p, 3);
    ASSERT_EQ(p.b.receive(1, 0, 64), 0);
    ASSERT_EQ(p.b.receive(2, 0, 64), 0);
    ASSERT_EQ(to_state(p.b.qp.get(), IBV_QPS_ERR), 0);
    expect_some(p.b.recv_cq.get(), 3);
    for (const std::uint64_t id : {1U, 2U}) {
        const ibv_wc wc = next(p.b.recv_cq.get());
        EXPECT_EQ(wc.wr_id, id);
        EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
    }
}

TEST(SoleProducer, TheFirstArmingIsSeen) {
    Pair p(with_channel());
    fill(p);
    ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 1), 0);
    send_some(p, 1);
    EXPECT_FALSE(readable(p.b.channel->fd, 0ms));
    ASSERT_EQ(p.b.receive(1, 0, 64), 0);
    send(p.a.qp.get(), p.a, 8, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
    EXPECT_TRUE(take_event(p.b.channel.get(), p.b.recv_cq.get()));
    expect_some(p.b.recv_cq.get(), 1);
    EXPECT_EQ(next(p.b.recv_cq.get()).wr_id, 1U);
}

TEST(SoleProducer, ItsOverflowIsTold) {
    QpOptions o;
    o.recv_wr = 64;
    o.cqe = 15;
    Pair p(o);
    fill(p);
    const auto room = static_cast<std::uint64_t>(p.b.recv_cq->cqe);
    for (std::uint64_t i = 0; i <= room; ++i) {
        ASSERT_EQ(p.b.receive(i, 0, 64), 0);
    }
    for (std::uint64_t i = 0; i <= room; ++i) {
        Send s(IBV_WR_SEND);
        ASSERT_EQ(s.from(p.a.region(), 0, 8).post(p.a.qp.get()), 0);
        next(p.a.send_cq.get());
    }
    EXPECT_TRUE(wait_async(p.b.context.get(), IBV_EVENT_CQ_ERR, p.b.recv_cq.get()));
    for (std::uint64_t i = 0; i < room; ++i) {
        EXPECT_EQ(next(p.b.recv_cq.get()).wr_id, i);
    }
}

}  // namespace
}  // namespace softib::test
