// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/live/reclaim.h"

#include <fcntl.h>

#include "runtime/live/grace.h"
#include "runtime/live/qp.h"
#include "runtime/live/recv_queue.h"
#include "runtime/live/shm_lock.h"

namespace softib::live {

namespace {

template <typename Fn>
void for_each_entry(std::atomic<Owner>* batches, std::uint32_t entries_max, Owner owner, Fn&& fn) {
    for (std::uint32_t b = 0; b < entries_max / kBatchEntries; ++b) {
        if (batches[b].load(std::memory_order_acquire) == owner) {
            for (std::uint32_t e = 0; e < kBatchEntries; ++e) {
                fn(b * kBatchEntries + e);
            }
        }
    }
}

void free_batches(std::atomic<Owner>* batches, std::uint32_t entries_max, Owner owner) {
    for (std::uint32_t b = 0; b < entries_max / kBatchEntries; ++b) {
        Owner expected = owner;
        batches[b].compare_exchange_strong(expected, 0);
    }
}

/// Puts a request that the dead process had taken back in front of its shared queue.
void give_back(const Arena& arena, Owner owner, Stripe& stripe) {
    const std::uint32_t taken = stripe.taken_srq.exchange(0);
    if (taken == 0 || taken > kSrqsMax) {
        return;
    }
    SrqShared& srq = arena.srqs[taken - 1];
    if (srq.live.load(std::memory_order_acquire) == 0 || srq.owner == owner) {
        return;
    }
    RecvRing& ring = srq.ring;
    // The dead process may have died inside this lock: taking it over is all there is to mend.
    shm_lock(arena, ring.lock, owner);
    const std::uint32_t head = ring.head.load(std::memory_order_relaxed);
    const std::uint32_t tail = ring.tail.load(std::memory_order_acquire);
    const auto index = static_cast<std::uint32_t>(stripe.taken_wr_off);
    const bool was_taken = head != index;
    const bool intact = tail - index <= ring.mask;
    if (was_taken && intact && tail - head < ring.mask) {
        TakenRecv wqe;
        copy_out(*ring_slot(arena, ring, index), index, wqe);
        RecvWqe& slot = *ring_slot(arena, ring, head - 1);
        slot.wr_id = wqe.wr_id;
        slot.num_sge = wqe.num_sge;
        for (std::uint32_t i = 0; i < wqe.num_sge; ++i) {
            slot.sges()[i] = wqe.sges[i];
        }
        ring.head.store(head - 1, std::memory_order_release);
    }
    shm_unlock(ring.lock);
}

void fold(const Arena& arena, QpShared& qp) {
    PortTotals& totals = arena.hcas[qp.hca].totals;
    const std::uint64_t xp = qp.xmit_packets.exchange(0);
    const std::uint64_t xw = qp.xmit_words.exchange(0);
    const std::uint64_t rp = qp.rcv_packets.exchange(0);
    const std::uint64_t rw = qp.rcv_words.exchange(0);
    totals.xmit_packets.fetch_add(xp);
    totals.xmit_words.fetch_add(xw);
    totals.rcv_packets.fetch_add(rp);
    totals.rcv_words.fetch_add(rw);
    const std::uint16_t dest = qp.dest_lid.exchange(0);
    if (dest != 0 && dest < kLftEntries && arena.lid_owner[dest].kind == NodeRef::kHca) {
        PortTotals& peer = arena.hcas[arena.lid_owner[dest].index].totals;
        peer.xmit_packets.fetch_add(rp);
        peer.xmit_words.fetch_add(rw);
        peer.rcv_packets.fetch_add(xp);
        peer.rcv_words.fetch_add(xw);
    }
}

void free_chunks(const Arena& arena, Owner owner) {
    const std::uint32_t total = arena.header->chunks;
    std::uint32_t first = 0;
    while (first < total) {
        if (arena.chunk_owner[first].load(std::memory_order_relaxed) != owner) {
            ++first;
            continue;
        }
        std::uint32_t end = first + 1;
        while (end < total && arena.chunk_owner[end].load(std::memory_order_relaxed) == owner) {
            ++end;
        }
        fallocate(arena.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  static_cast<off_t>(arena.header->chunks_off + std::uint64_t{first} * kChunkBytes),
                  static_cast<off_t>(std::uint64_t{end - first} * kChunkBytes));
        for (std::uint32_t c = first; c < end; ++c) {
            arena.chunk_owner[c].store(0, std::memory_order_release);
        }
        first = end;
    }
}

}  // namespace

void reclaim(const Arena& arena, Owner owner) {
    ProcSlot& slot = arena.proc(owner);
    slot.state.store(ProcState::kDead, std::memory_order_release);
    // First nothing of it answers any more, then whoever is at work on it finishes, then it goes.
    for_each_entry(arena.qp_batches, kQpsMax, owner, [&](std::uint32_t i) {
        arena.qps[i].rx.store(0, std::memory_order_release);
        arena.qps[i].state.store(QpState::kReset, std::memory_order_release);
    });
    for_each_entry(arena.mr_batches, kMrsMax, owner,
                   [&](std::uint32_t i) { arena.mrs[i].key.store(0, std::memory_order_release); });
    for_each_entry(arena.srq_batches, kSrqsMax, owner,
                   [&](std::uint32_t i) { arena.srqs[i].live.store(0, std::memory_order_release); });
    const std::uint32_t stripes = slot.stripes_used.load(std::memory_order_acquire);
    for (std::uint32_t s = 0; s < stripes && s < kStripesPerProc; ++s) {
        give_back(arena, owner, slot.stripes[s]);
    }
    const bool quiet = wait_grace(arena, owner, nullptr);
    for_each_entry(arena.qp_batches, kQpsMax, owner, [&](std::uint32_t i) {
        fold(arena, arena.qps[i]);
        arena.qps[i].owner = 0;
    });
    if (!quiet) {
        return;  // A peer is stopped in mid-copy: the memory stays quarantined with the slot.
    }
    free_batches(arena.qp_batches, kQpsMax, owner);
    free_batches(arena.mr_batches, kMrsMax, owner);
    free_batches(arena.cq_batches, kCqsMax, owner);
    free_batches(arena.srq_batches, kSrqsMax, owner);
    free_chunks(arena, owner);
    for (std::uint32_t s = 0; s < stripes && s < kStripesPerProc; ++s) {
        slot.stripes[s].hazard.store(0);
        slot.stripes[s].lock.store(0);
    }
    for (auto& call : slot.calls) {
        call.state.store(ServiceCall::kIdle);
    }
    for (auto& channel : slot.async_channels) {
        channel.channel.store(0);
    }
    for (int t = 0; t < 4; ++t) {
        slot.bytes_by_tier[t].store(0);
        slot.regions_by_tier[t].store(0);
    }
    slot.stripes_used.store(0);
    slot.helper_ready.store(0);
    slot.helper_sleeping.store(0);
    slot.attention.store(0);
    slot.pid = 0;
    slot.state.store(ProcState::kFree, std::memory_order_release);
}

}  // namespace softib::live
