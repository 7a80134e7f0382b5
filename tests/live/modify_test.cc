// SPDX-License-Identifier: BSD-2-Clause
// The queue pair state machine as ibv_modify_qp shows it (IBA vol. 1, 11.2.5.2).
#include <thread>

#include "verbs_rig.h"

namespace softib::test {
namespace {

constexpr int kInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
constexpr int kRtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int kRcRtr = kRtr | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kRcRts = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;

struct Row {
    ibv_qp_type type;
    ibv_qp_state from;
    ibv_qp_state to;
    int required;
    int also;       ///< One further attribute that is allowed; 0 if there is none.
    int forbidden;  ///< One attribute that is not allowed.
};

constexpr Row kRows[] = {
    {IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_INIT, kInit | IBV_QP_ACCESS_FLAGS, 0, IBV_QP_QKEY},
    {IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTR, kRcRtr, IBV_QP_PKEY_INDEX, IBV_QP_SQ_PSN},
    {IBV_QPT_RC, IBV_QPS_RTR, IBV_QPS_RTS, kRcRts, IBV_QP_MIN_RNR_TIMER, IBV_QP_DEST_QPN},
    {IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QP_STATE, IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_AV},
    {IBV_QPT_UC, IBV_QPS_RESET, IBV_QPS_INIT, kInit | IBV_QP_ACCESS_FLAGS, 0, IBV_QP_QKEY},
    {IBV_QPT_UC, IBV_QPS_INIT, IBV_QPS_RTR, kRtr, IBV_QP_ACCESS_FLAGS, IBV_QP_MIN_RNR_TIMER},
    {IBV_QPT_UC, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN, IBV_QP_ACCESS_FLAGS,
     IBV_QP_TIMEOUT},
    {IBV_QPT_UD, IBV_QPS_RESET, IBV_QPS_INIT, kInit | IBV_QP_QKEY, 0, IBV_QP_ACCESS_FLAGS},
    {IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_STATE, IBV_QP_QKEY, IBV_QP_AV},
    {IBV_QPT_UD, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN, IBV_QP_QKEY,
     IBV_QP_RETRY_CNT},
};

/// A queue pair in the state from which a row starts.
struct Subject {
    Subject(ibv_qp_type type, ibv_qp_state state) {
        options.type = type;
        qp = end.make_qp(options);
        if (state >= IBV_QPS_INIT) {
            EXPECT_EQ(to_init(qp.get(), options), 0);
        }
        if (state >= IBV_QPS_RTR) {
            EXPECT_EQ(to_rtr(qp.get(), options, qp->qp_num, lid_of(end.context.get())), 0);
        }
        if (state >= IBV_QPS_RTS) {
            EXPECT_EQ(to_rts(qp.get(), options), 0);
        }
        if (state > IBV_QPS_RTS) {
            EXPECT_EQ(to_state(qp.get(), state), 0);
        }
    }
    int modify(ibv_qp_state to, int mask) {
        ibv_qp_attr attr{};
        attr.qp_state = to;
        attr.port_num = 1;
        attr.path_mtu = IBV_MTU_1024;
        attr.dest_qp_num = qp->qp_num;
        attr.ah_attr.dlid = lid_of(end.context.get());
        attr.ah_attr.port_num = 1;
        return ibv_modify_qp(qp.get(), &attr, mask);
    }
    End end{0};
    QpOptions options;
    Owned<ibv_qp> qp;
};

class Transition : public testing::TestWithParam<Row> {};
INSTANTIATE_TEST_SUITE_P(Table, Transition, testing::ValuesIn(kRows));

TEST_P(Transition, NeedsExactlyItsAttributes) {
    const Row& row = GetParam();
    Subject s(row.type, row.from);
    ASSERT_EQ(state_of(s.qp.get()), row.from);
    for (int bit = 1; bit <= IBV_QP_DEST_QPN; bit <<= 1) {
        if ((row.required & bit) != 0 && bit != IBV_QP_STATE) {
            EXPECT_EQ(s.modify(row.to, row.required & ~bit), EINVAL) << "without " << bit;
            EXPECT_EQ(state_of(s.qp.get()), row.from);
        }
    }
    EXPECT_EQ(s.modify(row.to, row.required | row.forbidden), EINVAL);
    EXPECT_EQ(state_of(s.qp.get()), row.from);
    EXPECT_EQ(s.modify(row.to, row.required | row.also), 0);
    EXPECT_EQ(state_of(s.qp.get()), row.to);
}

TEST(Transition, ErrorAndResetAreReachableFromEverywhere) {
    for (const auto from : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD}) {
        for (const auto to : {IBV_QPS_ERR, IBV_QPS_RESET}) {
            Subject s(IBV_QPT_RC, from);
            EXPECT_EQ(to_state(s.qp.get(), to), 0) << from << " to " << to;
            EXPECT_EQ(state_of(s.qp.get()), to);
        }
    }
}

TEST(Transition, NoShortcuts) {
    Subject reset(IBV_QPT_RC, IBV_QPS_RESET);
    EXPECT_EQ(reset.modify(IBV_QPS_RTR, kRcRtr), EINVAL);
    EXPECT_EQ(reset.modify(IBV_QPS_RTS, kRcRts), EINVAL);
    Subject init(IBV_QPT_RC, IBV_QPS_INIT);
    EXPECT_EQ(init.modify(IBV_QPS_RTS, kRcRts), EINVAL);
    Subject error(IBV_QPT_RC, IBV_QPS_RTS);
    ASSERT_EQ(to_state(error.qp.get(), IBV_QPS_ERR), 0);
    EXPECT_EQ(error.modify(IBV_QPS_RTS, IBV_QP_STATE), EINVAL);
    EXPECT_EQ(error.modify(IBV_QPS_INIT, kInit | IBV_QP_ACCESS_FLAGS), EINVAL);
}

TEST(Transition, ValuesOutOfRangeAreRefused) {
    Subject s(IBV_QPT_RC, IBV_QPS_RESET);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 2;
    EXPECT_EQ(ibv_modify_qp(s.qp.get(), &attr, kInit | IBV_QP_ACCESS_FLAGS), EINVAL);
    attr.port_num = 1;
    attr.pkey_index = 0xFFF;
    EXPECT_EQ(ibv_modify_qp(s.qp.get(), &attr, kInit | IBV_QP_ACCESS_FLAGS), EINVAL);
    EXPECT_EQ(state_of(s.qp.get()), IBV_QPS_RESET);
}

TEST(Transition, QueryReturnsWhatWasSet) {
    Subject s(IBV_QPT_RC, IBV_QPS_RTS);
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    ASSERT_EQ(ibv_query_qp(s.qp.get(), &attr, 0, &init), 0);
    EXPECT_EQ(attr.dest_qp_num, s.qp->qp_num);
    EXPECT_EQ(attr.path_mtu, IBV_MTU_1024);
    EXPECT_EQ(attr.ah_attr.dlid, lid_of(s.end.context.get()));
    EXPECT_EQ(attr.timeout, s.options.timeout);
    EXPECT_EQ(attr.retry_cnt, s.options.retry_count);
    EXPECT_EQ(attr.rnr_retry, s.options.rnr_retry);
    EXPECT_EQ(attr.qp_access_flags, s.options.access);
    EXPECT_EQ(attr.cap.max_send_wr, s.options.send_wr);
    EXPECT_EQ(init.qp_type, IBV_QPT_RC);
    EXPECT_EQ(init.send_cq, s.end.send_cq.get());
}

TEST(Posting, NeedsTheRightState) {
    Subject reset(IBV_QPT_RC, IBV_QPS_RESET);
    EXPECT_EQ(post_recv(reset.qp.get(), 1, {}), EINVAL);
    EXPECT_EQ(Send(IBV_WR_SEND).post(reset.qp.get()), EINVAL);
    Subject init(IBV_QPT_RC, IBV_QPS_INIT);
    EXPECT_EQ(post_recv(init.qp.get(), 1, {}), 0);
    EXPECT_EQ(Send(IBV_WR_SEND).post(init.qp.get()), EINVAL);
    Subject rtr(IBV_QPT_RC, IBV_QPS_RTR);
    EXPECT_EQ(Send(IBV_WR_SEND).post(rtr.qp.get()), EINVAL);
}

TEST(Posting, LimitsOfTheQueuePairHold) {
    Pair p;
    Send many(IBV_WR_SEND);
    for (std::uint32_t i = 0; i <= p.a.options.sges; ++i) {
        many.from(p.a.region(), 0, 1);
    }
    EXPECT_EQ(many.post(p.a.qp.get()), EINVAL);
    Send inlined(IBV_WR_SEND, IBV_SEND_INLINE);
    inlined.from(p.a.region(), 0, p.a.options.inline_bytes + 1);
    EXPECT_EQ(inlined.post(p.a.qp.get()), EINVAL);
    for (std::uint32_t i = 0; i < p.a.options.recv_wr; ++i) {
        ASSERT_EQ(p.a.receive(i, 0, 8), 0);
    }
    EXPECT_EQ(p.a.receive(0, 0, 8), ENOMEM);
}

TEST(Posting, AnAbsurdNumberOfBuffersIsRefused) {
    Pair p;
    ibv_sge sge = sge_of(p.a.region(), 0, 8);
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_SEND;
    wr.sg_list = &sge;
    ibv_send_wr* bad = nullptr;
    for (const int count : {5, 0x10000, 0x10001, -1}) {
        wr.num_sge = count;
        EXPECT_EQ(ibv_post_send(p.a.qp.get(), &wr, &bad), EINVAL) << count;
        EXPECT_EQ(bad, &wr);
    }
}

TEST(Posting, ResetWhileAnotherThreadPollsGivesTheWholeQueueBack) {
    QpOptions o;
    o.send_wr = 8;
    Pair p(o);
    const std::jthread poller([&](const std::stop_token& over) {
        ibv_wc wc;
        while (!over.stop_requested()) {
            ibv_poll_cq(p.a.send_cq.get(), 1, &wc);
        }
    });
    for (int round = 0; round < 300; ++round) {
        for (std::uint32_t i = 0; i < o.send_wr; ++i) {
            Send write(IBV_WR_RDMA_WRITE);
            write.from(p.a.region(), 0, 8).to(p.b.region(), 0);
            ASSERT_EQ(write.post(p.a.qp.get()), 0) << "round " << round << ", request " << i;
        }
        ASSERT_EQ(to_state(p.a.qp.get(), IBV_QPS_RESET), 0);
        ASSERT_EQ(to_init(p.a.qp.get(), o), 0);
        ASSERT_EQ(to_rtr(p.a.qp.get(), o, p.b.qp->qp_num, lid_of(p.b.context.get())), 0);
        ASSERT_EQ(to_rts(p.a.qp.get(), o), 0);
    }
}

// The structure of a queue pair shows a state that it entered by itself only after a query has
// asked for the state.
TEST(Query, TouchesTheStateOnlyIfAskedForIt) {
    Pair p;
    ASSERT_EQ(Send(IBV_WR_SEND).sge(p.a.memory.address(), 8, 0xDEAD00).post(p.a.qp.get()), 0);
    ASSERT_EQ(next(p.a.send_cq.get()).status, IBV_WC_LOC_PROT_ERR);
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    ASSERT_EQ(ibv_query_qp(p.a.qp.get(), &attr, IBV_QP_CAP, &init), 0);
    EXPECT_EQ(p.a.qp->state, IBV_QPS_RTS);
    ASSERT_EQ(ibv_query_qp(p.a.qp.get(), &attr, IBV_QP_STATE, &init), 0);
    EXPECT_EQ(attr.qp_state, IBV_QPS_ERR);
    EXPECT_EQ(p.a.qp->state, IBV_QPS_ERR);
}

TEST(Posting, ImpossibleQueuePairsAreRefused) {
    End end(0);
    const auto create = [&](ibv_qp_type type, std::uint32_t sends, std::uint32_t sges) {
        ibv_qp_init_attr attr{};
        attr.send_cq = attr.recv_cq = end.send_cq.get();
        attr.cap = {sends, 1, sges, 1, 0};
        attr.qp_type = type;
        return Owned<ibv_qp>(ibv_create_qp(end.pd.get(), &attr));
    };
    ibv_device_attr device{};
    ASSERT_EQ(ibv_query_device(end.context.get(), &device), 0);
    EXPECT_EQ(create(IBV_QPT_RC, static_cast<std::uint32_t>(device.max_qp_wr) + 1, 1), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(create(IBV_QPT_RC, 1, static_cast<std::uint32_t>(device.max_sge) + 1), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(create(IBV_QPT_RAW_PACKET, 1, 1), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
}

/// A request that was posted leaves before the queue pair changes its state, as in an HCA, which
/// executes the command later.
TEST(Modify, WhatWasPostedLeavesBeforeTheQueuePairStops) {
    for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
        SCOPED_TRACE(type);
        QpOptions o;
        o.type = type;
        for (int round = 0; round < 10; ++round) {
            Pair p(o);
            for (std::uint64_t i = 0; i < 16; ++i) {
                ASSERT_EQ(p.b.receive(i, 0, 4096), 0);
            }
            for (std::uint64_t i = 0; i < 16; ++i) {
                Send s(IBV_WR_SEND);
                ASSERT_EQ(s.from(p.a.region(), 0, 4096).post(p.a.qp.get()), 0);
            }
            ASSERT_EQ(to_state(p.a.qp.get(), IBV_QPS_ERR), 0);
            for (const ibv_wc& wc : poll_many(p.b.recv_cq.get(), 16)) {
                ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
            }
            EXPECT_EQ(poll_many(p.a.send_cq.get(), 16).size(), 16U);
        }
    }
}

TEST(Modify, DatagramsLeaveBeforeTheQueuePairStops) {
    for (int round = 0; round < 10; ++round) {
        DatagramPair p;
        for (std::uint64_t i = 0; i < 16; ++i) {
            ASSERT_EQ(p.b.receive(i, 0, kGrh + 64), 0);
        }
        for (std::uint64_t i = 0; i < 16; ++i) {
            ASSERT_EQ(p.send().from(p.a.region(), 0, 64).post(p.a.qp.get()), 0);
        }
        ASSERT_EQ(to_state(p.a.qp.get(), IBV_QPS_ERR), 0);
        for (const ibv_wc& wc : poll_many(p.b.recv_cq.get(), 16)) {
            ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
        }
    }
}

/// Requests that cannot leave, because receives, answers or a peer are missing, do not delay the
/// change of state.
TEST(Modify, WhatCannotLeaveIsFlushed) {
    QpOptions o;
    o.timeout = 20;   // Four seconds.
    o.rnr_timer = 0;  // Two thirds of a second.
    Pair no_receives(o);
    Pair no_peer(o);
    no_peer.b.qp.reset();
    for (Pair* p : {&no_receives, &no_peer}) {
        for (std::uint64_t i = 0; i < 16; ++i) {
            Send s(IBV_WR_SEND);
            ASSERT_EQ(s.from(p->a.region(), 0, 4096).post(p->a.qp.get()), 0);
        }
        ASSERT_EQ(to_state(p->a.qp.get(), IBV_QPS_ERR), 0);
        for (const ibv_wc& wc : poll_many(p->a.send_cq.get(), 16)) {
            EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
        }
    }
}

}  // namespace
}  // namespace softib::test
