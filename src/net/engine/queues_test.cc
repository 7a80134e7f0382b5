// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/queues.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace softib::net {
namespace {

/// One lane, and what a switch would do with it.
struct OneLane {
    std::uint32_t put(std::uint32_t input, std::uint16_t bytes = Queues::kRoundBytes) {
        const std::uint32_t index = queues.packets().make({.bytes = bytes});
        const std::uint16_t blocks = link::blocks_of(bytes);
        if (lane.head == kNone) {
            queues.begin(lane, index, queues[index], blocks, 100);
        } else {
            queues.line_up(0, lane, index, queues[index], input, blocks);
        }
        return index;
    }
    std::vector<std::uint32_t> take_all() {
        std::vector<std::uint32_t> taken;
        while (lane.head != kNone) {
            taken.push_back(queues.pop(lane, 200));
        }
        return taken;
    }

    Queues queues{1, 4};
    Lane lane;
};

TEST(Queues, PacketsOfOneInputLeaveInTheOrderTheyCame) {
    OneLane one;
    std::vector<std::uint32_t> put;
    for (const std::uint16_t bytes : std::to_array<std::uint16_t>({4096, 64, 2048, 4096, 128})) {
        put.push_back(one.put(1, bytes));
    }
    EXPECT_EQ(one.take_all(), put);
    EXPECT_EQ(one.lane.queued_blocks, 0U);
}

TEST(Queues, AnInputThatComesLateGetsItsTurnInTheNextRound) {
    OneLane one;
    std::vector<std::uint32_t> first;
    for (int i = 0; i < 6; ++i) {
        first.push_back(one.put(1));
    }
    const std::uint32_t late = one.put(2);
    const std::vector<std::uint32_t> taken = one.take_all();
    const auto place = std::ranges::find(taken, late) - taken.begin();
    EXPECT_LE(place, 2) << "it waits for the packets of the present round alone";
}

TEST(Queues, TheHeadKeepsItsBlocksAndTheTimeSinceWhichItIsFirst) {
    OneLane one;
    one.put(Queues::kOwn, 4096);
    one.put(Queues::kOwn, 64);
    EXPECT_EQ(one.lane.head_since_units, 100U);
    one.queues.pop(one.lane, 200);
    EXPECT_EQ(one.lane.head_blocks, link::blocks_of(64));
    EXPECT_EQ(one.lane.head_since_units, 200U);
}

}  // namespace
}  // namespace softib::net
