// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Locks of the rings that several processes take from or write to, and the repair of these rings
// after a process died with the lock. A process notes in a DeliveryRecord which receive request it
// is about to take; the process that takes over its lock finishes or undoes what the record says.

#include <cstdint>

#include "runtime/shm/arena.h"
#include "runtime/shm/shm_lock.h"
#include "runtime/shm/sole_producer.h"

namespace softib::shm {

/// Returns the buffers of the receive request with this number.
inline Sge* ring_sges(const Arena& arena, const RecvRing& ring, std::uint32_t index) {
    return arena.at<Sge>(ring.ring_off) + std::uint64_t{index & ring.mask} * ring.sges_max;
}
/// Returns the rest of the receive request with this number.
inline RecvWqe* ring_slot(const Arena& arena, const RecvRing& ring, std::uint32_t index) {
    const std::uint64_t sges = (std::uint64_t{ring.mask} + 1) * ring.sges_max * sizeof(Sge);
    return arena.at<RecvWqe>(ring.ring_off + sges) + (index & ring.mask);
}
inline std::uint64_t ring_bytes(std::uint32_t slots, std::uint32_t sges_max) {
    return std::uint64_t{slots} * (sizeof(RecvWqe) + sges_max * sizeof(Sge));
}

/// Clears a record, after its request was completed or given back.
inline void delivered(DeliveryRecord& record) {
    record.state.store(DeliveryRecord::kNone, std::memory_order_release);
}

/// Calls fn(record) for every DeliveryRecord of a process.
template <typename Fn>
void for_each_delivery(const Arena& arena, Owner owner, Fn&& fn) {
    const ProcSlot& slot = arena.proc(owner);
    const std::uint32_t used = slot.stripes_used.load(std::memory_order_acquire);
    for (std::uint32_t s = 0; s < used && s < kStripesPerProc; ++s) {
        const std::uint64_t off = slot.stripes[s].delivery_off.load(std::memory_order_acquire);
        if (off != 0 && off <= arena.bytes - sizeof(DeliveryRecord)) {
            fn(*arena.at<DeliveryRecord>(off));
        }
    }
}

/// Finishes what a dead producer of a completion queue left; the caller has taken over its lock.
void mend_completions(const Arena& arena, CqShared& cq, Owner dead);
/// Notes in the record of a dead sender whether it took a request from a shared receive queue; the
/// caller has taken over its lock.
void mend_shared_receives(const Arena& arena, SrqShared& srq, std::uint32_t srq_index, Owner dead);
/// Finishes or undoes what a dead sender did in the ring of a UD queue pair; the caller has taken
/// over its lock.
void mend_datagram_receives(const Arena& arena, QpShared& qp, LockWord me, Owner dead);

/// Takes the lock of a completion queue's producers, dismisses its sole producer, and mends what a
/// dead producer left. Returns false if that takes longer than `limit_ns`; 0: no limit.
inline bool cq_lock(const Arena& arena, CqShared& cq, LockWord me, std::uint64_t limit_ns) {
    const LockResult result = shm_lock(arena, cq.lock, me, limit_ns);
    if (result.taken && (cq.sole.load(std::memory_order_relaxed) | cq.leaving) != 0) [[unlikely]] {
        if (!dismiss_sole(arena, cq, limit_ns)) {
            shm_unlock(cq.lock);
            return false;
        }
    }
    if (result.dead != 0) [[unlikely]] {
        mend_completions(arena, cq, static_cast<Owner>(result.dead));
    }
    return result.taken;
}

/// Takes the lock of a shared receive queue, and mends what a dead sender left. Returns false if
/// that takes longer than `limit_ns`; 0: no limit.
inline bool srq_lock(const Arena& arena, SrqShared& srq, std::uint32_t srq_index, LockWord me,
                     std::uint64_t limit_ns) {
    const LockResult result = shm_lock(arena, srq.ring.lock, me, limit_ns);
    if (result.dead != 0 && static_cast<Owner>(result.dead) != kDaemonOwner) [[unlikely]] {
        mend_shared_receives(arena, srq, srq_index, static_cast<Owner>(result.dead));
    }
    return result.taken;
}

/// Takes the lock of a UD queue pair's ring, and mends what a dead sender left. Returns false if
/// that takes longer than `limit_ns`; 0: no limit.
inline bool datagram_ring_lock(const Arena& arena, QpShared& qp, LockWord me,
                               std::uint64_t limit_ns = 0) {
    const LockResult result = shm_lock(arena, qp.rq.lock, me, limit_ns);
    if (result.dead == 0 || static_cast<Owner>(result.dead) == kDaemonOwner) [[likely]] {
        return result.taken;
    }
    mend_datagram_receives(arena, qp, me, static_cast<Owner>(result.dead));
    return true;
}

/// Gives the request of a dead process's record back to its ring unless it was completed; for the
/// daemon. Returns false if a stopped process keeps a lock that this needs.
bool give_back(const Arena& arena, Owner dead, DeliveryRecord& record);

}  // namespace softib::shm
