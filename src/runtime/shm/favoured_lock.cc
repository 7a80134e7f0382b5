// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/favoured_lock.h"

#include <sched.h>

#include "runtime/shm/grace.h"
#include "runtime/shm/shm_lock.h"

namespace softib::shm {

namespace {

/// The streak that makes a thread the favourite. It grows fourfold with each dismissal, so that
/// threads that take turns do not pay for a barrier each turn.
constexpr std::uint32_t kTakenFirst = 64;
constexpr std::uint8_t kDismissalsMax = 4;
constexpr std::uint32_t kLockSpinsMax = 64;

}  // namespace

void FavouredLock::lock_slow(std::uint64_t me) {
    if (word_.exchange(1, std::memory_order_acquire) != 0) {
        SpinLock::lock_slow(word_);
    }
    if (favourite_.load(std::memory_order_relaxed) != 0) {
        favourite_.store(0, std::memory_order_release);
        barrier_everywhere();
        for (std::uint32_t spins = 0; held_.load(std::memory_order_acquire) != 0; ++spins) {
            if (spins < kLockSpinsMax) {
                cpu_relax();
            } else {
                sched_yield();
            }
        }
        last_ = 0;
        dismissals_ = static_cast<std::uint8_t>(dismissals_ + (dismissals_ < kDismissalsMax));
    }
    slow_ = true;
    if (last_ != me) {
        last_ = me;
        streak_ = 0;
    } else if (++streak_ >= kTakenFirst << (2 * dismissals_) &&
               allowed_.load(std::memory_order_relaxed)) {
        // Takes effect when this thread takes the lock again. Until then word_ keeps others out.
        favourite_.store(me, std::memory_order_relaxed);
        streak_ = 0;
    }
}

void FavouredLock::unlock_slow() {
    slow_ = false;
    word_.store(0, std::memory_order_release);
}

void FavouredLock::reset() {
    word_.store(0);
    held_.store(0);
    favourite_.store(0);
    last_ = 0;
    streak_ = 0;
    dismissals_ = 0;
    slow_ = false;
}

}  // namespace softib::shm
