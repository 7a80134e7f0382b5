// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Safe destruction of objects that peers use without asking. A sender publishes a hazard (the
// process that it is about to touch) with a plain store. A process that destroys an object makes
// the object unreachable, forces a barrier on every thread of the fabric's processes (membarrier),
// and waits until no sender that started before is still at work on it. The sender pays for no
// fence.

#include "runtime/shm/arena.h"

namespace softib::shm {

/// Registers this process for the expedited barrier. Returns false if the kernel has none; hazards
/// of this process must then have a fence.
bool grace_register();

/// Makes every thread of the fabric's processes execute a full barrier. What such a thread stored
/// before is visible to the caller then, and what it loads later is what the caller stored before.
void barrier_everywhere();

/// A hazard of the calling thread in a stripe, for as long as this object lives.
class Hazard {
  public:
    Hazard(Stripe& stripe, Owner target, bool fence) : stripe_(stripe) {
        stripe_.hazard.store(kHazardBusy | target, std::memory_order_relaxed);
        if (fence) [[unlikely]] {
            std::atomic_thread_fence(std::memory_order_seq_cst);
        } else {
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
    }
    ~Hazard() { stripe_.hazard.store(0, std::memory_order_release); }
    Hazard(const Hazard&) = delete;
    Hazard& operator=(const Hazard&) = delete;

  private:
    Stripe& stripe_;
};

/// Waits until every operation is over that could still use an object of `owner` which the caller
/// has made unreachable. Returns false if a sender has not finished after about a second, for
/// instance because it is stopped; the caller then must not reuse the object's memory. `self` is
/// the stripe that the caller itself holds, or nullptr.
bool wait_grace(const Arena& arena, Owner owner, const Stripe* self);

}  // namespace softib::shm
