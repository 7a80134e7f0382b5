// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A lock in the arena that survives the death of its holder: the word names the holder, and a
// waiter that finds the holder dead takes the lock over. What the lock guards must be valid at
// every instruction of the critical section, or the process that takes over must repair it. The
// name includes the instance of the holder's slot, because another process may use the slot soon.

#include <atomic>
#include <cstdint>

#include "runtime/shm/arena.h"

namespace softib::shm {

/// Returns whether the process of this slot runs. Asks the kernel, not the daemon: every process
/// holds a POSIX lock, its life lock, on the byte of the arena's file at its owner number, which
/// the kernel releases when the process dies.
bool owner_alive(const Arena& arena, Owner owner);

/// Takes the life lock of this process. Returns false if another process holds it.
bool hold_life_lock(const Arena& arena, Owner owner);

/// A process's name in locks: the owner number in the lower 16 bits, and above it the slot's
/// instance.
using LockWord = std::uint32_t;

/// The daemon's name in locks. The daemon holds the life lock of this number when it takes a lock.
inline constexpr Owner kDaemonOwner = 0xFFFF;

/// Returns the name in locks of the process that has this slot now.
LockWord lock_word(const Arena& arena, Owner owner);

/// Returns whether the process that this word names runs. A later process in its slot does not
/// count.
bool holder_alive(const Arena& arena, LockWord holder);

struct LockResult {
    bool taken = true;  ///< False if `limit_ns` passed first.
    LockWord dead = 0;  ///< The process that died with the lock, if it was taken over; else 0.
};

/// Does the same as shm_lock() if the lock is not free.
LockResult shm_lock_slow(const Arena& arena, std::atomic<std::uint32_t>& word, LockWord me,
                         std::uint64_t limit_ns);

/// Takes a lock. Gives up after `limit_ns`; 0: waits as long as the holder lives.
[[nodiscard]] inline LockResult shm_lock(const Arena& arena, std::atomic<std::uint32_t>& word,
                                         LockWord me, std::uint64_t limit_ns = 0) {
    std::uint32_t expected = 0;
    if (word.compare_exchange_strong(expected, me, std::memory_order_acquire,
                                     std::memory_order_relaxed)) [[likely]] {
        return {};
    }
    return shm_lock_slow(arena, word, me, limit_ns);
}

/// Releases a lock. A full barrier, so that the caller may read a flag of a waiter right after it.
inline void shm_unlock(std::atomic<std::uint32_t>& word) {
    word.exchange(0, std::memory_order_seq_cst);
}

/// A spin lock between threads of one process. A thread that has waited for a while yields its
/// core.
class SpinLock {
  public:
    void lock() {
        if (word_.exchange(1, std::memory_order_acquire) != 0) [[unlikely]] {
            lock_slow(word_);
        }
    }
    void unlock() { word_.store(0, std::memory_order_release); }
    static void lock_slow(std::atomic<std::uint32_t>& word);

  private:
    std::atomic<std::uint32_t> word_{0};
};

/// Asks for the cache line at an address, to write to it soon. Does not wait for it.
inline void fetch_to_write(const void* at) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(at)));
#else
    __builtin_prefetch(at, 1);
#endif
}

inline void cpu_relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace softib::shm
