// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/thread.h"

#include <gtest/gtest.h>

namespace softib::shm {
namespace {

/// Ends when the word that it is given is 1.
void* wait_for_word(void* given) {
    auto& word = *static_cast<std::atomic<std::uint32_t>*>(given);
    while (word.load() == 0) {
        futex_wait(word, 0, 0);
    }
    return nullptr;
}

TEST(Thread, RunsWhenItsStartReturns) {
    for (int i = 0; i < 100; ++i) {
        const std::uint32_t before = own_threads();
        std::atomic<std::uint32_t> word{0};
        ASSERT_TRUE(start_thread("test", wait_for_word, &word));
        EXPECT_EQ(own_threads(), before + 1);
        word.store(1);
        futex_wake(word);
        while (own_threads() != before) {
        }
    }
}

}  // namespace
}  // namespace softib::shm
