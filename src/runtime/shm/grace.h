// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Safe destruction of objects that peers use without asking. A sender publishes a hazard (which
// process it is about to touch) with a plain store; a destroyer makes the object unreachable,
// forces a barrier on every thread of the fabric's processes (membarrier), and waits until no
// sender that started before is still at work on its process. The sender pays no fence.

#include "runtime/shm/arena.h"

namespace softib::live {

/// Registers this process for the expedited barrier; false where the kernel has none, and
/// hazards then fence by themselves.
bool grace_register();

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

/// Waits until every operation that could still use an object of `owner`, already unreachable,
/// is over. Bounded: after about a second a sender that is stopped in mid-flight is given up on
/// and false is returned; the caller then must not reuse the object's memory.
/// `self`: the stripe the caller itself holds, or nullptr.
bool wait_grace(const Arena& arena, Owner owner, const Stripe* self);

}  // namespace softib::live
