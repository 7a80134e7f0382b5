// SPDX-License-Identifier: BSD-2-Clause
// Once queue pairs exist, packets cost no memory: operator new (counting_new.cc) counts.
#include <gtest/gtest.h>

#include "pair.h"

namespace softib::transport {

std::uint64_t allocations();

namespace {

/// Delivers packets at once; every `lose`-th packet is lost.
void exchange(Pair& pair, std::uint64_t& now_ns, std::uint64_t lose) {
    static Transmit out;
    std::uint64_t packets = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (int end : {0, 1}) {
            while (pair.ends[end].hca.poll_transmit(out, now_ns)) {
                moved = true;
                if (++packets % lose != 0) {
                    pair.ends[1 - end].hca.handle_packet(out.headers, out.payload, now_ns);
                }
            }
        }
        if (!moved && pair.ends[0].hca.next_timeout_ns() != kNever) {
            now_ns = pair.ends[0].hca.next_timeout_ns();
            pair.ends[0].hca.handle_timeout(now_ns);
            moved = true;
        }
    }
}

std::uint64_t allocations_of(QpType type, std::uint64_t lose) {
    Pair pair({.type = type});
    std::uint64_t now_ns = 0;
    std::uint64_t before = 0;
    std::uint64_t done = 0;
    for (int round = 0; round < 20; ++round) {
        if (round == 1) {
            before = allocations();
        }
        for (const WrOpcode opcode : {WrOpcode::kSend, WrOpcode::kWrite, WrOpcode::kRead,
                                      WrOpcode::kFetchAdd, WrOpcode::kSendImm}) {
            pair.ends[1].receive(1, 0, 2048);
            const bool datagram = type == QpType::kUd;
            const std::uint32_t length = opcode == WrOpcode::kFetchAdd ? 8 : datagram ? 200 : 1500;
            pair.post(0, pair.request(0, opcode, 0, length));
        }
        exchange(pair, now_ns, lose);
        for (int end : {0, 1}) {
            for (const CqId cq : {pair.ends[end].send_cq, pair.ends[end].recv_cq}) {
                while (pair.ends[end].hca.poll_completion(cq)) {
                    ++done;
                }
            }
        }
    }
    EXPECT_GE(done, 20U * 4);
    EXPECT_NE(before, 0U);  // Makes sure that the counter counts.
    return allocations() - before;
}

TEST(Hca, AllocatesNothingOnceItRuns) {
    for (const QpType type : {QpType::kRc, QpType::kUc, QpType::kUd, QpType::kXrcSend}) {
        EXPECT_EQ(allocations_of(type, 1'000'000), 0U) << static_cast<int>(type);
    }
    EXPECT_EQ(allocations_of(QpType::kRc, 7), 0U);
}

}  // namespace
}  // namespace softib::transport
