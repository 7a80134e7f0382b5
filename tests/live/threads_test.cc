// SPDX-License-Identifier: BSD-2-Clause
// Several threads use the same queues at once. The work of each of them must be done in the end,
// exactly once.
#include <atomic>
#include <set>
#include <thread>

#include "verbs_rig.h"

namespace softib::test {
namespace {

constexpr std::uint64_t kThreads = 4;
constexpr std::uint64_t kEach = 500;

void in_parallel(const auto& work) {
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&work, t] { work(t); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

/// Posts a request, and tries again until there is room. Returns false if there never is.
bool post_patiently(const auto& post) {
    const auto end = std::chrono::steady_clock::now() + kLong;
    for (;;) {
        const int error = post();
        if (error == 0) {
            return true;
        }
        if (error != ENOMEM || std::chrono::steady_clock::now() > end) {
            ADD_FAILURE() << "post: " << error;
            return false;
        }
        std::this_thread::yield();
    }
}

/// Polls until all pollers together have `total` completions; counts good ones by wr_id.
void poll_together(ibv_cq* cq, std::atomic<std::uint64_t>& taken, std::uint64_t total,
                   std::vector<std::atomic<std::uint32_t>>& seen) {
    const auto end = std::chrono::steady_clock::now() + kLong;
    while (taken.load() < total && std::chrono::steady_clock::now() < end) {
        ibv_wc wc[8];
        const int n = ibv_poll_cq(cq, 8, wc);
        ASSERT_GE(n, 0);
        for (int i = 0; i < n; ++i) {
            EXPECT_EQ(wc[i].status, IBV_WC_SUCCESS);
            seen[wc[i].wr_id].fetch_add(1);
        }
        taken.fetch_add(static_cast<std::uint64_t>(n));
        if (n == 0) {
            std::this_thread::yield();
        }
    }
}

void expect_each_once(const std::vector<std::atomic<std::uint32_t>>& seen) {
    for (std::size_t i = 0; i < seen.size(); ++i) {
        ASSERT_EQ(seen[i].load(), 1U) << "request " << i;
    }
}

TEST(Threads, ShareOneQueuePairAndItsCompletionQueue) {
    Pair p;
    std::vector<std::atomic<std::uint32_t>> seen(kThreads * kEach);
    std::atomic<std::uint64_t> taken = 0;
    p.b.memory.word(0) = 0;
    std::thread poller([&] { poll_together(p.a.send_cq.get(), taken, kThreads * kEach, seen); });
    in_parallel([&](std::uint64_t t) {
        for (std::uint64_t i = 0; i < kEach; ++i) {
            ASSERT_TRUE(post_patiently([&] {
                ibv_sge sge = sge_of(p.a.region(), 8 * t, 8);
                ibv_send_wr wr{};
                ibv_send_wr* bad = nullptr;
                wr.wr_id = t * kEach + i;
                wr.sg_list = &sge;
                wr.num_sge = 1;
                wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
                wr.send_flags = IBV_SEND_SIGNALED;
                wr.wr.atomic.remote_addr = p.b.memory.address();
                wr.wr.atomic.rkey = p.b.mr->rkey;
                wr.wr.atomic.compare_add = 1;
                return ibv_post_send(p.a.qp.get(), &wr, &bad);
            }));
        }
    });
    poller.join();
    expect_each_once(seen);
    EXPECT_EQ(p.b.memory.word(0), kThreads * kEach);
}

TEST(Threads, AtomicsOfManyQueuePairsOnOneWordAddUp) {
    End b(1);
    b.memory.word(64) = 0;
    std::vector<std::unique_ptr<End>> senders;
    std::vector<Owned<ibv_qp>> receivers;
    for (std::uint64_t t = 0; t < kThreads; ++t) {
        End& a = *senders.emplace_back(std::make_unique<End>(0));
        ibv_qp* to = receivers.emplace_back(b.make_qp(b.options)).get();
        ASSERT_EQ(to_init(a.qp.get(), a.options), 0);
        ASSERT_EQ(to_init(to, b.options), 0);
        ASSERT_EQ(to_rtr(to, b.options, a.qp->qp_num, lid_of(a.context.get())), 0);
        ASSERT_EQ(to_rtr(a.qp.get(), a.options, to->qp_num, lid_of(b.context.get())), 0);
        ASSERT_EQ(to_rts(a.qp.get(), a.options), 0);
    }
    in_parallel([&](std::uint64_t t) {
        for (std::uint64_t i = 0; i < kEach; ++i) {
            End& a = *senders[t];
            Send s(IBV_WR_ATOMIC_FETCH_AND_ADD);
            s.from(a.region(), 0, 8).to(b.region(), 64).atomic(1);
            ASSERT_EQ(s.post(a.qp.get()), 0);
            ASSERT_EQ(next(a.send_cq.get()).status, IBV_WC_SUCCESS);
        }
    });
    EXPECT_EQ(b.memory.word(64), kThreads * kEach);
}

/// Four connections share one shared receive queue and one completion queue: one thread posts
/// receives, two poll, four send.
TEST(Threads, ShareOneSharedReceiveQueue) {
    QpOptions o;
    o.with_srq = true;
    End b(1, o);
    std::vector<std::unique_ptr<End>> senders;
    std::vector<Owned<ibv_qp>> receivers;
    for (std::uint64_t t = 0; t < kThreads; ++t) {
        End& a = *senders.emplace_back(std::make_unique<End>(0));
        ibv_qp* to = receivers.emplace_back(b.make_qp(b.options)).get();
        ASSERT_EQ(to_init(a.qp.get(), a.options), 0);
        ASSERT_EQ(to_init(to, b.options), 0);
        ASSERT_EQ(to_rtr(to, b.options, a.qp->qp_num, lid_of(a.context.get())), 0);
        ASSERT_EQ(to_rtr(a.qp.get(), a.options, to->qp_num, lid_of(b.context.get())), 0);
        ASSERT_EQ(to_rts(a.qp.get(), a.options), 0);
    }
    std::vector<std::atomic<std::uint32_t>> seen(kThreads * kEach);
    std::atomic<std::uint64_t> taken = 0;
    std::vector<std::thread> others;
    for (int i = 0; i < 2; ++i) {
        others.emplace_back([&] { poll_together(b.recv_cq.get(), taken, kThreads * kEach, seen); });
    }
    others.emplace_back([&] {
        for (std::uint64_t i = 0; i < kThreads * kEach; ++i) {
            // A buffer is posted again once its last receive has completed, not before: receives
            // of different connections complete in any order.
            while (i >= 32 && seen[i - 32].load() == 0) {
                std::this_thread::yield();
            }
            ASSERT_TRUE(post_patiently([&] {
                return post_recv(b.srq.get(), i, {sge_of(b.region(), 64 * (i % 32), 64)});
            }));
        }
    });
    in_parallel([&](std::uint64_t t) {
        for (std::uint64_t i = 0; i < kEach; ++i) {
            End& a = *senders[t];
            ASSERT_EQ(Send(IBV_WR_SEND).from(a.region(), 0, 64).post(a.qp.get()), 0);
            ASSERT_EQ(next(a.send_cq.get()).status, IBV_WC_SUCCESS);
        }
    });
    for (std::thread& thread : others) {
        thread.join();
    }
    expect_each_once(seen);
}

TEST(Threads, BothDirectionsOfOneConnection) {
    Pair p;
    const auto talk = [](End& from, End& to) {
        for (std::uint64_t i = 0; i < kEach; ++i) {
            ASSERT_EQ(to.receive(i, 4096, 64), 0);
            ASSERT_EQ(Send(IBV_WR_SEND).from(from.region(), 0, 64).post(from.qp.get()), 0);
            ASSERT_EQ(next(from.send_cq.get()).status, IBV_WC_SUCCESS);
            ASSERT_EQ(next(to.recv_cq.get()).wr_id, i);
        }
    };
    std::thread other([&] { talk(p.b, p.a); });
    talk(p.a, p.b);
    other.join();
}

TEST(Threads, SleepingReceiverIsWokenForEveryMessage) {
    QpOptions o;
    o.with_channel = true;
    Pair p(o);
    std::thread sender([&] {
        for (std::uint64_t i = 0; i < kEach; ++i) {
            ASSERT_EQ(Send(IBV_WR_SEND).from(p.a.region(), 0, 8).post(p.a.qp.get()), 0);
            ASSERT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
        }
    });
    std::uint64_t got = 0;
    for (std::uint64_t i = 0; i < 8; ++i) {
        ASSERT_EQ(p.b.receive(i, 0, 64), 0);
    }
    while (got < kEach) {
        ASSERT_EQ(ibv_req_notify_cq(p.b.recv_cq.get(), 0), 0);
        ibv_wc wc{};
        bool any = false;
        while (ibv_poll_cq(p.b.recv_cq.get(), 1, &wc) == 1) {
            ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
            ++got;
            any = true;
            ASSERT_EQ(p.b.receive(got, 0, 64), 0);
        }
        if (!any && got < kEach) {
            ASSERT_TRUE(take_event(p.b.channel.get(), p.b.recv_cq.get())) << "after " << got;
        }
    }
    sender.join();
}

TEST(Threads, RegionsComeAndGoWhileAPeerWrites) {
    Pair p;
    std::atomic<bool> stop = false;
    std::thread writer([&] {
        while (!stop.load()) {
            Send s(IBV_WR_RDMA_WRITE);
            ASSERT_EQ(s.from(p.a.region(), 0, 256).to(p.b.region(), 128).post(p.a.qp.get()), 0);
            ASSERT_EQ(next(p.a.send_cq.get()).status, IBV_WC_SUCCESS);
        }
    });
    in_parallel([&](std::uint64_t t) {
        Buffer memory(8 * kPage);
        for (std::uint64_t i = 0; i < 50; ++i) {
            const Owned<ibv_mr> mr(
                ibv_reg_mr(p.b.pd.get(), memory.data() + t, 7 * kPage, kAllAccess));
            ASSERT_NE(mr, nullptr);
        }
    });
    stop.store(true);
    writer.join();
}

/// Requests that wait are tried again by polls and by the helper thread, while the state of the
/// queue pair changes.
TEST(Threads, StateChangesWhileRequestsWait) {
    Pair p;
    std::thread receiver([&] {
        for (std::uint64_t i = 0; i < kEach; ++i) {
            ASSERT_TRUE(post_patiently([&] { return p.b.receive(i, 0, 64); }));
            ASSERT_EQ(next(p.b.recv_cq.get()).wr_id, i);
        }
    });
    std::atomic<bool> stop = false;
    std::thread changer([&] {
        while (!stop.load()) {
            ASSERT_EQ(to_state(p.a.qp.get(), IBV_QPS_SQD), 0);
            ASSERT_EQ(to_state(p.a.qp.get(), IBV_QPS_RTS), 0);
            std::this_thread::yield();
        }
    });
    for (std::uint64_t i = 0; i < kEach; ++i) {
        ASSERT_EQ(Send(IBV_WR_SEND).id(i).from(p.a.region(), 0, 64).post(p.a.qp.get()), 0);
        ASSERT_EQ(next(p.a.send_cq.get()).wr_id, i);
    }
    stop.store(true);
    changer.join();
    receiver.join();
}

TEST(Threads, ReceivesPostedWhileTheQueuePairFailsComeBackOnce) {
    for (int turn = 0; turn < 50; ++turn) {
        Pair p;
        std::uint64_t posted = 0;
        std::thread poster([&] {
            for (; posted < p.b.options.recv_wr; ++posted) {
                ASSERT_EQ(p.b.receive(posted, 0, 64), 0);
            }
        });
        Send bad(IBV_WR_RDMA_WRITE);
        ASSERT_EQ(bad.from(p.a.region(), 0, 8).at(p.b.memory.address(), 1).post(p.a.qp.get()), 0);
        poster.join();
        const auto flushed = poll_many(p.b.recv_cq.get(), posted);
        for (std::uint64_t i = 0; i < flushed.size(); ++i) {
            ASSERT_EQ(flushed[i].wr_id, i);
            ASSERT_EQ(flushed[i].status, IBV_WC_WR_FLUSH_ERR);
        }
        ASSERT_TRUE(empty(p.b.recv_cq.get()));
    }
}

TEST(Threads, QueuePairsComeAndGoOnOneCompletionQueue) {
    End a(0);
    End b(1);
    in_parallel([&](std::uint64_t t) {
        for (std::uint64_t i = 0; i < 40; ++i) {
            const auto from = a.make_qp(a.options);
            const auto to = b.make_qp(b.options);
            ASSERT_EQ(to_init(from.get(), a.options), 0);
            ASSERT_EQ(to_init(to.get(), b.options), 0);
            ASSERT_EQ(to_rtr(from.get(), a.options, to->qp_num, lid_of(b.context.get())), 0);
            ASSERT_EQ(to_rtr(to.get(), b.options, from->qp_num, lid_of(a.context.get())), 0);
            ASSERT_EQ(to_rts(from.get(), a.options), 0);
            Send s(IBV_WR_RDMA_WRITE);
            s.id(t).from(a.region(), 0, 8).to(b.region(), 8 * t);
            ASSERT_EQ(s.post(from.get()), 0);
        }
    });
}

}  // namespace
}  // namespace softib::test
