// SPDX-License-Identifier: BSD-2-Clause
#include "net/sharp/sharp_simulation.h"

#include <gtest/gtest.h>

#include "core/link/rate.h"
#include "core/topo/spec.h"

namespace softib::net {
namespace {

Routed fat_tree(std::uint32_t hosts, std::uint32_t radix, topo::Generation generation) {
    auto topology = topo::generate(
        {.shape = topo::Shape::kFatTree, .hosts = hosts, .radix = radix, .generation = generation});
    EXPECT_TRUE(topology);
    auto routed = Routed::make(*topology, "ftree", 1);
    EXPECT_TRUE(routed);
    return *std::move(routed);
}

SharpOutcome simulate(std::uint32_t hosts, std::uint32_t radix, const SharpTask& task,
                      topo::Generation generation = topo::Generation::kNdr) {
    const auto outcome = simulate_sharp(fat_tree(hosts, radix, generation), {.data_vls = 1}, task);
    EXPECT_TRUE(outcome) << (outcome ? "" : outcome.error());
    return outcome.value_or(SharpOutcome{});
}

TEST(SharpSimulation, AnAdapterTakesAsLongAsTheTaskSays) {
    const auto took = [](TimePs hca_ps) { return simulate(16, 8, {.hca_ps = hca_ps}).took_ps; };
    // Once when a member sends, once when the result is there.
    EXPECT_EQ(took(300'000) - took(0), 2 * 300'000U);
    EXPECT_EQ(simulate(16, 8, {}).took_ps, took(300'000));
}

TEST(SharpSimulation, TimeGrowsWithTheDepthAndNotWithTheMembers) {
    const SharpOutcome few = simulate(128, 16, {.members = 16});
    const SharpOutcome half = simulate(128, 16, {.members = 64});
    const SharpOutcome all = simulate(128, 16, {});
    const SharpOutcome deep = simulate(128, 8, {});
    for (const SharpOutcome& each : {few, half, all, deep}) {
        EXPECT_EQ(each.wrong_elements, 0U);
    }
    EXPECT_EQ(half.depth, 2U);
    EXPECT_EQ(all.depth, 2U);
    EXPECT_EQ(deep.depth, 3U);
    // Packets that reach a node at the same time are taken one by one, a picosecond each.
    EXPECT_NEAR(static_cast<double>(few.took_ps), static_cast<double>(all.took_ps), 100.0);
    EXPECT_NEAR(static_cast<double>(half.took_ps), static_cast<double>(all.took_ps), 100.0);
    // One more level adds a node on the way up, and one on the way down.
    EXPECT_GT(deep.took_ps, all.took_ps + 2 * SharpTask{}.node_ps);
    EXPECT_LT(deep.took_ps, all.took_ps + 2 * SharpTask{}.node_ps + 600'000);
}

TEST(SharpSimulation, AHostSendsAndReceivesItsVectorOnceWhateverTheMembers) {
    constexpr std::uint64_t kBytes = 256U << 10;
    for (const std::uint32_t members : {4U, 16U}) {
        const SharpOutcome outcome = simulate(16, 8, {.members = members, .bytes = kBytes});
        EXPECT_EQ(outcome.wrong_elements, 0U);
        EXPECT_TRUE(outcome.streamed);
        for (const std::uint64_t bytes : {outcome.host_sent_bytes, outcome.host_received_bytes}) {
            EXPECT_GT(bytes, kBytes);
            EXPECT_LT(bytes, kBytes + kBytes / 20);  // Headers and acknowledgements.
        }
    }
}

TEST(SharpSimulation, AStreamRunsCloseToTheRateOfTheLinks) {
    constexpr std::uint64_t kBytes = 2U << 20;
    const SharpOutcome outcome = simulate(16, 8, {.bytes = kBytes});
    EXPECT_EQ(outcome.wrong_elements, 0U);
    const double rate = static_cast<double>(kBytes) / static_cast<double>(outcome.took_ps) * 1e12;
    const double link = 1e12 * 64 / link::ps_per_block(topo::Generation::kNdr, topo::Width::k4x);
    EXPECT_GT(rate, 0.90 * link);
    EXPECT_LT(rate, link);
    // The stream is 1.6 times as fast as a ring can be, which sends 2(n-1)/n of the vector.
    EXPECT_GT(rate, 1.6 * link * 16 / (2 * 15));
}

TEST(SharpSimulation, FloatsHaveTheSameBitsInEveryRun) {
    const SharpTask task{.bytes = 4096,
                         .reduction = {sharp::DataType::kF32, sharp::ReduceOp::kMax}};
    const SharpOutcome first = simulate(64, 8, task);
    const SharpOutcome second = simulate(64, 8, task);
    EXPECT_EQ(first.log_hash, second.log_hash);
    EXPECT_EQ(first.took_ps, second.took_ps);
    EXPECT_EQ(first.events, second.events);
}

TEST(SharpSimulation, ThePublishedLatencyOf128HostsComesOut) {
    const SharpOutcome outcome = simulate(128, 36, {}, topo::Generation::kEdr);
    EXPECT_EQ(outcome.depth, 2U);
    EXPECT_NEAR(static_cast<double>(outcome.took_ps) * 1e-6, 2.83, 2.83 * 0.03);
}

TEST(SharpSimulation, RefusesWhatMakesNoSense) {
    const auto parts = simulate_sharp(fat_tree(8, 8, topo::Generation::kNdr), {}, {.bytes = 7});
    ASSERT_FALSE(parts);
    EXPECT_NE(parts.error().find("whole elements of 4 bytes"), std::string::npos);
    const auto many = simulate_sharp(fat_tree(8, 8, topo::Generation::kNdr), {}, {.members = 9});
    ASSERT_FALSE(many);
    EXPECT_NE(many.error().find("8 hosts"), std::string::npos);
}

}  // namespace
}  // namespace softib::net
