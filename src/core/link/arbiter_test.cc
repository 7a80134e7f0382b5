// SPDX-License-Identifier: BSD-2-Clause
#include "core/link/arbiter.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "core/link/rate.h"

namespace softib::link {
namespace {

ArbitrationTable table_of(std::vector<ArbitrationTable::Entry> high,
                          std::vector<ArbitrationTable::Entry> low, std::uint8_t limit) {
    ArbitrationTable table;
    for (const auto& entry : high) {
        table.high[table.high_count++] = entry;
    }
    for (const auto& entry : low) {
        table.low[table.low_count++] = entry;
    }
    table.high_limit = limit;
    return table;
}

/// Returns the bytes sent by each lane after `packets` packets of one size, with all lanes of the
/// mask always ready.
std::map<int, std::uint32_t> send(const ArbitrationTable& table, std::uint16_t ready, int packets,
                                  std::uint32_t bytes) {
    Arbiter arbiter;
    std::map<int, std::uint32_t> sent;
    for (int i = 0; i < packets; ++i) {
        const std::uint8_t vl = arbiter.choose(table, ready);
        sent[vl] += bytes;
        arbiter.charge(bytes);
    }
    return sent;
}

TEST(Arbiter, ManagementGoesFirst) {
    Arbiter arbiter;
    EXPECT_EQ(arbiter.choose(ArbitrationTable::equal(2), 0x8003), kVl15);
}

TEST(Arbiter, LanesShareByWeight) {
    const auto table = table_of({}, {{0, 64}, {1, 192}}, 0);
    const auto sent = send(table, 0b11, 400, 1024);
    EXPECT_EQ(sent.at(1), 3 * sent.at(0));
}

TEST(Arbiter, ATurnMayRunOverByOnePacket) {
    const auto table = table_of({}, {{0, 1}, {1, 1}}, 0);
    const auto sent = send(table, 0b11, 100, 4096);
    EXPECT_EQ(sent.at(0), sent.at(1));
}

TEST(Arbiter, ALaneWithNothingToSendGivesItsTurnAway) {
    Arbiter arbiter;
    const auto table = table_of({}, {{0, 255}, {1, 1}}, 0);
    EXPECT_EQ(arbiter.choose(table, 0b10), 1);
    arbiter.charge(64);
    EXPECT_EQ(arbiter.choose(table, 0b10), 1);
}

TEST(Arbiter, ALaneInNoListNeverSends) {
    Arbiter arbiter;
    EXPECT_EQ(arbiter.choose(table_of({}, {{0, 1}, {1, 0}}, 0), 0b110), kNoVl);
}

TEST(Arbiter, LimitZeroLetsLowPriorityInAfterEachHighPacket) {
    const auto sent = send(table_of({{0, 255}}, {{1, 64}}, 0), 0b11, 100, 256);
    EXPECT_EQ(sent.at(0), sent.at(1));
}

TEST(Arbiter, HighPriorityStopsAtItsLimit) {
    // Two units of 4,096 bytes, then one packet of the low list.
    const auto sent = send(table_of({{0, 255}}, {{1, 64}}, 2), 0b11, 9 * 10, 1024);
    EXPECT_EQ(sent.at(0), 8 * sent.at(1));
}

TEST(Arbiter, Limit255StarvesTheLowList) {
    const auto sent = send(table_of({{0, 255}}, {{1, 64}}, kUnlimited), 0b11, 100, 4096);
    EXPECT_FALSE(sent.contains(1));
}

TEST(Rate, DataRatesAreThoseOfTheirNames) {
    using topo::Generation;
    using topo::Width;
    EXPECT_EQ(ps_per_block(Generation::kSdr, Width::k4x), 64'000U);    // 8 Gb/s after 8b/10b.
    EXPECT_EQ(ps_per_block(Generation::kDdr, Width::k4x), 32'000U);    // 16 Gb/s.
    EXPECT_EQ(ps_per_block(Generation::kQdr, Width::k4x), 16'000U);    // 32 Gb/s.
    EXPECT_EQ(ps_per_block(Generation::kFdr10, Width::k4x), 12'800U);  // 40 Gb/s after 64b/66b.
    EXPECT_EQ(ps_per_block(Generation::kFdr, Width::k4x), 9387U);      // 54.5 Gb/s.
    EXPECT_EQ(ps_per_block(Generation::kEdr, Width::k4x), 5120U);      // 100 Gb/s.
    EXPECT_EQ(ps_per_block(Generation::kHdr, Width::k4x), 2560U);
    EXPECT_EQ(ps_per_block(Generation::kHdr, Width::k2x), 5120U);
    EXPECT_EQ(ps_per_block(Generation::kNdr, Width::k4x), 1280U);
    EXPECT_EQ(ps_per_block(Generation::kXdr, Width::k4x), 640U);
    EXPECT_EQ(ps_per_block(Generation::kGdr, Width::k4x), 320U);  // 1,600 Gb/s.
    EXPECT_EQ(transmit_time(4096, 1280), 81'920U);
}

}  // namespace
}  // namespace softib::link
