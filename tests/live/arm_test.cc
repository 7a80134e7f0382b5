// SPDX-License-Identifier: BSD-2-Clause
// Arming a completion queue loses no wake-up, whatever was polled before.
#include <fcntl.h>

#include <algorithm>
#include <deque>
#include <thread>

#include "core/base/prng.h"
#include "verbs_rig.h"

namespace softib::test {
namespace {

/// Sends a SEND from `a` to `b`. When this returns, its completion is in the receiver's queue.
void send_to_b(Pair& p, bool solicited) {
    ASSERT_EQ(p.b.receive(1, 0, 64), 0);
    const unsigned also = solicited ? unsigned{IBV_SEND_SOLICITED} : 0U;
    Send s(IBV_WR_SEND, IBV_SEND_SIGNALED | also);
    ASSERT_EQ(s.from(p.a.region(), 0, 64).post(p.a.qp.get()), 0);
    ASSERT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
}

bool has_event(const Pair& p) {
    return readable(p.b.channel->fd, 0ms);
}

TEST(Arming, RaisesTheEventOfAnUnpolledCompletionAtOnce) {
    Pair p(with_channel());
    send_to_b(p, false);
    ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 0), 0);
    EXPECT_TRUE(has_event(p));
    EXPECT_TRUE(take_event(p.b.channel.get(), p.b.recv_cq.get()));
    // The event has used up the arming.
    send_to_b(p, false);
    EXPECT_FALSE(has_event(p));
}

/// A program that takes the event, arms and polls, as perftest does, gets the next event for the
/// next completion.
TEST(Arming, BetweenAnEventAndItsPollRaisesNoSecondOne) {
    Pair p(with_channel());
    ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 0), 0);
    for (int i = 0; i < 3; ++i) {
        send_to_b(p, false);
        EXPECT_TRUE(take_event(p.b.channel.get(), p.b.recv_cq.get()));
        ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 0), 0);
        EXPECT_FALSE(has_event(p));
        EXPECT_EQ(next(p.b.recv_cq.get()).status, IBV_WC_SUCCESS);
    }
    // A completion that came before the queue is armed raises an event at once.
    send_to_b(p, false);
    send_to_b(p, false);
    EXPECT_TRUE(take_event(p.b.channel.get(), p.b.recv_cq.get()));
    ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 0), 0);
    EXPECT_TRUE(has_event(p));
}

TEST(Arming, ForSolicitedCompletionsSeesNoOthers) {
    Pair p(with_channel());
    send_to_b(p, false);
    ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 1), 0);
    EXPECT_FALSE(has_event(p));
    send_to_b(p, true);
    EXPECT_TRUE(take_event(p.b.channel.get(), p.b.recv_cq.get()));
    EXPECT_EQ(next(p.b.recv_cq.get()).status, IBV_WC_SUCCESS);
    send_to_b(p, false);  // The solicited completion is between two others.
    ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 1), 0);
    EXPECT_TRUE(take_event(p.b.channel.get(), p.b.recv_cq.get()));
}

TEST(Arming, ForSolicitedCompletionsSeesAnUnpolledError) {
    Pair p(with_channel());
    ASSERT_EQ(p.b.receive(1, 0, 64), 0);
    ASSERT_EQ(to_state(p.b.qp.get(), IBV_QPS_ERR), 0);
    ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 1), 0);
    EXPECT_TRUE(take_event(p.b.channel.get(), p.b.recv_cq.get()));
}

TEST(Arming, FindsWhatAResizedQueueHolds) {
    Pair p(with_channel());
    send_to_b(p, false);
    send_to_b(p, true);
    ASSERT_EQ(ibv_resize_cq(p.b.recv_cq.get(), 500), 0);
    ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 1), 0);
    EXPECT_TRUE(take_event(p.b.channel.get(), p.b.recv_cq.get()));
}

TEST(Arming, DoesNotSeeTheCompletionsOfAQueuePairThatIsGone) {
    Pair p(with_channel());
    send_to_b(p, true);
    p.b.qp.reset();
    ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 0), 0);
    EXPECT_FALSE(has_event(p));
}

TEST(Arming, AgainAndAgainRaisesOneEventUntilItIsTaken) {
    Pair p(with_channel());
    send_to_b(p, false);
    for (int i = 0; i < 10000; ++i) {
        ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 0), 0);
    }
    EXPECT_TRUE(take_event(p.b.channel.get(), p.b.recv_cq.get()));
    EXPECT_FALSE(has_event(p));
    ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 0), 0);
    EXPECT_TRUE(has_event(p));
}

/// A program that takes no events for long fills its channel with those of one queue. Another queue
/// stays armed then.
TEST(Arming, OutlastsAChannelWithoutRoom) {
    Pair p(with_channel());
    const auto write_from_b = [&] {
        Send s(IBV_WR_RDMA_WRITE);
        ASSERT_EQ(s.from(p.b.region(), 0, 8).to(p.a.region(), 0).post(p.b.qp.get()), 0);
        let_arrive();
    };
    const std::size_t room =
        static_cast<std::size_t>(fcntl(p.b.channel->fd, F_GETPIPE_SZ)) / 16;  // 16 bytes an event.
    for (std::size_t i = 0; i < room + 10; ++i) {
        ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 0), 0);
        send_to_b(p, false);
        ASSERT_EQ(next(p.b.recv_cq.get()).status, IBV_WC_SUCCESS);
    }
    write_from_b();
    ASSERT_EQ(ibv_req_notify_cq(p.b.send_cq.get(), 0), 0);
    for (std::size_t i = 0; i < room; ++i) {
        ASSERT_TRUE(take_event(p.b.channel.get(), p.b.recv_cq.get()));
    }
    ASSERT_FALSE(has_event(p));
    write_from_b();
    EXPECT_TRUE(take_event(p.b.channel.get(), p.b.send_cq.get()));
}

TEST(Arming, IsPossibleWhileTheQueueIsPolled) {
    End end(0, with_channel());
    ibv_cq_init_attr_ex attr{};
    attr.cqe = 8;
    attr.channel = end.channel.get();
    ibv_cq_ex* const cq = ibv_create_cq_ex(end.context.get(), &attr);
    ASSERT_NE(cq, nullptr);
    const Owned<ibv_cq> owned(ibv_cq_ex_to_cq(cq));
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = owned.get();
    init.cap = {4, 4, 1, 1, 0};
    init.qp_type = IBV_QPT_RC;
    const Owned<ibv_qp> qp(ibv_create_qp(end.pd.get(), &init));
    ASSERT_EQ(to_init(qp.get(), {}), 0);
    ASSERT_EQ(post_recv(qp.get(), 1, {}), 0);
    ASSERT_EQ(post_recv(qp.get(), 2, {}), 0);
    ASSERT_EQ(to_state(qp.get(), IBV_QPS_ERR), 0);
    ibv_poll_cq_attr poll_attr{};
    ASSERT_EQ(ibv_start_poll(cq, &poll_attr), 0);
    ASSERT_EQ(ibv_req_notify_cq(owned.get(), 0), 0);  // The second completion is not polled yet.
    EXPECT_TRUE(take_event(end.channel.get(), owned.get()));
    ASSERT_EQ(ibv_next_poll(cq), 0);
    ASSERT_EQ(ibv_req_notify_cq(owned.get(), 0), 0);
    EXPECT_FALSE(readable(end.channel->fd, 0ms));
    ibv_end_poll(cq);
}

/// A model of what a program may expect of one queue and its channel.
class Model {
  public:
    enum class Arm { kNone, kSolicited, kAny };

    void complete(bool solicited) {
        unpolled_.push_back(solicited);
        if (armed_ == Arm::kAny || (armed_ == Arm::kSolicited && solicited)) {
            armed_ = Arm::kNone;
            events_.push_back({polled_, unpolled_.size()});
        }
    }
    void arm(bool solicited_only) {
        if (armed_ != Arm::kAny || !solicited_only) {
            armed_ = solicited_only ? Arm::kSolicited : Arm::kAny;
        }
        const std::size_t told = told_.polled == polled_ ? told_.completions : 0;
        const auto from = unpolled_.begin() + static_cast<std::ptrdiff_t>(told);
        const bool holds = armed_ == Arm::kAny
                               ? from != unpolled_.end()
                               : std::find(from, unpolled_.end(), true) != unpolled_.end();
        if (holds && !announced_) {
            armed_ = Arm::kNone;
            announced_ = true;
            events_.push_back({});
        }
    }
    std::size_t poll(std::size_t max) {
        const std::size_t n = std::min(max, unpolled_.size());
        unpolled_.erase(unpolled_.begin(), unpolled_.begin() + static_cast<std::ptrdiff_t>(n));
        polled_ += n;
        return n;
    }
    void take() {
        told_ = events_.front();
        events_.pop_front();
        announced_ = false;
    }
    std::size_t unpolled() const { return unpolled_.size(); }
    std::size_t events() const { return events_.size(); }

  private:
    /// An event, with the completions that were unpolled when it was raised, and those polled
    /// before. An arming that raises an event at once counts as one without completions.
    struct Raised {
        std::size_t polled = 0;
        std::size_t completions = 0;
    };
    std::deque<bool> unpolled_;
    Arm armed_ = Arm::kNone;
    bool announced_ = false;
    std::deque<Raised> events_;
    Raised told_;  ///< The event that was taken last.
    std::size_t polled_ = 0;
};

/// A connection whose receiver has a second queue pair, which completes receives in error.
struct Bench {
    Bench() : broken(p.b.make_qp(p.b.options)) {
        EXPECT_EQ(to_init(broken.get(), p.b.options), 0);
        EXPECT_EQ(to_state(broken.get(), IBV_QPS_ERR), 0);
    }
    void complete_in_error() {
        ASSERT_EQ(post_recv(broken.get(), 2, {}), 0);
        // The completion in error is there when a WRITE has gone to the other side and its
        // acknowledgement has come back.
        Send write(IBV_WR_RDMA_WRITE);
        ASSERT_EQ(write.from(p.a.region(), 0, 8).to(p.b.region(), 0).post(p.a.qp.get()), 0);
        ASSERT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
    }
    Pair p{with_channel()};
    Owned<ibv_qp> broken;
};

TEST(Arming, AnyOrderOfArmingPollingAndCompletingIsAsTheModelSays) {
    constexpr std::size_t kUnpolledMax = 12;  // The queue holds more than this.
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        Bench bench;
        Pair& p = bench.p;
        Prng random(seed);
        Model model;
        for (int step = 0; step < 1000 && !testing::Test::HasFailure(); ++step) {
            SCOPED_TRACE(step);
            const std::uint64_t what = random.below(8);
            if (what < 3 && model.unpolled() < kUnpolledMax) {
                const bool in_error = random.chance(1, 6);
                const bool solicited = in_error || random.chance(1, 3);
                in_error ? bench.complete_in_error() : send_to_b(p, solicited);
                model.complete(solicited);
            } else if (what < 5) {
                const bool solicited_only = random.chance(1, 2);
                ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), solicited_only ? 1 : 0), 0);
                model.arm(solicited_only);
            } else if (what < 7) {
                ibv_wc wc[4];
                const std::size_t max = 1 + random.below(4);
                ASSERT_EQ(ibv_poll_cq(p.b.recv_cq.get(), static_cast<int>(max), wc),
                          static_cast<int>(model.poll(max)));
            } else if (model.events() != 0) {
                ASSERT_TRUE(take_event(p.b.channel.get(), p.b.recv_cq.get()));
                model.take();
            }
            ASSERT_EQ(has_event(p), model.events() != 0);
        }
        for (; model.events() != 0; model.take()) {
            ASSERT_TRUE(take_event(p.b.channel.get(), p.b.recv_cq.get()));
        }
        EXPECT_FALSE(has_event(p));
    }
}

/// A program that sleeps as UCX does: it arms, waits, and takes one completion, without a poll in
/// between.
TEST(Arming, AThreadThatSleepsWithoutPollingOnceMoreIsWoken) {
    constexpr int kMessages = 3000;
    Pair p(with_channel());
    for (std::uint64_t i = 0; i < 16; ++i) {
        ASSERT_EQ(p.b.receive(i, 0, 64), 0);
    }
    std::thread sender([&] {
        for (int i = 0; i < kMessages; ++i) {
            Send s(IBV_WR_SEND);
            ASSERT_EQ(s.from(p.a.region(), 0, 64).post(p.a.qp.get()), 0);
            ASSERT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
        }
    });
    int received = 0;
    while (received < kMessages) {
        EXPECT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 0), 0);
        if (!take_event(p.b.channel.get(), p.b.recv_cq.get())) {
            ADD_FAILURE() << "asleep for ever after " << received << " messages";
            break;
        }
        ibv_wc wc{};
        if (ibv_poll_cq(p.b.recv_cq.get(), 1, &wc) == 1) {
            EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
            EXPECT_EQ(p.b.receive(wc.wr_id, 0, 64), 0);
            ++received;
        }
    }
    sender.join();
}

}  // namespace
}  // namespace softib::test
