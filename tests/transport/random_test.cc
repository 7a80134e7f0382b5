// SPDX-License-Identifier: BSD-2-Clause
// A million random operations with faults, checked against a model. A failure prints its seed; one
// that was a bug of ours stays below.
#include <gtest/gtest.h>

#include <cstdlib>

#include "workload.h"

namespace softib::transport {
namespace {

#ifdef SOFTIB_SANITIZED
constexpr std::uint32_t kShare = 20;
#else
constexpr std::uint32_t kShare = 1;
#endif
constexpr std::uint32_t kPerSeed = 500;

Outcome run_one(QpType type, std::uint64_t seed) {
    const PairOptions options = random_options(seed, type);
    if (type == QpType::kUc || type == QpType::kUd) {
        return run_unreliable(options, seed, kPerSeed);
    }
    return ReliableWorkload(options, seed, kPerSeed).run();
}

/// SOFTIB_SEED runs one seed alone.
void run_many(QpType type, std::uint64_t first_seed, std::uint32_t operations) {
    const char* only = std::getenv("SOFTIB_SEED");
    const std::uint64_t seeds = only != nullptr ? 1 : operations / kPerSeed / kShare;
    const std::uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : first_seed;
    Outcome sum;
    for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
        const Outcome outcome = run_one(type, seed);
        ASSERT_EQ(outcome.error, "") << "seed " << seed;
        sum.operations += outcome.operations;
        sum.packets += outcome.packets;
        sum.retransmits += outcome.retransmits;
        sum.not_ready += outcome.not_ready;
    }
    EXPECT_GE(sum.operations, seeds * kPerSeed);
    std::printf("%llu operations, %llu packets, %llu again, %llu not ready\n",
                static_cast<unsigned long long>(sum.operations),
                static_cast<unsigned long long>(sum.packets),
                static_cast<unsigned long long>(sum.retransmits),
                static_cast<unsigned long long>(sum.not_ready));
}

TEST(RandomOperations, ReliableConnection1) {
    run_many(QpType::kRc, 1, 350'000);
}
TEST(RandomOperations, ReliableConnection2) {
    run_many(QpType::kRc, 100'001, 350'000);
}
TEST(RandomOperations, ExtendedReliableConnection) {
    run_many(QpType::kXrcSend, 200'001, 150'000);
}
TEST(RandomOperations, UnreliableConnection) {
    run_many(QpType::kUc, 300'001, 75'000);
}
TEST(RandomOperations, UnreliableDatagram) {
    run_many(QpType::kUd, 400'001, 75'000);
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
