// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Threads that softib runs inside a program, and how they sleep.

#include <atomic>
#include <cstdint>

namespace softib::shm {

/// Starts a detached thread. Returns false if that fails. The thread blocks all signals but SIGBUS,
/// so that the program's own threads get the program's signals. It runs, and has its part of the
/// heap, when this returns: libfabric and UCX write over the code of munmap() and mmap() when a
/// program registers memory, and no thread of ours may be inside them then.
bool start_thread(const char* name, void* (*main)(void*), void* argument);

/// Returns how many threads of start_thread run now.
std::uint32_t own_threads();
/// Sets own_threads() to 0: for a forked child, which has none of its parent's threads.
void forget_own_threads();

/// Sleeps until futex_wake if the word has this value, for at most `timeout_ns`; 0: without limit.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, std::uint64_t timeout_ns);
/// Wakes all threads that sleep on the word, in other processes too.
void futex_wake(std::atomic<std::uint32_t>& word);

}  // namespace softib::shm
