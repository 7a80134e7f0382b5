// SPDX-License-Identifier: BSD-2-Clause
// Completion queues, receive queues, send queues, timers: the parts that are rings and heaps.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/base/prng.h"
#include "core/hca/completion_queue.h"
#include "core/hca/payload.h"
#include "core/hca/qp_attr.h"
#include "core/hca/receive_queue.h"
#include "core/hca/send_queue.h"
#include "core/hca/timer_heap.h"

namespace softib::hca {
namespace {

using Pushed = CompletionQueue::Pushed;

TEST(CompletionQueue, KeepsOrderRoundTheRing) {
    CompletionQueue cq(3);
    for (std::uint64_t i = 0; i < 10; ++i) {
        EXPECT_EQ(cq.push({.wr_id = i}, false), Pushed::kQuietly);
        EXPECT_EQ(cq.push({.wr_id = i + 100}, false), Pushed::kQuietly);
        EXPECT_EQ(cq.poll()->wr_id, i);
        EXPECT_EQ(cq.poll()->wr_id, i + 100);
    }
    EXPECT_FALSE(cq.poll());
}

TEST(CompletionQueue, FullQueueSaysSoAndKeepsWhatItHas) {
    CompletionQueue cq(1);
    cq.push({.wr_id = 1}, false);
    EXPECT_EQ(cq.push({.wr_id = 2}, false), Pushed::kOverrun);
    EXPECT_EQ(cq.poll()->wr_id, 1U);
    EXPECT_FALSE(cq.poll());
}

TEST(CompletionQueue, NotifiesOnceWhenArmed) {
    CompletionQueue cq(10);
    cq.arm(Arm::kAny);
    EXPECT_EQ(cq.push({}, false), Pushed::kNotify);
    EXPECT_EQ(cq.push({}, false), Pushed::kQuietly);
}

TEST(CompletionQueue, SolicitedOnlyWaitsForOneOrAnError) {
    CompletionQueue cq(10);
    cq.arm(Arm::kSolicited);
    EXPECT_EQ(cq.push({}, false), Pushed::kQuietly);
    EXPECT_EQ(cq.push({}, true), Pushed::kNotify);
    cq.arm(Arm::kSolicited);
    EXPECT_EQ(cq.push({.status = WcStatus::kWrFlushErr}, false), Pushed::kNotify);
    cq.arm(Arm::kAny);
    cq.arm(Arm::kSolicited);  // Without effect: the queue is armed for any completion.
    EXPECT_EQ(cq.push({}, false), Pushed::kNotify);
}

TEST(CompletionQueue, PurgeTakesOneQueuePairsOut) {
    CompletionQueue cq(4);
    cq.push({.wr_id = 0, .qpn = Qpn{9}}, false);
    cq.poll();
    for (std::uint64_t i = 0; i < 4; ++i) {
        cq.push({.wr_id = i, .qpn = Qpn{i % 2 == 0 ? 1U : 2U}}, false);
    }
    cq.purge(Qpn{1});
    EXPECT_EQ(cq.size(), 2U);
    EXPECT_EQ(cq.poll()->wr_id, 1U);
    EXPECT_EQ(cq.poll()->wr_id, 3U);
}

TEST(ReceiveQueue, GivesBackWhatWasPosted) {
    ReceiveQueue queue(2, 2);
    const std::array<Sge, 2> sges{Sge{1, 2, 3}, Sge{4, 5, 6}};
    TakenReceive taken;
    for (std::uint64_t i = 0; i < 5; ++i) {
        EXPECT_EQ(queue.post(i, sges), PostError::kOk);
        EXPECT_EQ(queue.post(i + 10, std::span(sges).first(1)), PostError::kOk);
        EXPECT_EQ(queue.post(99, {}), PostError::kFull);
        ASSERT_TRUE(queue.take(taken));
        EXPECT_EQ(taken.wr_id, i);
        EXPECT_EQ(taken.num_sge, 2U);
        EXPECT_EQ(taken.sges[1].addr, 4U);
        ASSERT_TRUE(queue.take(taken));
        EXPECT_EQ(taken.wr_id, i + 10);
        EXPECT_EQ(taken.num_sge, 1U);
    }
    EXPECT_FALSE(queue.take(taken));
    const std::array<Sge, 3> many{};
    EXPECT_EQ(queue.post(1, many), PostError::kInvalid);
}

struct SendRig {
    std::array<std::uint8_t, 64> bytes{};
    MemoryTable memory{4};
    Context context{memory};
    Pd pd{1};
    std::uint32_t key = memory.add_region(
        {.pd = pd, .addr = 0, .length = 64, .access = kLocalWrite, .bytes = bytes.data()});
    SendQueue queue{QpInit{.max_send_wr = 4, .max_send_sge = 3, .max_inline = 8}};
};

TEST(SendQueue, GathersAnyPart) {
    SendRig r;
    for (std::uint8_t i = 0; i < 64; ++i) {
        r.bytes[i] = i;
    }
    const std::array<Sge, 3> sges{Sge{0, 5, r.key}, Sge{40, 0, r.key}, Sge{20, 10, r.key}};
    WorkRequest wr;
    wr.sges = sges;
    EXPECT_EQ(r.queue.push(wr).length, 15U);
    const std::array<std::uint8_t, 15> whole{0, 1, 2, 3, 4, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29};
    for (std::uint32_t from = 0; from <= 15; ++from) {
        for (std::uint32_t n = 0; n <= 15 - from; ++n) {
            Payload payload;
            ASSERT_TRUE(r.queue.gather(r.context, r.pd, 0, from, n, payload));
            ASSERT_EQ(payload.length(), n);
            std::array<std::uint8_t, 15> out{};
            EXPECT_TRUE(payload.copy_to(out));
            EXPECT_TRUE(std::equal(out.begin(), out.begin() + n, whole.begin() + from));
        }
    }
    Payload payload;
    EXPECT_FALSE(r.queue.gather(r.context, r.pd, 0, 10, 6, payload));
}

TEST(SendQueue, ScattersAnyPart) {
    SendRig r;
    const std::array<Sge, 3> sges{Sge{0, 5, r.key}, Sge{40, 0, r.key}, Sge{20, 10, r.key}};
    const std::array<std::uint8_t, 4> data{1, 2, 3, 4};
    EXPECT_EQ(scatter_into(r.context, r.pd, sges, 3, Payload(data)), Scattered::kAll);
    EXPECT_EQ(r.bytes[3], 1);
    EXPECT_EQ(r.bytes[4], 2);
    EXPECT_EQ(r.bytes[20], 3);
    EXPECT_EQ(r.bytes[21], 4);
    EXPECT_EQ(scatter_into(r.context, r.pd, sges, 12, Payload(data)), Scattered::kTooShort);
    EXPECT_EQ(scatter_into(r.context, Pd{2}, sges, 0, Payload(data)), Scattered::kNotAllowed);
    Payload nothing;
    nothing.add(nullptr, 4);
    EXPECT_EQ(scatter_into(r.context, r.pd, sges, 0, nothing), Scattered::kAll);
    EXPECT_EQ(r.bytes[3], 1);
}

WorkRequest request_with(std::span<const Sge> sges) {
    WorkRequest wr;
    wr.sges = sges;
    return wr;
}

TEST(SendQueue, ChecksWhatIsPosted) {
    SendRig r;
    const std::array<Sge, 4> many{};
    const std::array<std::uint8_t, 9> data{};
    EXPECT_EQ(r.queue.check(request_with(many)), PostError::kInvalid);
    WorkRequest inline_data;
    inline_data.flags = kSendInline;
    inline_data.inline_data = data;
    EXPECT_EQ(r.queue.check(inline_data), PostError::kInvalid);
    WorkRequest inline_read;
    inline_read.opcode = WrOpcode::kRead;
    inline_read.flags = kSendInline;
    EXPECT_EQ(r.queue.check(inline_read), PostError::kInvalid);
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(r.queue.check({}), PostError::kOk);
        r.queue.push({});
    }
    EXPECT_EQ(r.queue.check({}), PostError::kFull);
    r.queue.pop();
    EXPECT_EQ(r.queue.check({}), PostError::kOk);
}

TEST(SendQueue, MoreThanTwoGigabytesIsTooLong) {
    SendRig r;
    const std::array<Sge, 2> sges{Sge{0, 1U << 31, 1}, Sge{0, 1, 1}};
    EXPECT_FALSE(r.queue.push(request_with(std::span(sges).first(1))).too_long);
    EXPECT_TRUE(r.queue.push(request_with(sges)).too_long);
}

TEST(Payload, LengthsWithoutBytesCopyAsZeros) {
    Payload payload;
    const std::array<std::uint8_t, 2> data{7, 8};
    payload.add(data.data(), 2);
    payload.add(nullptr, 2);
    payload.add(nullptr, 0);
    EXPECT_EQ(payload.parts().size(), 2U);
    std::array<std::uint8_t, 4> out{1, 1, 1, 1};
    EXPECT_FALSE(payload.copy_to(out));
    EXPECT_EQ(out, (std::array<std::uint8_t, 4>{7, 8, 0, 0}));
}

TEST(TimerHeap, ComesUpInOrderAndNeverLate) {
    Prng prng(1);
    TimerHeap heap(50);
    std::map<std::uint32_t, std::uint64_t> wanted;
    for (int round = 0; round < 2000; ++round) {
        const auto timer = static_cast<std::uint32_t>(prng.below(50));
        const std::uint64_t at = 1 + prng.below(1000);
        heap.set(timer, at);
        const auto [entry, added] = wanted.try_emplace(timer, at);
        entry->second = std::min(entry->second, at);
        if (prng.chance(1, 4)) {
            const auto least = std::ranges::min_element(
                wanted, {}, [](const auto& w) { return std::pair(w.second, w.first); });
            ASSERT_EQ(heap.first_ns(), least->second);
            ASSERT_EQ(heap.pop(), least->first);
            wanted.erase(least);
        }
        ASSERT_EQ(heap.empty(), wanted.empty());
    }
}

TEST(QpAttr, ValuesOutOfRangeAreRefused) {
    QpAttr attr;
    attr.port = 1;
    attr.path_mtu = 3;
    const std::uint32_t all = ~std::uint32_t{0};
    EXPECT_TRUE(values_are_valid(attr, all, 1));
    const auto refused = [&](auto member, auto value, std::uint32_t bit) {
        QpAttr bad = attr;
        bad.*member = static_cast<std::remove_cvref_t<decltype(bad.*member)>>(value);
        return !values_are_valid(bad, bit, 1) && values_are_valid(bad, all & ~bit, 1);
    };
    EXPECT_TRUE(refused(&QpAttr::port, 2, qp_attr::kPort));
    EXPECT_TRUE(refused(&QpAttr::pkey_index, 1, qp_attr::kPkeyIndex));
    EXPECT_TRUE(refused(&QpAttr::path_mtu, 0, qp_attr::kPathMtu));
    EXPECT_TRUE(refused(&QpAttr::path_mtu, 6, qp_attr::kPathMtu));
    EXPECT_TRUE(refused(&QpAttr::max_rd_atomic, 17, qp_attr::kMaxQpRdAtomic));
    EXPECT_TRUE(refused(&QpAttr::max_dest_rd_atomic, 17, qp_attr::kMaxDestRdAtomic));
    EXPECT_TRUE(refused(&QpAttr::retry_cnt, 8, qp_attr::kRetryCnt));
    EXPECT_TRUE(refused(&QpAttr::rnr_retry, 8, qp_attr::kRnrRetry));
    EXPECT_TRUE(refused(&QpAttr::timeout, 32, qp_attr::kTimeout));
    EXPECT_TRUE(refused(&QpAttr::min_rnr_timer, 32, qp_attr::kMinRnrTimer));
    EXPECT_TRUE(refused(&QpAttr::dest_qpn, 1 << 24, qp_attr::kDestQpn));
    EXPECT_TRUE(refused(&QpAttr::av_port, 2, qp_attr::kAv));
}

}  // namespace
}  // namespace softib::hca
