// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A completion queue that one producer fills: a stripe (arena_process.h) that has added many
// entries without a break becomes the queue's sole producer, and adds without the queue's lock and
// without a locked instruction. Whoever else needs the queue takes the lock and dismisses the sole
// producer first.
//
// A sole producer announces in its stripe that it is adding (a plain store), then looks whether it
// is still the sole one. The thread that dismisses it takes its name away, makes every thread
// execute a barrier (grace.h), and waits until the stripe is no longer adding: so either the
// producer sees that its name is gone, or the other one sees that it is adding. The producer pays
// for no fence.

#include <atomic>
#include <cstdint>

#include "runtime/shm/arena.h"
#include "runtime/shm/shm_lock.h"

namespace softib::shm {

/// A stripe as a producer, for the thread that holds the stripe's lock.
struct Producer {
    Stripe* stripe = nullptr;
    /// The lock word of the process, and below it the stripe's index + 1; 0: it never becomes a
    /// sole producer.
    std::uint64_t name = 0;
};
constexpr std::uint64_t producer_name(LockWord process, std::uint32_t stripe) {
    return std::uint64_t{process} << 32 | (stripe + 1);
}

/// The streak that makes a producer the sole one. It grows when a sole producer was dismissed, so
/// that producers that take turns do not pay for a dismissal each turn.
#ifdef SOFTIB_TEST_HOOKS
inline constexpr std::uint16_t kStreakFirst = 2;
#else
inline constexpr std::uint16_t kStreakFirst = 32;
#endif
inline constexpr std::uint16_t kStreakMax = 8192;

/// Begins to add an entry without the lock. Returns false if the producer is not the sole one.
inline bool begin_adding(const CqShared& cq, const Producer& producer) {
    producer.stripe->adding.store(cq.index + 1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // Pairs with the barrier of dismiss_sole.
    if (cq.sole.load(std::memory_order_acquire) == producer.name) [[likely]] {
        return true;
    }
    producer.stripe->adding.store(0, std::memory_order_release);
    return false;
}
inline void end_adding(const Producer& producer) {
    producer.stripe->adding.store(0, std::memory_order_release);
}

/// Notes, under the lock, that a producer has added an entry, and makes it the sole one if it has
/// added many without a break. `producer` is nullptr for one that has no stripe.
inline void note_added(CqShared& cq, const Producer* producer) {
    if (producer == nullptr || producer->name == 0) {
        cq.last = 0;
    } else if (cq.last != producer->name) {
        cq.last = producer->name;
        cq.streak = 0;
    } else if (++cq.streak >= cq.streak_wanted) {
        cq.streak = 0;
        cq.sole.store(producer->name, std::memory_order_relaxed);
    }
}

/// Makes a queue have no sole producer, and waits until the last one is no longer adding. Mends the
/// queue if it died meanwhile. Called under the lock. Returns false if that takes longer than
/// `limit_ns`; 0: no limit. The next holder of the lock then goes on with it.
bool dismiss_sole(const Arena& arena, CqShared& cq, std::uint64_t limit_ns);

}  // namespace softib::shm
