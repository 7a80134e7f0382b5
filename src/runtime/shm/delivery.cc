// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/delivery.h"

#include <algorithm>

namespace softib::shm {

namespace {

/// How long the daemon waits for a lock, which a stopped process may keep forever.
constexpr std::uint64_t kDaemonPatienceNs = 200'000'000;

/// Returns whether the completion that a dead process wrote is valid. Takes and releases the
/// completion queue's lock, which mends the record first. Sets `known` to false if a stopped
/// process keeps that lock.
bool completion_written(const Arena& arena, DeliveryRecord& record, LockWord me,
                        std::uint64_t limit_ns, bool& known) {
    known = true;
    const std::uint32_t cq = record.cq.load(std::memory_order_acquire);
    if (cq == 0 || cq > kCqsMax) {
        return false;
    }
    known = cq_lock(arena, arena.cqs[cq - 1], me, limit_ns);
    if (known) {
        shm_unlock(arena.cqs[cq - 1].lock);
    }
    return record.cq.load(std::memory_order_acquire) != 0;
}

}  // namespace

// The dead producer's entry may be valid although `produced` does not count it yet. If the entry is
// not valid, this notes in the DeliveryRecord that its receive request was not completed.
void mend_completions(const Arena& arena, CqShared& cq, Owner dead) {
    const CqRing ring = CqRing::at(arena.base + cq.ring_off, cq.mask + 1);
    CqCell& cell = ring.cells[cq.produced & cq.mask];
    const Cqe& e = ring.entries[cq.produced & cq.mask];
    if (cell.load_seq() != cq.produced + 1 && e.load_seq() == cq.produced + 1) {
        // It had written the entry, but not yet the cell.
        cell.wqe_index = e.wqe_index;
        cell.byte_len = e.byte_len;
        cell.store_about(e.qpn | (e.is_receive != 0 ? kCellReceive : 0) | kCellSolicited);
        cell.publish(cq.produced + 1);
    }
    if (cell.load_seq() == cq.produced + 1) {
        ++cq.produced;
        return;
    }
    if (dead == kDaemonOwner) {
        return;
    }
    for_each_delivery(arena, dead, [&](DeliveryRecord& record) {
        if (record.state.load(std::memory_order_acquire) != DeliveryRecord::kNone &&
            record.cq.load(std::memory_order_acquire) == cq.index + 1 &&
            record.cq_at == cq.produced) {
            record.cq.store(0, std::memory_order_release);
        }
    });
}

// The head shows whether the dead sender took the request, since no other sender has moved it.
void mend_shared_receives(const Arena& arena, SrqShared& srq, std::uint32_t srq_index, Owner dead) {
    const std::uint32_t head = srq.ring.head.load(std::memory_order_relaxed);
    for_each_delivery(arena, dead, [&](DeliveryRecord& record) {
        if (record.state.load(std::memory_order_acquire) == DeliveryRecord::kTaking &&
            record.source == srq_index && record.use == srq.use) {
            record.state.store(head == record.request.wqe_index + 1 ? DeliveryRecord::kTaken
                                                                    : DeliveryRecord::kNone,
                               std::memory_order_release);
        }
    });
}

void mend_datagram_receives(const Arena& arena, QpShared& qp, LockWord me, Owner dead) {
    for_each_delivery(arena, dead, [&](DeliveryRecord& record) {
        if (record.state.load(std::memory_order_acquire) != DeliveryRecord::kDatagram ||
            record.source != static_cast<std::uint32_t>(&qp - arena.qps) || record.use != qp.qpn) {
            return;
        }
        bool known = false;
        if (completion_written(arena, record, me, 0, known)) {
            qp.rq.head.store(record.request.wqe_index + 1, std::memory_order_release);
        }
        delivered(record);
    });
}

bool give_back(const Arena& arena, Owner dead, DeliveryRecord& record) {
    const std::uint32_t state = record.state.load(std::memory_order_acquire);
    if (state == DeliveryRecord::kDatagram && record.source < kQpsMax) {
        // The process that takes over the lock of a UD ring mends the record: the daemon does so
        // here, if no sender has yet.
        QpShared& qp = arena.qps[record.source];
        if (!datagram_ring_lock(arena, qp, kDaemonOwner, kDaemonPatienceNs)) {
            return false;
        }
        shm_unlock(qp.rq.lock);
        return true;
    }
    if ((state != DeliveryRecord::kTaking && state != DeliveryRecord::kTaken) ||
        record.source >= kSrqsMax) {
        return true;
    }
    SrqShared& srq = arena.srqs[record.source];
    bool known = true;
    const bool completed =
        completion_written(arena, record, kDaemonOwner, kDaemonPatienceNs, known);
    if (!known || !srq_lock(arena, srq, record.source, kDaemonOwner, kDaemonPatienceNs)) {
        return false;
    }
    RecvRing& ring = srq.ring;
    const std::uint32_t head = ring.head.load(std::memory_order_relaxed);
    const std::uint32_t tail = ring.tail.load(std::memory_order_acquire);
    // Checked under the lock, which an owner that destroys the queue also takes.
    if (!completed && record.state.load(std::memory_order_acquire) == DeliveryRecord::kTaken &&
        srq.live.load(std::memory_order_acquire) != 0 && srq.use == record.use &&
        srq.owner != dead && tail - head < ring.mask) {
        RecvWqe& slot = *ring_slot(arena, ring, head - 1);
        slot.store_wr_id(record.request.wr_id);
        slot.num_sge = record.request.num_sge;
        std::copy_n(record.request.sges, record.request.num_sge, ring_sges(arena, ring, head - 1));
        ring.head.store(head - 1, std::memory_order_release);
        srq.given_back.fetch_add(1, std::memory_order_release);
    }
    delivered(record);
    shm_unlock(ring.lock);
    return true;
}

}  // namespace softib::shm
