// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/sole_producer.h"

#include <sched.h>

#include <algorithm>

#include "runtime/shm/clock.h"
#include "runtime/shm/delivery.h"
#include "runtime/shm/grace.h"

namespace softib::shm {

namespace {

constexpr std::uint64_t kCheckPeriodNs = 1'000'000;
constexpr std::uint32_t kSpinsMax = 64;

/// Waits until a producer is not adding to the queue, or its process has ended. Returns false if
/// that takes longer than `limit_ns`; 0: no limit.
bool wait_until_left(const Arena& arena, std::uint64_t name, std::uint32_t cq_index,
                     std::uint64_t limit_ns) {
    const auto process = static_cast<LockWord>(name >> 32);
    const auto owner = static_cast<Owner>(process);
    const auto stripe = static_cast<std::uint32_t>(name) - 1;
    if (owner == 0 || owner > kProcsMax || stripe >= kStripesPerProc) {
        return true;
    }
    const std::atomic<std::uint32_t>& adding = arena.proc(owner).stripes[stripe].adding;
    const std::uint64_t start = limit_ns != 0 ? monotonic_ns() : 0;
    std::uint64_t checked = 0;
    for (std::uint32_t spins = 0; adding.load(std::memory_order_acquire) == cq_index + 1; ++spins) {
        if (spins < kSpinsMax) {
            cpu_relax();
            continue;
        }
        sched_yield();
        const std::uint64_t now = monotonic_ns();
        if (checked == 0) {
            checked = now;
        } else if (now - checked > kCheckPeriodNs) {
            checked = now;
            if (!holder_alive(arena, process)) {
                return true;
            }
            if (limit_ns != 0 && now - start > limit_ns) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace

bool dismiss_sole(const Arena& arena, CqShared& cq, std::uint64_t limit_ns) {
    // The name is kept before it is taken away: if this process dies, the next holder goes on.
    if (const std::uint64_t sole = cq.sole.load(std::memory_order_relaxed); sole != 0) {
        cq.leaving = sole;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        cq.sole.store(0, std::memory_order_release);
    }
    barrier_everywhere();
    if (!wait_until_left(arena, cq.leaving, cq.index, limit_ns)) {
        return false;
    }
    // If it died while it was adding, its stripe may be in use again: the entry says how far it
    // came. Has no effect on what a living producer has done.
    mend_completions(arena, cq, static_cast<Owner>(cq.leaving >> 32));
    cq.leaving = 0;
    cq.last = 0;
    cq.streak_wanted =
        static_cast<std::uint16_t>(std::min<std::uint32_t>(cq.streak_wanted * 4U, kStreakMax));
    return true;
}

}  // namespace softib::shm
