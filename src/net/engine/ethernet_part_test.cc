// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "net/engine/ethernet.h"

namespace softib::net {
namespace {

using Tell = Ethernet::Tell;

TEST(EthernetPart, PausesASenderAboveXoffAndLetsItGoOnAtXon) {
    Ethernet ethernet({.xoff_bytes = 640, .xon_bytes = 128}, 1, 1, 1);
    ethernet.set_pause(
        0, {.block_ps = 1000, .cable_ps = 10'000, .silicon_ps = 10'000, .packet_bytes_max = 4096});
    EXPECT_GT(ethernet.pause_blocks(0), 10U);
    Tell tell{};
    std::uint32_t held = 0;
    while (tell == Tell::kNothing) {
        ASSERT_TRUE(ethernet.arrive({0, 0, 0, 1}, tell));
        ++held;
    }
    EXPECT_EQ(tell, Tell::kPause);
    EXPECT_EQ(held, 11U) << "640 bytes are ten blocks";
    tell = Tell::kNothing;
    while (tell == Tell::kNothing) {
        tell = ethernet.leave({0, 0, 0, 1});
        --held;
    }
    EXPECT_EQ(tell, Tell::kResume);
    EXPECT_EQ(held, 2U);
}

TEST(EthernetPart, DropsWhatFindsNoRoomInTheSwitch) {
    Ethernet ethernet({.lossless = false, .buffer_bytes = 256}, 1, 2, 1);
    Tell tell{};
    EXPECT_TRUE(ethernet.arrive({0, 0, 0, 3}, tell));
    EXPECT_FALSE(ethernet.arrive({0, 1, 0, 2}, tell)) << "all lanes share the buffer";
    ethernet.leave({0, 0, 0, 3});
    EXPECT_TRUE(ethernet.arrive({0, 1, 0, 2}, tell));
}

TEST(EthernetPart, AQueueMayFillItsPartOfTheFreeBuffer) {
    Ethernet ethernet({.lossless = false, .buffer_bytes = 6400, .dynamic_threshold = 0.5}, 1, 1, 1);
    EXPECT_EQ(ethernet.line_up(0, 0, 48, 2, 0), Ethernet::Verdict::kKeep);
    EXPECT_EQ(ethernet.line_up(0, 0, 49, 2, 0), Ethernet::Verdict::kDrop);
}

}  // namespace
}  // namespace softib::net
