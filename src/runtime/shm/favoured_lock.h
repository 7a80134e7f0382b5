// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A lock between threads of one process that costs the thread that always takes it no locked
// instruction. After a thread has taken the lock many times without a break, the lock favours it:
// the thread then announces itself by a plain store. Another thread that wants the lock first takes
// the favour away, makes every thread execute a barrier (grace.h), and waits until the favourite
// has left. The protocol is that of sole producers (sole_producer.h).

#include <atomic>
#include <cstdint>

namespace softib::shm {

/// All zeros is a free lock.
class FavouredLock {
  public:
    void lock() {
        const std::uint64_t me = thread_name();
        if (favourite_.load(std::memory_order_relaxed) == me) [[likely]] {
            held_.store(1, std::memory_order_relaxed);
            std::atomic_signal_fence(std::memory_order_seq_cst);  // Pairs with lock_slow's barrier.
            if (favourite_.load(std::memory_order_acquire) == me) [[likely]] {
                return;
            }
            held_.store(0, std::memory_order_release);
        }
        lock_slow(me);
    }
    void unlock() {
        if (!slow_) [[likely]] {
            held_.store(0, std::memory_order_release);
        } else {
            unlock_slow();
        }
    }
    /// Unlocks with a full barrier.
    void unlock_full() {
        unlock();
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    /// Makes the lock free, whatever it was. REQUIRES: no thread uses it.
    void reset();

    /// Lets locks of this process favour threads, whose barriers the kernel then must serve.
    static void allow_favourites() { allowed_.store(true, std::memory_order_relaxed); }

  private:
    /// The thread's name in favourite_. A later thread may have the name of one that has ended.
    static std::uint64_t thread_name() {
        return reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
    }
    void lock_slow(std::uint64_t me);
    void unlock_slow();

    static inline std::atomic<bool> allowed_{false};

    std::atomic<std::uint32_t> word_{0};  ///< 1: held by a thread that is not the favourite.
    std::atomic<std::uint32_t> held_{0};  ///< 1: held by the favourite.
    std::atomic<std::uint64_t> favourite_{0};
    // Guarded by the lock.
    std::uint64_t last_ = 0;       ///< The thread that took word_ last.
    std::uint16_t streak_ = 0;     ///< How often before that it took word_ without a break.
    std::uint8_t dismissals_ = 0;  ///< How often the favour was taken away, up to a limit.
    bool slow_ = false;            ///< The holder has word_.
};

}  // namespace softib::shm
