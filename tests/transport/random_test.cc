// SPDX-License-Identifier: BSD-2-Clause
// Runs a million random operations with faults, checked against a model. A failure prints its seed;
// seeds that found a bug stay below.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/test_effort.h"
#include "workload.h"

namespace softib::transport {
namespace {

constexpr std::uint64_t kShare = effort(1, 10);
constexpr std::uint32_t kPerSeed = 500;

Outcome run_one(QpType type, std::uint64_t seed) {
    const PairOptions options = random_options(seed, type);
    if (type == QpType::kUc || type == QpType::kUd) {
        return run_unreliable(options, seed, kPerSeed);
    }
    return ReliableWorkload(options, seed, kPerSeed).run();
}

/// Runs the seeds, with SOFTIB_SEED only that one; long_run.cc runs more of them.
void run_many(QpType type, std::uint64_t first_seed, std::uint64_t operations) {
    const char* only = std::getenv("SOFTIB_SEED");
    const std::uint64_t wanted = only != nullptr ? 1 : operations / kShare;
    std::uint64_t seed = only != nullptr ? std::strtoull(only, nullptr, 10) : first_seed;
    Outcome sum;
    std::uint64_t lost = 0;
    std::uint64_t ended_badly = 0;
    for (; sum.operations < wanted; ++seed) {
        const Outcome outcome = run_one(type, seed);
        ASSERT_EQ(outcome.error, "") << "seed " << seed;
        sum.operations += outcome.operations;
        sum.packets += outcome.packets;
        sum.retransmits += outcome.retransmits;
        sum.not_ready += outcome.not_ready;
        lost += outcome.exhausted ? 1 : 0;
        ended_badly += outcome.ended_badly ? 1 : 0;
    }
    fmt::print(
        "{} operations, {} packets, {} again, {} not ready, {} connections lost, {} ended by a bad "
        "request\n",
        sum.operations, sum.packets, sum.retransmits, sum.not_ready, lost, ended_badly);
}

TEST(RandomOperations, ReliableConnection1) {
    run_many(QpType::kRc, 1, 350'000);
}
TEST(RandomOperations, ReliableConnection2) {
    run_many(QpType::kRc, 1'000'001, 350'000);
}
TEST(RandomOperations, ExtendedReliableConnection) {
    run_many(QpType::kXrcSend, 2'000'001, 150'000);
}
TEST(RandomOperations, UnreliableConnection) {
    run_many(QpType::kUc, 3'000'001, 75'000);
}
TEST(RandomOperations, UnreliableDatagram) {
    run_many(QpType::kUd, 4'000'001, 75'000);
}

/// Many connections between two HCAs: queue pairs take turns, and timers run.
TEST(RandomOperations, ManyConnectionsOfOneHca) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        EXPECT_EQ(run_many_connections(seed), "") << "seed " << seed;
    }
}

/// Seeds that each found a bug.
TEST(RandomOperations, SeedsThatFoundBugs) {
    struct Found {
        QpType type;
        std::uint64_t seed;
    };
    constexpr Found kFound[]{
        // Timeouts between RNR NAKs added up to a failure.
        {QpType::kXrcSend, 2'001'997},
    };
    for (const Found& found : kFound) {
        EXPECT_EQ(run_one(found.type, found.seed).error, "") << found.seed;
    }
}

TEST(RandomOperations, SameSeedIsTheSameRun) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const Outcome a = run_one(QpType::kRc, seed);
        const Outcome b = run_one(QpType::kRc, seed);
        EXPECT_EQ(a.packets, b.packets);
        EXPECT_EQ(a.ended_ns, b.ended_ns);
        EXPECT_EQ(a.retransmits, b.retransmits);
        EXPECT_NE(a.ended_ns, run_one(QpType::kRc, seed + 10).ended_ns);
    }
}

}  // namespace
}  // namespace softib::transport
