// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/reclaim.h"

#include <gtest/gtest.h>

#include "runtime/shm/test_arena.h"

namespace softib::shm {
namespace {

TEST(Reclaim, AlertsEveryLiveProcess) {
    const TestArena fabric;
    fabric.arena.header->procs_top = 3;
    fabric.arena.procs[0].state = ProcState::kLive;
    fabric.arena.procs[2].state = ProcState::kLive;
    alert_all(fabric.arena);
    for (std::uint32_t p = 0; p < 3; ++p) {
        EXPECT_EQ(fabric.arena.procs[p].attention.load(), p == 1 ? 0U : kAttentionDeath);
    }
}

TEST(Reclaim, AlertingAllCreatesNoPagesOfUnusedSlots) {
    const TestArena fabric;
    fabric.arena.header->procs_top = 1;
    fabric.arena.procs[0].state = ProcState::kLive;
    fabric.arena.procs[0].attention = 0;
    fabric.arena.procs[0].doorbell = 0;
    const blkcnt_t before = blocks_of(fabric.arena);
    alert_all(fabric.arena);
    EXPECT_EQ(blocks_of(fabric.arena), before);
}

TEST(Reclaim, AWrongNumberOfSlotsDoesNotLeadBehindTheTable) {
    const TestArena fabric;
    fabric.arena.header->procs_top = UINT32_MAX;
    EXPECT_EQ(procs_used(fabric.arena), kProcsMax);
}

}  // namespace
}  // namespace softib::shm
