// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/grace.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/shm/clock.h"
#include "runtime/shm/shm_lock.h"

namespace softib::shm {

namespace {

constexpr std::uint64_t kGraceLimitNs = 1'000'000'000;
constexpr std::uint64_t kHolderCheckPeriodNs = 1'000'000;

struct flock life_range(Owner owner) {
    struct flock range{};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_start = owner;
    range.l_len = 1;
    return range;
}

/// Returns whether a hazard announces an operation on `owner`.
bool concerns(std::uint64_t hazard, Owner owner) {
    const auto target = static_cast<std::uint16_t>(hazard);
    return (hazard & kHazardBusy) != 0 && (target == owner || target == kHazardAnyOwner);
}

/// Waits until a stripe's operation on `owner` is over. Returns false if the stripe's process lives
/// but has not finished it within kGraceLimitNs. `own` says that the stripe is one of `owner`'s:
/// then any operation counts.
bool wait_stripe(const Arena& arena, Owner holder, const Stripe& stripe, Owner owner, bool own) {
    const std::uint64_t first = stripe.hazard.load(std::memory_order_acquire);
    if ((first & kHazardBusy) == 0 || !(own || concerns(first, owner))) {
        return true;
    }
    const std::uint64_t start = monotonic_ns();
    std::uint64_t checked = start;
    while (stripe.hazard.load(std::memory_order_acquire) == first) {
        sched_yield();
        const std::uint64_t t = monotonic_ns();
        if (t - checked > kHolderCheckPeriodNs) {
            checked = t;
            if (!owner_alive(arena, holder)) {
                return true;
            }
            if (t - start > kGraceLimitNs) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace

bool owner_alive(const Arena& arena, Owner owner) {
    if (owner == arena.self) {
        return true;  // F_GETLK does not report a process's own lock.
    }
    const ProcState state = arena.proc(owner).state.load(std::memory_order_acquire);
    if (state == ProcState::kAttaching) {
        return true;
    }
    if (state != ProcState::kLive) {
        return false;
    }
    struct flock range = life_range(owner);
    if (fcntl(arena.fd, F_GETLK, &range) != 0) {
        return true;
    }
    return range.l_type != F_UNLCK;
}

bool hold_life_lock(const Arena& arena, Owner owner) {
    struct flock range = life_range(owner);
    return fcntl(arena.fd, F_SETLK, &range) == 0;
}

LockWord lock_word(const Arena& arena, Owner owner) {
    const std::uint64_t use = __atomic_load_n(&arena.proc(owner).instance, __ATOMIC_RELAXED);
    return owner | static_cast<LockWord>(use) << 16;
}

bool holder_alive(const Arena& arena, LockWord holder) {
    const auto owner = static_cast<Owner>(holder);
    if (owner == kDaemonOwner) {
        struct flock range = life_range(owner);
        return fcntl(arena.fd, F_GETLK, &range) != 0 || range.l_type != F_UNLCK;
    }
    return owner != 0 && owner <= kProcsMax && lock_word(arena, owner) == holder &&
           owner_alive(arena, owner);
}

LockResult shm_lock_slow(const Arena& arena, std::atomic<std::uint32_t>& word, LockWord me,
                         std::uint64_t limit_ns) {
    const std::uint64_t start = limit_ns != 0 ? monotonic_ns() : 0;
    std::uint64_t checked = 0;
    for (std::uint32_t spins = 0;; ++spins) {
        std::uint32_t holder = word.load(std::memory_order_relaxed);
        if (holder == 0) {
            if (word.compare_exchange_weak(holder, me, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
                return {};
            }
            continue;
        }
        if (spins < 64) {
            cpu_relax();
            continue;
        }
        sched_yield();
        const std::uint64_t t = monotonic_ns();
        if (checked == 0) {
            checked = t;
        } else if (t - checked > kHolderCheckPeriodNs) {
            checked = t;
            if (holder != me && !holder_alive(arena, holder) &&
                word.compare_exchange_strong(holder, me, std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
                return {true, holder};
            }
            if (limit_ns != 0 && t - start > limit_ns) {
                return {false, 0};
            }
        }
    }
}

void SpinLock::lock_slow(std::atomic<std::uint32_t>& word) {
    std::uint32_t spins = 0;
    do {
        while (word.load(std::memory_order_relaxed) != 0) {
            if (++spins < 64) {
                cpu_relax();
            } else {
                sched_yield();
            }
        }
    } while (word.exchange(1, std::memory_order_acquire) != 0);
}

bool grace_register() {
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

void barrier_everywhere() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

bool wait_grace(const Arena& arena, Owner owner, const Stripe* self) {
    barrier_everywhere();
    bool quiet = true;
    for (std::uint32_t p = 0; p < procs_used(arena); ++p) {
        const ProcSlot& slot = arena.procs[p];
        if (slot.state.load(std::memory_order_acquire) != ProcState::kLive) {
            continue;
        }
        const auto holder = static_cast<Owner>(p + 1);
        const std::uint32_t used = slot.stripes_used.load(std::memory_order_acquire);
        for (std::uint32_t s = 0; s < used && s < kStripesPerProc; ++s) {
            if (&slot.stripes[s] != self) {
                quiet &= wait_stripe(arena, holder, slot.stripes[s], owner, holder == owner);
            }
        }
    }
    return quiet;
}

}  // namespace softib::shm
