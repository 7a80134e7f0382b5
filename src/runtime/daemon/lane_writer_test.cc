// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/lane_writer.h"

#include <gtest/gtest.h>

#include "runtime/shm/test_arena.h"

namespace softib::daemon {
namespace {

TEST(LaneWriter, AdaptiveRoutingCreatesNoPagesOnTheDirectPath) {
    const shm::TestArena fabric;
    fabric.arena.header->data_path = DataPath::kDirect;
    agent::NodeSpec spec;
    spec.type = wire::NodeType::kSwitch;
    spec.ports.resize(2);
    const agent::Node node(spec);
    const blkcnt_t before = blocks_of(fabric.arena);
    write_adaptive(fabric.arena, 0, node);
    EXPECT_EQ(blocks_of(fabric.arena), before);
}

}  // namespace
}  // namespace softib::daemon
