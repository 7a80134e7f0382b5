// SPDX-License-Identifier: BSD-2-Clause
// Completion queues and channels, classic and extended, and the builders of extended queue pairs.
#include <fcntl.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include "verbs_rig.h"

namespace softib::test {
namespace {

void send_to(Pair& p, unsigned flags = 0) {
    ASSERT_EQ(p.b.receive(1, 0, 64), 0);
    Send s(IBV_WR_SEND, flags);
    ASSERT_EQ(s.from(p.a.region(), 0, 64).post(p.a.qp.get()), 0);
}

TEST(Channel, EventAfterArming) {
    Pair p(with_channel());
    ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 0), 0);
    EXPECT_FALSE(readable(p.b.channel->fd, 0ms));
    send_to(p);
    EXPECT_TRUE(take_event(p.b.channel.get(), p.b.recv_cq.get()));
    EXPECT_EQ(next(p.b.recv_cq.get()).status, IBV_WC_SUCCESS);
}

TEST(Channel, ArmingIsGoodForOneEvent) {
    Pair p(with_channel());
    ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 0), 0);
    send_to(p);
    send_to(p);
    EXPECT_TRUE(take_event(p.b.channel.get(), p.b.recv_cq.get()));
    EXPECT_FALSE(readable(p.b.channel->fd, 0ms));
}

TEST(Channel, SolicitedOnlyIgnoresOthers) {
    Pair p(with_channel());
    ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 1), 0);
    send_to(p);
    EXPECT_FALSE(readable(p.b.channel->fd, 0ms));
    send_to(p, IBV_SEND_SOLICITED);
    EXPECT_TRUE(take_event(p.b.channel.get(), p.b.recv_cq.get()));
}

TEST(Channel, ErrorsCountAsSolicited) {
    Pair p(with_channel());
    ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 1), 0);
    ASSERT_EQ(p.b.receive(1, 0, 64), 0);
    ASSERT_EQ(to_state(p.b.qp.get(), IBV_QPS_ERR), 0);
    EXPECT_TRUE(take_event(p.b.channel.get(), p.b.recv_cq.get()));
}

TEST(Channel, SolicitedRequestDoesNotWeakenOneForAny) {
    Pair p(with_channel());
    ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 0), 0);
    ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 1), 0);
    send_to(p);
    EXPECT_TRUE(take_event(p.b.channel.get(), p.b.recv_cq.get()));
}

TEST(Channel, NonBlockingReaderIsToldToComeAgain) {
    Pair p(with_channel());
    const int fd = p.b.channel->fd;
    ASSERT_EQ(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
    ibv_cq* cq = nullptr;
    void* user = nullptr;
    EXPECT_EQ(ibv_get_cq_event(p.b.channel.get(), &cq, &user), -1);
    EXPECT_EQ(errno, EAGAIN);
    ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 0), 0);
    send_to(p);
    EXPECT_TRUE(take_event(p.b.channel.get(), p.b.recv_cq.get()));
}

TEST(Channel, TwoQueuesTellThemselvesApart) {
    Pair p(with_channel());
    ASSERT_EQ(ibv_req_notify_cq(p.a.send_cq.get(), 0), 0);
    ASSERT_EQ(ibv_req_notify_cq(p.a.recv_cq.get(), 0), 0);
    send_to(p, IBV_SEND_SIGNALED);
    EXPECT_TRUE(take_event(p.a.channel.get(), p.a.send_cq.get()));
    ASSERT_EQ(p.a.receive(1, 0, 64), 0);
    ASSERT_EQ(Send(IBV_WR_SEND).from(p.b.region(), 0, 8).post(p.b.qp.get()), 0);
    EXPECT_TRUE(take_event(p.a.channel.get(), p.a.recv_cq.get()));
}

TEST(Channel, DestroyingAQueueWaitsForItsEvents) {
    const auto context = open_host(0);
    const Owned<ibv_comp_channel> channel(ibv_create_comp_channel(context.get()));
    Owned<ibv_cq> cq(ibv_create_cq(context.get(), 8, nullptr, channel.get(), 0));
    const Owned<ibv_pd> pd(ibv_alloc_pd(context.get()));
    {
        ibv_qp_init_attr attr{};
        attr.send_cq = attr.recv_cq = cq.get();
        attr.cap = {4, 4, 1, 1, 0};
        attr.qp_type = IBV_QPT_RC;
        const Owned<ibv_qp> qp(ibv_create_qp(pd.get(), &attr));
        ASSERT_EQ(to_init(qp.get(), {}), 0);
        ASSERT_EQ(ibv_req_notify_cq(cq.get(), 0), 0);
        ASSERT_EQ(post_recv(qp.get(), 1, {}), 0);
        ASSERT_EQ(to_state(qp.get(), IBV_QPS_ERR), 0);
    }
    ibv_cq* which = nullptr;
    void* user = nullptr;
    ASSERT_TRUE(readable(channel->fd));
    ASSERT_EQ(ibv_get_cq_event(channel.get(), &which, &user), 0);
    std::atomic<bool> acknowledged = false;
    std::thread destroyer([&] {
        cq.reset();
        EXPECT_TRUE(acknowledged.load()) << "the queue went before its event was acknowledged";
    });
    acknowledged.store(true);
    ibv_ack_cq_events(which, 1);
    destroyer.join();
}

TEST(Busy, WhatIsInUseStays) {
    QpOptions o = with_channel();
    o.with_srq = true;
    End end(0, o);
    EXPECT_EQ(ibv_destroy_cq(end.send_cq.get()), EBUSY);
    EXPECT_EQ(ibv_destroy_cq(end.recv_cq.get()), EBUSY);
    EXPECT_EQ(ibv_destroy_srq(end.srq.get()), EBUSY);
    EXPECT_EQ(ibv_destroy_comp_channel(end.channel.get()), EBUSY);
    EXPECT_EQ(ibv_dealloc_pd(end.pd.get()), EBUSY);
    end.qp.reset();
    end.srq.reset();
    EXPECT_EQ(ibv_dealloc_pd(end.pd.get()), EBUSY) << "the region still uses it";
}

TEST(Busy, AddressHandleHoldsItsDomain) {
    DatagramPair p;
    const Owned<ibv_pd> pd(ibv_alloc_pd(p.a.context.get()));
    ibv_ah_attr attr{};
    attr.dlid = lid_of(p.b.context.get());
    attr.port_num = 1;
    const Owned<ibv_ah> ah(ibv_create_ah(pd.get(), &attr));
    EXPECT_EQ(ibv_dealloc_pd(pd.get()), EBUSY);
}

TEST(Cq, ResizeKeepsEntries) {
    QpOptions o;
    o.cqe = 4;
    Pair p(o);
    const auto write = [&](std::uint64_t id) {
        Send s(IBV_WR_RDMA_WRITE);
        s.id(id).from(p.a.region(), 0, 8).to(p.b.region(), 0);
        ASSERT_EQ(s.post(p.a.qp.get()), 0);
    };
    for (std::uint64_t i = 0; i < 3; ++i) {
        write(i);
    }
    let_arrive();
    ASSERT_EQ(ibv_resize_cq(p.a.send_cq.get(), 40), 0);
    EXPECT_GE(p.a.send_cq->cqe, 40);
    for (std::uint64_t i = 3; i < 16; ++i) {
        write(i);
    }
    let_arrive();
    EXPECT_EQ(ibv_resize_cq(p.a.send_cq.get(), 2), EINVAL) << "16 entries do not fit";
    EXPECT_EQ(ibv_resize_cq(p.a.send_cq.get(), 0), EINVAL);
    ASSERT_EQ(ibv_resize_cq(p.a.send_cq.get(), 17), 0);
    const auto done = poll_many(p.a.send_cq.get(), 16);
    for (std::uint64_t i = 0; i < done.size(); ++i) {
        EXPECT_EQ(done[i].wr_id, i);
    }
    EXPECT_TRUE(empty(p.a.send_cq.get()));
}

TEST(Cq, OverflowRaisesAnEventAndKeepsTheOldEntries) {
    QpOptions o;
    o.cqe = 3;
    o.send_wr = 64;
    Pair p(o);
    const auto room = static_cast<std::uint64_t>(p.a.send_cq->cqe);
    ASSERT_LT(room, 64U);
    for (std::uint64_t i = 0; i <= room; ++i) {
        Send s(IBV_WR_RDMA_WRITE);
        s.id(i).from(p.a.region(), 0, 8).to(p.b.region(), 0);
        ASSERT_EQ(s.post(p.a.qp.get()), 0);
    }
    EXPECT_TRUE(wait_async(p.a.context.get(), IBV_EVENT_CQ_ERR, p.a.send_cq.get()));
    for (std::uint64_t i = 0; i < room; ++i) {
        EXPECT_EQ(next(p.a.send_cq.get()).wr_id, i);
    }
}

/// An overflow stops all queue pairs of the queue, also those that had nothing to complete.
TEST(Cq, OverflowStopsItsQueuePairs) {
    QpOptions o;
    o.cqe = 3;
    o.send_wr = 64;
    Pair p(o);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = p.a.send_cq.get();
    init.cap = {1, 1, 1, 1, 0};
    init.qp_type = IBV_QPT_RC;
    const Owned<ibv_qp> idle(ibv_create_qp(p.a.pd.get(), &init));
    const Owned<ibv_qp> unborn(ibv_create_qp(p.a.pd.get(), &init));
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    ASSERT_EQ(ibv_modify_qp(idle.get(), &attr,
                            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
              0);
    const auto write = [&](std::uint64_t id) {
        Send s(IBV_WR_RDMA_WRITE);
        s.id(id).from(p.a.region(), 0, 8).to(p.b.region(), 0);
        EXPECT_EQ(s.post(p.a.qp.get()), 0);
    };
    const auto room = static_cast<std::uint64_t>(p.a.send_cq->cqe);
    for (std::uint64_t i = 0; i <= room; ++i) {
        write(i);
    }
    std::set<const void*> fatal;
    while (fatal.size() < 2) {
        const auto event = next_async(p.a.context.get());
        ASSERT_TRUE(event);
        if (event->type == IBV_EVENT_QP_FATAL) {
            EXPECT_TRUE(fatal.insert(event->object).second) << "told twice";
        }
    }
    EXPECT_EQ(fatal, (std::set<const void*>{p.a.qp.get(), idle.get()}));
    EXPECT_EQ(state_of(p.a.qp.get()), IBV_QPS_ERR);
    EXPECT_EQ(state_of(idle.get()), IBV_QPS_ERR);
    EXPECT_EQ(state_of(unborn.get()), IBV_QPS_RESET);
    EXPECT_EQ(state_of(p.b.qp.get()), IBV_QPS_RTS);
    EXPECT_EQ(poll_many(p.a.send_cq.get(), room).back().status, IBV_WC_SUCCESS);
    write(room + 1);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_WR_FLUSH_ERR);
}

TEST(Cq, OverflowOfAReceiverIsNoAnswerToTheSender) {
    QpOptions o;
    o.cqe = 3;
    o.recv_wr = 64;
    o.send_wr = 64;
    Pair p(o);
    const auto room = static_cast<std::uint64_t>(p.b.recv_cq->cqe);
    for (std::uint64_t i = 0; i < room + 2; ++i) {
        ASSERT_EQ(p.b.receive(i, 0, 64), 0);
    }
    const auto send = [&] {
        Send s(IBV_WR_SEND);
        s.from(p.a.region(), 0, 8);
        EXPECT_EQ(s.post(p.a.qp.get()), 0);
        return next(p.a.send_cq.get()).status;
    };
    for (std::uint64_t i = 0; i < room; ++i) {
        ASSERT_EQ(send(), IBV_WC_SUCCESS);
    }
    send();
    EXPECT_TRUE(wait_async(p.b.context.get(), IBV_EVENT_CQ_ERR, p.b.recv_cq.get()));
    EXPECT_TRUE(wait_async(p.b.context.get(), IBV_EVENT_QP_FATAL, p.b.qp.get()));
    EXPECT_NE(send(), IBV_WC_SUCCESS);
    EXPECT_EQ(state_of(p.b.qp.get()), IBV_QPS_ERR);
}

TEST(Cq, ImpossibleSizesAreRefused) {
    const auto context = open_host(0);
    ibv_device_attr device{};
    ASSERT_EQ(ibv_query_device(context.get(), &device), 0);
    EXPECT_EQ(ibv_create_cq(context.get(), 0, nullptr, nullptr, 0), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(ibv_create_cq(context.get(), device.max_cqe + 1, nullptr, nullptr, 0), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(ibv_create_cq(context.get(), 8, nullptr, nullptr, context->num_comp_vectors),
              nullptr);
    EXPECT_EQ(errno, EINVAL);
}

// --- Extended queues
// ------------------------------------------------------------------------------

/// A pair whose end `a` has an extended completion queue and an extended queue pair on top.
struct ExtendedPair {
    explicit ExtendedPair(std::uint64_t send_ops) {
        ibv_cq_init_attr_ex cq_attr{};
        cq_attr.cqe = 32;
        cq_attr.wc_flags =
            std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
        cq = ibv_create_cq_ex(a.context.get(), &cq_attr);
        EXPECT_NE(cq, nullptr);
        ibv_qp_init_attr_ex attr{};
        attr.send_cq = attr.recv_cq = ibv_cq_ex_to_cq(cq);
        attr.cap = {4, 4, 4, 4, 128};
        attr.qp_type = IBV_QPT_RC;
        attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        attr.pd = a.pd.get();
        attr.send_ops_flags = send_ops;
        a.qp.reset(ibv_create_qp_ex(a.context.get(), &attr));
        EXPECT_NE(a.qp, nullptr);
        qp = ibv_qp_to_qp_ex(a.qp.get());
        EXPECT_NE(qp, nullptr);
        connect(a, b);
    }
    ~ExtendedPair() {
        if (polling) {
            // The test failed inside a poll, and the queue would wait for its end for ever.
            end_poll();
        }
        a.qp.reset();
        EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
    }
    /// Waits for the next completion and stays inside the poll.
    bool start_poll() {
        ibv_poll_cq_attr attr{};
        polling = within_time([&] { return ibv_start_poll(cq, &attr); });
        return polling;
    }
    bool next_poll() {
        return within_time([&] { return ibv_next_poll(cq); });
    }
    void end_poll() {
        polling = false;
        ibv_end_poll(cq);
    }
    bool nothing_to_poll() {
        ibv_poll_cq_attr attr{};
        const int result = ibv_start_poll(cq, &attr);
        if (result == 0) {
            ibv_end_poll(cq);
        }
        return result == ENOENT;
    }
    End a{0};
    End b{1};
    ibv_cq_ex* cq = nullptr;
    ibv_qp_ex* qp = nullptr;

  private:
    template <typename Poll>
    static bool within_time(Poll poll) {
        const auto end = std::chrono::steady_clock::now() + kLong;
        while (poll() != 0) {
            if (std::chrono::steady_clock::now() > end) {
                return false;
            }
            std::this_thread::yield();
        }
        return true;
    }
    bool polling = false;
};

constexpr std::uint64_t kAllOps = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                                  IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                                  IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV |
                                  IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;

TEST(Extended, PollReadsEveryFieldInOrder) {
    ExtendedPair p(kAllOps);
    ASSERT_EQ(post_recv(p.a.qp.get(), 5, {sge_of(p.a.region(), 0, 64)}), 0);
    Send s(IBV_WR_SEND_WITH_IMM);
    ASSERT_EQ(s.from(p.b.region(), 0, 33).imm(0x11223344).post(p.b.qp.get()), 0);
    EXPECT_EQ(next(p.b.send_cq.get()).status, IBV_WC_SUCCESS);
    Send w(IBV_WR_RDMA_WRITE);
    ASSERT_EQ(w.id(6).from(p.a.region(), 0, 8).to(p.b.region(), 0).post(p.a.qp.get()), 0);
    ASSERT_TRUE(p.start_poll());
    EXPECT_EQ(p.cq->wr_id, 5U);
    EXPECT_EQ(p.cq->status, IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_wc_read_opcode(p.cq), IBV_WC_RECV);
    EXPECT_EQ(ibv_wc_read_byte_len(p.cq), 33U);
    EXPECT_EQ(ibv_wc_read_imm_data(p.cq), 0x11223344U);
    EXPECT_EQ(ibv_wc_read_wc_flags(p.cq), static_cast<unsigned>(IBV_WC_WITH_IMM));
    EXPECT_EQ(ibv_wc_read_qp_num(p.cq), p.a.qp->qp_num);
    EXPECT_EQ(ibv_wc_read_vendor_err(p.cq), 0U);
    const std::uint64_t first = ibv_wc_read_completion_ts(p.cq);
    EXPECT_NE(first, 0U);
    ASSERT_TRUE(p.next_poll());
    EXPECT_EQ(p.cq->wr_id, 6U);
    EXPECT_EQ(ibv_wc_read_opcode(p.cq), IBV_WC_RDMA_WRITE);
    EXPECT_GE(ibv_wc_read_completion_ts(p.cq), first);
    EXPECT_EQ(ibv_next_poll(p.cq), ENOENT);
    p.end_poll();
    EXPECT_TRUE(p.nothing_to_poll());
}

TEST(Extended, TimestampsCountTheClockThatTheDeviceReports) {
    ExtendedPair p(kAllOps);
    const auto now = [&] {
        ibv_values_ex values{};
        values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
        EXPECT_EQ(ibv_query_rt_values_ex(p.a.context.get(), &values), 0);
        return static_cast<std::uint64_t>(values.raw_clock.tv_sec) * 1'000'000'000 +
               static_cast<std::uint64_t>(values.raw_clock.tv_nsec);
    };
    const std::uint64_t before = now();
    Send w(IBV_WR_RDMA_WRITE);
    ASSERT_EQ(w.from(p.a.region(), 0, 8).to(p.b.region(), 0).post(p.a.qp.get()), 0);
    ASSERT_TRUE(p.start_poll());
    const std::uint64_t stamp = ibv_wc_read_completion_ts(p.cq);
    p.end_poll();
    EXPECT_GE(stamp, before);
    EXPECT_LE(stamp, now());
}

TEST(Extended, BuildersPostABatchInOrder) {
    ExtendedPair p(kAllOps);
    ASSERT_EQ(p.b.receive(1, 8192, 64), 0);
    p.b.memory.word(4096) = 5;
    ibv_wr_start(p.qp);
    p.qp->wr_id = 1;
    p.qp->wr_flags = 0;
    ibv_wr_rdma_write(p.qp, p.b.mr->rkey, p.b.memory.address(0));
    ibv_wr_set_sge(p.qp, p.a.mr->lkey, p.a.memory.address(100), 50);
    p.qp->wr_id = 2;
    p.qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_atomic_fetch_add(p.qp, p.b.mr->rkey, p.b.memory.address(4096), 3);
    ibv_wr_set_sge(p.qp, p.a.mr->lkey, p.a.memory.address(0), 8);
    p.qp->wr_id = 3;
    ibv_wr_send_imm(p.qp, 99);
    char text[] = "inline";
    ibv_wr_set_inline_data(p.qp, text, sizeof text);
    ASSERT_EQ(ibv_wr_complete(p.qp), 0);
    ASSERT_TRUE(p.start_poll());
    EXPECT_EQ(p.cq->wr_id, 2U);
    ASSERT_TRUE(p.next_poll());
    EXPECT_EQ(p.cq->wr_id, 3U);
    p.end_poll();
    EXPECT_TRUE(same(p.b.memory.span(0, 50), p.a.memory.span(100, 50)));
    EXPECT_EQ(p.a.memory.word(0), 5U);
    EXPECT_EQ(p.b.memory.word(4096), 8U);
    const ibv_wc got = next(p.b.recv_cq.get());
    EXPECT_EQ(got.byte_len, sizeof text);
    EXPECT_EQ(got.imm_data, 99U);
    EXPECT_EQ(std::memcmp(p.b.memory.data() + 8192, text, sizeof text), 0);
}

TEST(Extended, AbortLeavesNoTrace) {
    ExtendedPair p(kAllOps);
    const auto before = p.b.memory.copy();
    ibv_wr_start(p.qp);
    p.qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_rdma_write(p.qp, p.b.mr->rkey, p.b.memory.address(0));
    ibv_wr_set_sge(p.qp, p.a.mr->lkey, p.a.memory.address(0), 64);
    ibv_wr_abort(p.qp);
    EXPECT_TRUE(p.nothing_to_poll());
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

TEST(Extended, BatchThatDoesNotFitPostsNothing) {
    ExtendedPair p(kAllOps);
    const auto before = p.b.memory.copy();
    ibv_wr_start(p.qp);
    p.qp->wr_flags = IBV_SEND_SIGNALED;
    for (int i = 0; i < 5; ++i) {
        ibv_wr_rdma_write(p.qp, p.b.mr->rkey, p.b.memory.address(0));
        ibv_wr_set_sge(p.qp, p.a.mr->lkey, p.a.memory.address(0), 64);
    }
    EXPECT_EQ(ibv_wr_complete(p.qp), ENOMEM);
    EXPECT_TRUE(p.nothing_to_poll());
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

TEST(Extended, TooMuchInlineDataFailsTheBatch) {
    ExtendedPair p(kAllOps);
    std::vector<char> much(1000);
    ibv_wr_start(p.qp);
    ibv_wr_rdma_write(p.qp, p.b.mr->rkey, p.b.memory.address(0));
    ibv_wr_set_inline_data(p.qp, much.data(), much.size());
    EXPECT_NE(ibv_wr_complete(p.qp), 0);
}

TEST(Extended, PlainQueuePairHasNoBuilders) {
    End end(0);
    EXPECT_EQ(ibv_qp_to_qp_ex(end.qp.get()), nullptr);
}

TEST(Extended, DatagramQueuePairOffersNoWrites) {
    End end(0);
    ibv_qp_init_attr_ex attr{};
    attr.send_cq = attr.recv_cq = end.send_cq.get();
    attr.cap = {4, 4, 1, 1, 0};
    attr.qp_type = IBV_QPT_UD;
    attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attr.pd = end.pd.get();
    attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
    EXPECT_EQ(ibv_create_qp_ex(end.context.get(), &attr), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
}

}  // namespace
}  // namespace softib::test
