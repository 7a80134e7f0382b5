// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A lock in the arena that outlives its holder: the word is the holder's owner number, and a
// waiter that finds the holder dead takes the lock over. What the lock guards must be valid at
// every instruction of the critical section, or be mended by the one who took over.

#include <atomic>
#include <cstdint>

#include "runtime/live/arena.h"

namespace softib::live {

/// True while the process of this slot runs. Asks the kernel, not the daemon: every process
/// holds a POSIX lock on the arena file's byte at its owner number, released by its death.
bool owner_alive(const Arena& arena, Owner owner);

/// Takes the byte lock that tells others that we live.
bool hold_life_lock(const Arena& arena, Owner owner);

enum class LockResult : std::uint8_t { kTaken, kTakenFromDead };

LockResult shm_lock_slow(const Arena& arena, std::atomic<std::uint32_t>& word, Owner me);

inline LockResult shm_lock(const Arena& arena, std::atomic<std::uint32_t>& word, Owner me) {
    std::uint32_t expected = 0;
    if (word.compare_exchange_strong(expected, me, std::memory_order_acquire,
                                     std::memory_order_relaxed)) [[likely]] {
        return LockResult::kTaken;
    }
    return shm_lock_slow(arena, word, me);
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
