// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/naming.h"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>

#include "runtime/shm/counters.h"
#include "runtime/shm/test_arena.h"

namespace softib::shm {
namespace {

TEST(Naming, OneHostKeepsItsNames) {
    const TestArena fabric;
    std::array<DeviceEntry, 4> devices{};
    ASSERT_EQ(list_devices(fabric.arena, "h1", devices), 2U);
    EXPECT_STREQ(devices[0].name, "mlx5_0");
    EXPECT_STREQ(devices[1].name, "mlx5_1");
    EXPECT_EQ(devices[0].hca, 2U);
    EXPECT_EQ(devices[1].hca, 3U);
}

TEST(Naming, SeveralHostsShareOneRunningIndexInListOrder) {
    const TestArena fabric;
    std::array<DeviceEntry, 4> devices{};
    ASSERT_EQ(list_devices(fabric.arena, "h1,h0", devices), 4U);
    EXPECT_EQ(devices[0].hca, 2U);
    EXPECT_EQ(devices[2].hca, 0U);
    EXPECT_STREQ(devices[2].name, "mlx5_2");
    EXPECT_STREQ(devices[3].name, "mlx5_3");
}

TEST(Naming, CountIsWholeWhereTheBufferIsNot) {
    const TestArena fabric;
    std::array<DeviceEntry, 1> devices{};
    EXPECT_EQ(list_devices(fabric.arena, "h0,h1", devices), 4U);
    EXPECT_STREQ(devices[0].name, "mlx5_0");
    EXPECT_EQ(list_devices(fabric.arena, "h0,h1", {}), 4U);
}

TEST(Naming, UnknownHostIsENOENT) {
    const TestArena fabric;
    for (const char* hosts : {"h2", "", "h0,h9", "h0,,h1"}) {
        errno = 0;
        EXPECT_EQ(list_devices(fabric.arena, hosts, {}), 0U) << hosts;
        EXPECT_EQ(errno, ENOENT) << hosts;
    }
}

TEST(Counters, SumOfTotalsAndLivingQueuePairsOfThatHca) {
    const TestArena fabric;
    const Arena& arena = fabric.arena;
    arena.hcas[1].totals.xmit_words = 100;
    arena.hcas[1].totals.pkey_violations = 3;
    const auto put = [&arena](std::uint32_t qp, std::uint16_t hca) {
        arena.qps[qp].hca = hca;
        arena.qps[qp].xmit_words = 10;
        arena.qps[qp].rcv_packets = 1;
        start_counting(arena, qp);
    };
    put(5 * kBatchEntries, 1);
    put(7 * kBatchEntries - 1, 1);
    put(5 * kBatchEntries + 2, 0);  // another HCA
    put(5 * kBatchEntries + 3, 1);
    stop_counting(arena, 5 * kBatchEntries + 3);
    const PortCounts c = read_port_counters(arena, 1);
    EXPECT_EQ(c.xmit_words, 120U);
    EXPECT_EQ(c.rcv_packets, 2U);
    EXPECT_EQ(c.pkey_violations, 3U);
    EXPECT_EQ(c.xmit_packets, 0U);
}

TEST(Counters, FarEndOfAConnectionCountsTheMirrorImage) {
    const TestArena fabric;
    const Arena& arena = fabric.arena;
    arena.lid_owner[4] = {.kind = NodeRef::kHca, .index = 3};
    start_counting(arena, 0);
    arena.qps[0].hca = 0;
    arena.qps[0].dest_lid = 4;
    arena.qps[0].xmit_words = 10;
    arena.qps[0].rcv_packets = 2;
    EXPECT_EQ(read_port_counters(arena, 0).xmit_words, 10U);
    EXPECT_EQ(read_port_counters(arena, 0).rcv_words, 0U);
    EXPECT_EQ(read_port_counters(arena, 3).rcv_words, 10U);
    EXPECT_EQ(read_port_counters(arena, 3).xmit_packets, 2U);
    EXPECT_EQ(read_port_counters(arena, 1).rcv_words, 0U);
}

}  // namespace
}  // namespace softib::shm
