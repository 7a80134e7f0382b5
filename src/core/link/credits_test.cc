// SPDX-License-Identifier: BSD-2-Clause
#include "core/link/credits.h"

#include <gtest/gtest.h>

namespace softib::link {
namespace {

TEST(Credits, ABlockIs64BytesAndAStartedOneCounts) {
    EXPECT_EQ(blocks_of(64), 1);
    EXPECT_EQ(blocks_of(65), 2);
    EXPECT_EQ(blocks_of(4096), 64);
}

TEST(Credits, CountsGoRoundAt4096) {
    EXPECT_EQ(count_after(4090, 10), 4);
    EXPECT_EQ(credits(4090, 4), 10);
    EXPECT_TRUE(may_send(4090, 4, 10));
    EXPECT_FALSE(may_send(4090, 4, 11));
}

TEST(Credits, ALimitBehindWhatWasSentGrantsNothing) {
    EXPECT_EQ(credits(100, 90), 0);
    EXPECT_FALSE(may_send(100, 90, 1));
}

TEST(Credits, NoMoreThanHalfTheCircleIsGranted) {
    Receiver receiver(4000);
    EXPECT_EQ(credits(0, receiver.fccl()), kGrantMax);
}

TEST(Credits, ArrivalDoesNotMoveTheLimitReleaseDoes) {
    Receiver receiver(100);
    EXPECT_EQ(receiver.fccl(), 100);
    EXPECT_TRUE(receiver.take(66));
    EXPECT_EQ(receiver.fccl(), 100);
    receiver.release(66);
    EXPECT_EQ(receiver.fccl(), 166);
}

TEST(Credits, ALostPacketIsGivenBackByTheNextFctbs) {
    Receiver receiver(100);
    // The sender sent 66 blocks, which were lost.
    receiver.heard(66);
    EXPECT_EQ(credits(66, receiver.fccl()), 100);
}

TEST(Credits, APacketWithoutRoomIsRefused) {
    Receiver receiver(10);
    EXPECT_FALSE(receiver.take(11));
    EXPECT_EQ(receiver.free_blocks(), 10U);
}

}  // namespace
}  // namespace softib::link
