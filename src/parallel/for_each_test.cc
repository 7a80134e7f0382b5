// SPDX-License-Identifier: BSD-2-Clause
#include "parallel/for_each.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace softib::parallel {
namespace {

TEST(ForEach, EveryNumberIsTakenOnceOnAnyNumberOfThreads) {
    for (const std::uint32_t threads : {0U, 1U, 3U, 64U}) {
        std::vector<std::atomic<int>> taken(50);
        for_each(taken.size(), threads, [&](std::size_t i) { ++taken[i]; });
        for (const auto& times : taken) {
            EXPECT_EQ(times, 1) << threads;
        }
    }
    for_each(0, 4, [](std::size_t) { FAIL(); });
}

TEST(ForEach, TheCallingThreadWatchesWhileOthersWork) {
    std::atomic<bool> watched{false};
    std::size_t most = 0;
    for_each(
        2, 1,
        [&](std::size_t) {
            while (!watched) {
            }
        },
        [&](std::size_t done) {
            most = std::max(most, done);
            watched = true;
        });
    EXPECT_LE(most, 2U);
    EXPECT_TRUE(watched);
}

}  // namespace
}  // namespace softib::parallel
