// SPDX-License-Identifier: BSD-2-Clause
#include "abi/rspreload/table.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/rspreload/epoll.h"

namespace softib::rspreload {

void forget_all_watches() {}

namespace {

TEST(Table, TheLastDescriptorOfASocketClosesIt) {
    remember(5, {.phase = Phase::kConnected, .number = 9});
    remember_duplicate(6, 5);
    int number = -1;
    EXPECT_FALSE(forget(5, number));
    EXPECT_TRUE(forget(6, number));
    EXPECT_EQ(number, 9);
}

TEST(Table, AForkedChildClosesASocketThatHasANumberOfItsParents) {
    remember(5, {.phase = Phase::kConnected, .number = 9});
    const pid_t child = fork();
    if (child == 0) {
        const bool is_ordinary = find(5).phase == Phase::kOrdinary;
        remember(6, {.phase = Phase::kConnected, .number = 9});
        int number = -1;
        _exit(is_ordinary && forget(6, number) && number == 9 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    int number = -1;
    EXPECT_TRUE(forget(5, number)) << "the parent's table stays as it was";
}

}  // namespace
}  // namespace softib::rspreload
