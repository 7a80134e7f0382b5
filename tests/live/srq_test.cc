// SPDX-License-Identifier: BSD-2-Clause
// Shared receive queues, basic and XRC.
#include <fcntl.h>

#include <set>

#include "verbs_rig.h"

namespace softib::test {
namespace {

QpOptions with_srq() {
    QpOptions o;
    o.with_srq = true;
    return o;
}

int fill_srq(End& end, std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = first; i < first + count; ++i) {
        if (const int error = post_recv(end.srq.get(), i, {sge_of(end.region(), 0, 64)})) {
            return error;
        }
    }
    return 0;
}

void send_one(End& from, std::uint32_t bytes = 8) {
    ASSERT_EQ(Send(IBV_WR_SEND).from(from.region(), 0, bytes).post(from.qp.get()), 0);
    EXPECT_EQ(next(from.send_cq.get()).status, IBV_WC_SUCCESS);
}

TEST(Srq, RequestsAreTakenInOrder) {
    Pair p({}, with_srq());
    ASSERT_EQ(fill_srq(p.b, 10, 3), 0);
    for (std::uint64_t i = 10; i < 13; ++i) {
        send_one(p.a);
        const ibv_wc wc = next(p.b.recv_cq.get());
        EXPECT_EQ(wc.wr_id, i);
        EXPECT_EQ(wc.qp_num, p.b.qp->qp_num);
    }
}

TEST(Srq, ManyQueuePairsShareOneQueue) {
    End b(1, with_srq());
    std::vector<std::unique_ptr<End>> senders;
    std::vector<Owned<ibv_qp>> receivers;
    for (int i = 0; i < 6; ++i) {
        End& a = *senders.emplace_back(std::make_unique<End>(0));
        ibv_qp* to = receivers.emplace_back(b.make_qp(b.options)).get();
        ASSERT_EQ(to_init(a.qp.get(), a.options), 0);
        ASSERT_EQ(to_init(to, b.options), 0);
        ASSERT_EQ(to_rtr(to, b.options, a.qp->qp_num, lid_of(a.context.get())), 0);
        ASSERT_EQ(to_rtr(a.qp.get(), a.options, to->qp_num, lid_of(b.context.get())), 0);
        ASSERT_EQ(to_rts(a.qp.get(), a.options), 0);
    }
    ASSERT_EQ(fill_srq(b, 0, 12), 0);
    std::multiset<std::uint32_t> seen;
    for (std::uint64_t round = 0; round < 2; ++round) {
        for (std::uint64_t i = 0; i < 6; ++i) {
            send_one(*senders[i]);
            const ibv_wc wc = next(b.recv_cq.get());
            EXPECT_EQ(wc.wr_id, round * 6 + i);
            EXPECT_EQ(wc.qp_num, receivers[i]->qp_num);
            seen.insert(wc.qp_num);
        }
    }
    EXPECT_EQ(seen.size(), 12U);
}

TEST(Srq, EmptyQueueMakesTheSenderWait) {
    Pair p({}, with_srq());
    ASSERT_EQ(Send(IBV_WR_SEND).from(p.a.region(), 0, 8).post(p.a.qp.get()), 0);
    EXPECT_TRUE(empty(p.a.send_cq.get()));
    ASSERT_EQ(fill_srq(p.b, 1, 1), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_EQ(next(p.b.recv_cq.get()).wr_id, 1U);
}

TEST(Srq, PostingToTheQueuePairItselfIsRefused) {
    Pair p({}, with_srq());
    EXPECT_EQ(p.b.receive(1, 0, 8), EINVAL);
}

TEST(Srq, FullQueueTakesNoMore) {
    End b(1, with_srq());
    ibv_srq_attr attr{};
    ASSERT_EQ(ibv_query_srq(b.srq.get(), &attr), 0);
    ASSERT_EQ(fill_srq(b, 0, attr.max_wr), 0);
    EXPECT_EQ(fill_srq(b, 0, 1), ENOMEM);
}

TEST(Srq, LimitEventComesOncePerArming) {
    Pair p({}, with_srq());
    ASSERT_EQ(fill_srq(p.b, 0, 6), 0);
    ibv_srq_attr attr{};
    attr.srq_limit = 4;
    ASSERT_EQ(ibv_modify_srq(p.b.srq.get(), &attr, IBV_SRQ_LIMIT), 0);
    ASSERT_EQ(ibv_query_srq(p.b.srq.get(), &attr), 0);
    EXPECT_EQ(attr.srq_limit, 4U);
    send_one(p.a);
    send_one(p.a);
    EXPECT_FALSE(readable(p.b.context->async_fd, 0ms)) << "four are left: not below the limit";
    send_one(p.a);
    EXPECT_TRUE(wait_async(p.b.context.get(), IBV_EVENT_SRQ_LIMIT_REACHED, p.b.srq.get()));
    ASSERT_EQ(ibv_query_srq(p.b.srq.get(), &attr), 0);
    EXPECT_EQ(attr.srq_limit, 0U) << "the event disarms";
    send_one(p.a);
    EXPECT_FALSE(readable(p.b.context->async_fd, 0ms));
}

TEST(Srq, LimitAboveTheSizeIsRefused) {
    End b(1, with_srq());
    ibv_srq_attr attr{};
    ASSERT_EQ(ibv_query_srq(b.srq.get(), &attr), 0);
    attr.srq_limit = attr.max_wr + 1;
    EXPECT_EQ(ibv_modify_srq(b.srq.get(), &attr, IBV_SRQ_LIMIT), EINVAL);
}

TEST(Srq, SmallerSizeHoldsFromThenOn) {
    End b(1, with_srq());
    ASSERT_EQ(fill_srq(b, 0, 3), 0);
    ibv_srq_attr attr{};
    attr.max_wr = 2;
    EXPECT_EQ(ibv_modify_srq(b.srq.get(), &attr, IBV_SRQ_MAX_WR), EINVAL) << "three are posted";
    attr.max_wr = 4;
    ASSERT_EQ(ibv_modify_srq(b.srq.get(), &attr, IBV_SRQ_MAX_WR), 0);
    EXPECT_EQ(fill_srq(b, 3, 1), 0);
    EXPECT_EQ(fill_srq(b, 4, 1), ENOMEM);
}

TEST(Srq, LargerSizeKeepsWhatIsPosted) {
    Pair p({}, with_srq());
    ibv_srq_attr attr{};
    ASSERT_EQ(ibv_query_srq(p.b.srq.get(), &attr), 0);
    const std::uint32_t before = attr.max_wr;
    ASSERT_EQ(fill_srq(p.b, 0, before), 0);
    EXPECT_EQ(fill_srq(p.b, before, 1), ENOMEM);
    attr.max_wr = before * 8;
    ASSERT_EQ(ibv_modify_srq(p.b.srq.get(), &attr, IBV_SRQ_MAX_WR), 0);
    ASSERT_EQ(ibv_query_srq(p.b.srq.get(), &attr), 0);
    EXPECT_EQ(attr.max_wr, before * 8);
    ASSERT_EQ(fill_srq(p.b, before, before * 7), 0);
    EXPECT_EQ(fill_srq(p.b, before * 8, 1), ENOMEM);
    for (std::uint64_t i = 0; i < before * 8; ++i) {
        send_one(p.a);
        ASSERT_EQ(next(p.b.recv_cq.get()).wr_id, i);
    }
}

TEST(Srq, LastRequestReachedWhenAQueuePairFails) {
    Pair p({}, with_srq());
    ASSERT_EQ(fill_srq(p.b, 0, 2), 0);
    ASSERT_EQ(to_state(p.b.qp.get(), IBV_QPS_ERR), 0);
    EXPECT_TRUE(wait_async(p.b.context.get(), IBV_EVENT_QP_LAST_WQE_REACHED, p.b.qp.get()));
    // The shared requests do not belong to this queue pair, so none is flushed.
    EXPECT_TRUE(empty(p.b.recv_cq.get()));
}

TEST(Srq, LastRequestReachedAfterAPeersError) {
    Pair p({}, with_srq());
    Send bad(IBV_WR_RDMA_WRITE);
    ASSERT_EQ(bad.from(p.a.region(), 0, 8).at(p.b.memory.address(), 1).post(p.a.qp.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_REM_ACCESS_ERR);
    EXPECT_TRUE(wait_async(p.b.context.get(), IBV_EVENT_QP_LAST_WQE_REACHED, p.b.qp.get()));
}

// --- XRC
// ------------------------------------------------------------------------------------------

Owned<ibv_xrcd> make_domain(ibv_context* context) {
    ibv_xrcd_init_attr attr{};
    attr.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    attr.fd = -1;
    attr.oflags = O_CREAT;
    return Owned<ibv_xrcd>(ibv_open_xrcd(context, &attr));
}

/// `a` sends by an XRC queue pair; `b` receives into two shared receive queues of one XRC domain.
struct XrcPair {
    XrcPair() {
        for (auto& queue : srqs) {
            ibv_srq_init_attr_ex attr{};
            attr.attr = {16, 4, 0};
            attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
                             IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
            attr.srq_type = IBV_SRQT_XRC;
            attr.pd = b.pd.get();
            attr.xrcd = xrcd.get();
            attr.cq = b.recv_cq.get();
            queue.reset(ibv_create_srq_ex(b.context.get(), &attr));
            EXPECT_NE(queue, nullptr);
        }
        ibv_qp_init_attr_ex send{};
        send.send_cq = a.send_cq.get();
        send.cap = {8, 0, 4, 0, 0};
        send.qp_type = IBV_QPT_XRC_SEND;
        send.comp_mask = IBV_QP_INIT_ATTR_PD;
        send.pd = a.pd.get();
        from.reset(ibv_create_qp_ex(a.context.get(), &send));
        ibv_qp_init_attr_ex receive{};
        receive.qp_type = IBV_QPT_XRC_RECV;
        receive.comp_mask = IBV_QP_INIT_ATTR_XRCD;
        receive.xrcd = xrcd.get();
        to.reset(ibv_create_qp_ex(b.context.get(), &receive));
        EXPECT_EQ(to_init(from.get(), a.options), 0);
        EXPECT_EQ(to_init(to.get(), b.options), 0);
        EXPECT_EQ(to_rtr(from.get(), a.options, to->qp_num, lid_of(b.context.get())), 0);
        EXPECT_EQ(to_rtr(to.get(), b.options, from->qp_num, lid_of(a.context.get())), 0);
        EXPECT_EQ(to_rts(from.get(), a.options), 0);
        EXPECT_EQ(to_rts(to.get(), b.options), 0);
    }
    std::uint32_t number(std::size_t i) const {
        std::uint32_t srqn = 0;
        EXPECT_EQ(ibv_get_srq_num(srqs[i].get(), &srqn), 0);
        return srqn;
    }
    End a{0};
    End b{1};
    Owned<ibv_xrcd> xrcd = make_domain(b.context.get());
    Owned<ibv_srq> srqs[2];
    Owned<ibv_qp> from;
    Owned<ibv_qp> to;
};

TEST(Xrc, RequestNamesTheSharedQueue) {
    XrcPair p;
    ASSERT_EQ(post_recv(p.srqs[0].get(), 100, {sge_of(p.b.region(), 0, 64)}), 0);
    ASSERT_EQ(post_recv(p.srqs[1].get(), 200, {sge_of(p.b.region(), 64, 64)}), 0);
    Send second(IBV_WR_SEND);
    ASSERT_EQ(second.from(p.a.region(), 0, 64).srqn(p.number(1)).post(p.from.get()), 0);
    EXPECT_EQ(next(p.b.recv_cq.get()).wr_id, 200U);
    Send first(IBV_WR_SEND);
    ASSERT_EQ(first.from(p.a.region(), 64, 64).srqn(p.number(0)).post(p.from.get()), 0);
    const ibv_wc wc = next(p.b.recv_cq.get());
    EXPECT_EQ(wc.wr_id, 100U);
    EXPECT_EQ(wc.qp_num, p.to->qp_num);
    EXPECT_TRUE(same(p.b.memory.span(64, 64), p.a.memory.span(0, 64)));
    EXPECT_TRUE(same(p.b.memory.span(0, 64), p.a.memory.span(64, 64)));
}

TEST(Xrc, WritesReadsAndAtomicsUseTheDomainOfTheSharedQueue) {
    XrcPair p;
    Send write(IBV_WR_RDMA_WRITE);
    write.from(p.a.region(), 0, 64).to(p.b.region(), 128).srqn(p.number(0));
    ASSERT_EQ(write.post(p.from.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(same(p.b.memory.span(128, 64), p.a.memory.span(0, 64)));
    Send read(IBV_WR_RDMA_READ);
    read.from(p.a.region(), 4096, 64).to(p.b.region(), 4096).srqn(p.number(0));
    ASSERT_EQ(read.post(p.from.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_TRUE(same(p.a.memory.span(4096, 64), p.b.memory.span(4096, 64)));
    p.b.memory.word(0) = 1;
    Send add(IBV_WR_ATOMIC_FETCH_AND_ADD);
    add.from(p.a.region(), 0, 8).to(p.b.region(), 0).atomic(5).srqn(p.number(1));
    ASSERT_EQ(add.post(p.from.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_EQ(p.b.memory.word(0), 6U);
}

TEST(Xrc, QueueOfAnotherDomainIsAnInvalidRequest) {
    XrcPair p;
    const auto other = make_domain(p.b.context.get());
    ibv_srq_init_attr_ex attr{};
    attr.attr = {16, 4, 0};
    attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
                     IBV_SRQ_INIT_ATTR_CQ;
    attr.srq_type = IBV_SRQT_XRC;
    attr.pd = p.b.pd.get();
    attr.xrcd = other.get();
    attr.cq = p.b.recv_cq.get();
    const Owned<ibv_srq> foreign(ibv_create_srq_ex(p.b.context.get(), &attr));
    ASSERT_NE(foreign, nullptr);
    ASSERT_EQ(post_recv(foreign.get(), 1, {sge_of(p.b.region(), 0, 64)}), 0);
    std::uint32_t srqn = 0;
    ASSERT_EQ(ibv_get_srq_num(foreign.get(), &srqn), 0);
    const auto before = p.b.memory.copy();
    ASSERT_EQ(Send(IBV_WR_SEND).from(p.a.region(), 0, 64).srqn(srqn).post(p.from.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_REM_INV_REQ_ERR);
    EXPECT_TRUE(empty(p.b.recv_cq.get()));
    EXPECT_TRUE(same(p.b.memory.copy(), before));
}

TEST(Xrc, CompletionOutlivesTheReceivingQueuePair) {
    XrcPair p;
    ASSERT_EQ(post_recv(p.srqs[0].get(), 7, {sge_of(p.b.region(), 0, 64)}), 0);
    Send s(IBV_WR_SEND);
    ASSERT_EQ(s.from(p.a.region(), 0, 64).srqn(p.number(0)).post(p.from.get()), 0);
    EXPECT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    p.to.reset();
    EXPECT_EQ(next(p.b.recv_cq.get()).wr_id, 7U);
}

TEST(Xrc, ReceivingEndCannotSend) {
    XrcPair p;
    EXPECT_NE(Send(IBV_WR_SEND).from(p.b.region(), 0, 8).post(p.to.get()), 0);
}

TEST(Xrc, DomainInUseStays) {
    XrcPair p;
    EXPECT_EQ(ibv_close_xrcd(p.xrcd.get()), EBUSY);
}

TEST(Xrc, BasicQueueHasNoNumber) {
    End b(1, with_srq());
    std::uint32_t srqn = 0;
    EXPECT_NE(ibv_get_srq_num(b.srq.get(), &srqn), 0);
}

}  // namespace
}  // namespace softib::test
