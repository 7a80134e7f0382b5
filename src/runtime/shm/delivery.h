// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Locks of the rings that several processes take from or write to, and the repair of these rings
// after such a process died inside. A process writes down which receive request it is about to take
// (DeliveryRecord); the process that takes over its lock finishes or undoes what the record says.

#include <cstdint>

#include "runtime/shm/arena.h"
#include "runtime/shm/shm_lock.h"

namespace softib::live {

inline RecvWqe* ring_slot(const Arena& arena, const RecvRing& ring, std::uint32_t index) {
    return arena.at<RecvWqe>(ring.ring_off + std::uint64_t{index & ring.mask} * ring.stride_bytes);
}

inline void delivered(DeliveryRecord& record) {
    record.state.store(DeliveryRecord::kNone, std::memory_order_release);
}

/// Calls fn(record) for every record of a process.
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

// What a dead holder of each lock left; the caller holds the lock now.
void mend_completions(const Arena& arena, CqShared& cq, Owner dead);
void mend_shared_receives(const Arena& arena, SrqShared& srq, std::uint32_t srq_index, Owner dead);
void mend_datagram_receives(const Arena& arena, QpShared& qp, LockWord me, Owner dead);

/// Takes the lock of a completion queue's producers, and mends what a dead producer left. Returns
/// false only with a limit.
inline bool cq_lock(const Arena& arena, CqShared& cq, LockWord me, std::uint64_t limit_ns) {
    const LockResult result = shm_lock(arena, cq.lock, me, limit_ns);
    if (result.dead != 0) [[unlikely]] {
        mend_completions(arena, cq, static_cast<Owner>(result.dead));
    }
    return result.taken;
}

/// Takes the lock of a shared receive queue, and mends what a dead taker left. Returns false only
/// with a limit.
inline bool srq_lock(const Arena& arena, SrqShared& srq, std::uint32_t srq_index, LockWord me,
                     std::uint64_t limit_ns) {
    const LockResult result = shm_lock(arena, srq.ring.lock, me, limit_ns);
    if (result.dead != 0 && static_cast<Owner>(result.dead) != kDaemonOwner) [[unlikely]] {
        mend_shared_receives(arena, srq, srq_index, static_cast<Owner>(result.dead));
    }
    return result.taken;
}

/// Takes the lock of a UD queue pair's ring, and ends what a dead sender was doing inside. Returns
/// false only with a limit.
inline bool datagram_ring_lock(const Arena& arena, QpShared& qp, LockWord me,
                               std::uint64_t limit_ns = 0) {
    const LockResult result = shm_lock(arena, qp.rq.lock, me, limit_ns);
    if (result.dead == 0 || static_cast<Owner>(result.dead) == kDaemonOwner) [[likely]] {
        return result.taken;
    }
    mend_datagram_receives(arena, qp, me, static_cast<Owner>(result.dead));
    return true;
}

/// For the daemon: gives a dead process's request back unless it was completed. Returns false while
/// a stopped process keeps a lock that this needs.
bool give_back(const Arena& arena, Owner dead, DeliveryRecord& record);

}  // namespace softib::live
