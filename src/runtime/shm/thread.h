// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Threads that softib runs inside a program, and how they sleep.

#include <atomic>
#include <cstdint>

namespace softib::live {

/// Starts a thread that nobody joins and that takes no signals but its own SIGBUS: those are the
/// program's business.
bool start_thread(const char* name, void* (*main)(void*), void* argument);

/// How many of them run now.
std::uint32_t own_threads();
/// In a forked child, which has none of them.
void forget_own_threads();

/// Sleeps while the word has this value, for at most `timeout_ns`; 0: without limit.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, std::uint64_t timeout_ns);
/// Wakes all that sleep on it, in other processes too.
void futex_wake(std::atomic<std::uint32_t>& word);

}  // namespace softib::live
