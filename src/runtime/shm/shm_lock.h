// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A lock in the arena that outlives its holder: the word names the holder, and a waiter that finds
// the holder dead takes the lock over. What the lock guards must be valid at every instruction of
// the critical section, or the process that takes over must repair it. The name includes the
// instance of the holder's slot, because a slot is soon used by another process.

#include <atomic>
#include <cstdint>

#include "runtime/shm/arena.h"

namespace softib::live {

/// True while the process of this slot runs. Asks the kernel, not the daemon: every process
/// holds a POSIX lock on the arena file's byte at its owner number, released by its death.
bool owner_alive(const Arena& arena, Owner owner);

/// Takes the byte lock that tells others that we live.
bool hold_life_lock(const Arena& arena, Owner owner);

/// A process for as long as it lives: owner below, which use of the slot above.
using LockWord = std::uint32_t;

/// The daemon's name in locks. It holds the life lock of this number while it takes others.
inline constexpr Owner kDaemonOwner = 0xFFFF;

LockWord lock_word(const Arena& arena, Owner owner);

/// True while the very process that this word names runs.
bool holder_alive(const Arena& arena, LockWord holder);

struct LockResult {
    bool taken = true;  ///< False only with a limit.
    LockWord dead = 0;  ///< Not 0: taken over from this process, which died with it.
};

/// limit_ns 0: waits as long as the holder lives.
LockResult shm_lock_slow(const Arena& arena, std::atomic<std::uint32_t>& word, LockWord me,
                         std::uint64_t limit_ns);

[[nodiscard]] inline LockResult shm_lock(const Arena& arena, std::atomic<std::uint32_t>& word,
                                         LockWord me, std::uint64_t limit_ns = 0) {
    std::uint32_t expected = 0;
    if (word.compare_exchange_strong(expected, me, std::memory_order_acquire,
                                     std::memory_order_relaxed)) [[likely]] {
        return {};
    }
    return shm_lock_slow(arena, word, me, limit_ns);
}

/// A full barrier by design: the caller may look at a flag of the other side right after it.
inline void shm_unlock(std::atomic<std::uint32_t>& word) {
    word.exchange(0, std::memory_order_seq_cst);
}

/// A spin lock between threads of one process; yields when the holder lost its core.
class SpinLock {
  public:
    void lock() {
        if (word_.exchange(1, std::memory_order_acquire) != 0) [[unlikely]] {
            lock_slow(word_);
        }
    }
    void unlock() { word_.store(0, std::memory_order_release); }
    /// Unlock that is also a full barrier.
    void unlock_full() { word_.exchange(0, std::memory_order_seq_cst); }

    static void lock_slow(std::atomic<std::uint32_t>& word);

  private:
    std::atomic<std::uint32_t> word_{0};
};

inline void cpu_relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace softib::live
