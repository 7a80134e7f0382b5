// SPDX-License-Identifier: BSD-2-Clause
// A peer that answers at once. An HCA completes a message before its receiver sees it, so in a
// completion queue that both share the completion of a message comes before that of its answer.
#include <thread>

#include "verbs_rig.h"

namespace softib::test {
namespace {

constexpr std::uint64_t kRounds = 1000;
constexpr std::uint32_t kBytes = 64;
constexpr std::uint64_t kQuestion = 1;
constexpr std::uint64_t kAnswer = 2;

/// An end whose sends and receives complete in one queue.
struct Asker : End {
    explicit Asker(const QpOptions& o) : End(0, o) {
        qp.reset();
        ibv_qp_init_attr attr{};
        attr.send_cq = attr.recv_cq = recv_cq.get();
        attr.cap = {o.send_wr, o.recv_wr, o.sges, o.sges, o.inline_bytes};
        attr.qp_type = o.type;
        qp.reset(ibv_create_qp(pd.get(), &attr));
    }
};

/// Answers each message. Sleeps until one comes: the sender wakes the receiver as its last step.
void answer_all(End& end, Send answer) {
    for (std::uint64_t round = 0; round < kRounds; ++round) {
        ASSERT_TRUE(take_event(end.channel.get(), end.recv_cq.get()));
        ASSERT_EQ(ibv_req_notify_cq(end.recv_cq.get(), 0), 0);
        ASSERT_EQ(next(end.recv_cq.get()).status, IBV_WC_SUCCESS);
        ASSERT_EQ(end.receive(0, kGrh + kBytes, kGrh + kBytes), 0);
        ASSERT_EQ(answer.post(end.qp.get()), 0);
        ASSERT_EQ(next(end.send_cq.get()).status, IBV_WC_SUCCESS);
    }
}

void ask_all(End& asker, Send question) {
    question.id(kQuestion).from(asker.region(), 0, kBytes);
    for (std::uint64_t round = 0; round < kRounds; ++round) {
        ASSERT_EQ(asker.receive(kAnswer, kBytes, kGrh + kBytes), 0);
        ASSERT_EQ(question.post(asker.qp.get()), 0);
        ASSERT_EQ(next(asker.recv_cq.get()).wr_id, kQuestion) << "in round " << round;
        ASSERT_EQ(next(asker.recv_cq.get()).wr_id, kAnswer) << "in round " << round;
    }
}

void run(Asker& asker, End& answerer, const Send& question, Send answer) {
    ASSERT_EQ(ibv_req_notify_cq(answerer.recv_cq.get(), 0), 0);
    ASSERT_EQ(answerer.receive(0, kGrh + kBytes, kGrh + kBytes), 0);
    answer.from(answerer.region(), 0, kBytes);
    std::thread other([&] { answer_all(answerer, answer); });
    ask_all(asker, question);
    if (testing::Test::HasFatalFailure()) {
        to_state(answerer.qp.get(), IBV_QPS_ERR);  // No more questions will come.
    }
    other.join();
}

QpOptions options(ibv_qp_type type) {
    QpOptions o;
    o.type = type;
    o.with_channel = true;
    return o;
}

class Connected : public testing::TestWithParam<ibv_qp_type> {};

TEST_P(Connected, NoAnswerOvertakesTheCompletion) {
    Asker asker(options(GetParam()));
    End answerer(1, options(GetParam()));
    connect(asker, answerer);
    run(asker, answerer, Send(IBV_WR_SEND), Send(IBV_WR_SEND));
}

INSTANTIATE_TEST_SUITE_P(Answers, Connected, testing::Values(IBV_QPT_RC, IBV_QPT_UC));

TEST(Answers, NoDatagramOvertakesTheCompletion) {
    Asker asker(options(IBV_QPT_UD));
    End answerer(1, options(IBV_QPT_UD));
    for (End* end : {static_cast<End*>(&asker), &answerer}) {
        ASSERT_EQ(to_init(end->qp.get(), end->options), 0);
        ASSERT_EQ(to_rtr(end->qp.get(), end->options, 0, 0), 0);
        ASSERT_EQ(to_rts(end->qp.get(), end->options), 0);
    }
    const Owned<ibv_ah> there = make_ah(asker, answerer, false);
    const Owned<ibv_ah> back = make_ah(answerer, asker, false);
    Send question(IBV_WR_SEND);
    question.datagram(there.get(), answerer.qp->qp_num, answerer.options.qkey);
    Send answer(IBV_WR_SEND);
    answer.datagram(back.get(), asker.qp->qp_num, asker.options.qkey);
    run(asker, answerer, question, answer);
}

}  // namespace
}  // namespace softib::test
