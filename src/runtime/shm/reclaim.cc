// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/reclaim.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/shm/counters.h"
#include "runtime/shm/delivery.h"
#include "runtime/shm/grace.h"
#include "runtime/shm/limits.h"
#include "runtime/shm/packet_queue.h"
#include "runtime/shm/shm_lock.h"

namespace softib::shm {

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

/// Makes a process check its objects.
void alert(ProcSlot& slot) {
    slot.attention.fetch_or(kAttentionDeath, std::memory_order_release);
    slot.doorbell.fetch_add(1, std::memory_order_seq_cst);
    syscall(SYS_futex, &slot.doorbell, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

/// Alerts the processes on whose objects a dead process was at work. It may have died before it
/// raised an event there: of completions, or of a queue pair that it moved to error.
void alert_targets(const Arena& arena, Owner dead) {
    const ProcSlot& slot = arena.proc(dead);
    const std::uint32_t stripes = slot.stripes_used.load(std::memory_order_acquire);
    for (std::uint32_t s = 0; s < stripes && s < kStripesPerProc; ++s) {
        const std::uint64_t hazard = slot.stripes[s].hazard.load(std::memory_order_acquire);
        const auto target = static_cast<Owner>(hazard);
        if ((hazard & kHazardBusy) == 0) {
            continue;
        }
        for (std::uint32_t p = 0; p < procs_used(arena); ++p) {
            if ((target == p + 1 || target == kHazardAnyOwner) &&
                arena.procs[p].state.load(std::memory_order_acquire) == ProcState::kLive) {
                alert(arena.procs[p]);
            }
        }
    }
}

/// Alerts the processes that have mapped memory of peers, which may be the dead process's. A
/// process that checked its mappings before the keys of the dead process were gone checks them
/// again.
void alert_mappers(const Arena& arena) {
    arena.header->pieces_generation.fetch_add(1, std::memory_order_seq_cst);
    for (std::uint32_t p = 0; p < procs_used(arena); ++p) {
        if (arena.procs[p].state.load(std::memory_order_acquire) == ProcState::kLive &&
            arena.procs[p].peer_mappings.load(std::memory_order_seq_cst) != 0) {
            alert(arena.procs[p]);
        }
    }
}

}  // namespace

void alert_all(const Arena& arena) {
    for (std::uint32_t p = 0; p < procs_used(arena); ++p) {
        if (arena.procs[p].state.load(std::memory_order_acquire) == ProcState::kLive) {
            alert(arena.procs[p]);
        }
    }
}

namespace {

/// Makes the objects of a dead process unreachable. First its queue pairs stop answering, then
/// senders at work on it finish, then its keys go: a sender that saw a queue pair answer must not
/// find its key refused.
void close_objects(const Arena& arena, Owner owner) {
    for_each_entry(arena.qp_batches, kQpsMax, owner, [&](std::uint32_t i) {
        arena.qps[i].rx.store(0, std::memory_order_release);
        arena.qps[i].state.store(QpState::kReset, std::memory_order_release);
    });
    wait_grace(arena, owner, nullptr);
    for_each_entry(arena.mr_batches, kMrsMax, owner,
                   [&](std::uint32_t i) { arena.mrs[i].key.store(0, std::memory_order_release); });
    for_each_entry(arena.srq_batches, kSrqsMax, owner, [&](std::uint32_t i) {
        arena.srqs[i].live.store(0, std::memory_order_release);
    });
}

/// Frees what a dead process had, which nobody uses any more, and its slot.
void free_slot(const Arena& arena, Owner owner) {
    ProcSlot& slot = arena.proc(owner);
    const std::uint32_t stripes = slot.stripes_used.load(std::memory_order_acquire);
    for (std::uint32_t s = 0; s < stripes && s < kStripesPerProc; ++s) {
        slot.stripes[s].delivery_off.store(0);  // Its memory will be freed.
    }
    free_batches(arena.qp_batches, kQpsMax, owner);
    free_batches(arena.mr_batches, kMrsMax, owner);
    free_batches(arena.cq_batches, kCqsMax, owner);
    free_batches(arena.srq_batches, kSrqsMax, owner);
    free_chunks(arena, owner);
    for (std::uint32_t s = 0; s < stripes && s < kStripesPerProc; ++s) {
        slot.stripes[s].hazard.store(0);
        slot.stripes[s].adding.store(0);
        slot.stripes[s].lock.reset();
    }
    for (auto& call : slot.calls) {
        call.state.store(0);
    }
    slot.carrier_call.state.store(CarrierCall::kIdle);
    for (auto& channel : slot.async_channels) {
        channel.channel.store(0);
    }
    give_back_shares(arena, slot);
    for (std::size_t t = 0; t < kTierEnd; ++t) {
        slot.bytes_by_tier[t].store(0);
        slot.regions_by_tier[t].store(0);
    }
    slot.stripes_used.store(0);
    slot.helper_ready.store(0);
    slot.helper_sleeping.store(0);
    slot.attention.store(0);
    slot.peer_mappings.store(0);
    slot.pid = 0;
    slot.state.store(ProcState::kFree, std::memory_order_release);
}

}  // namespace

void reclaim(const Arena& arena, Owner owner) {
    ProcSlot& slot = arena.proc(owner);
    slot.state.store(ProcState::kDead, std::memory_order_release);
    arena.header->death_generation.fetch_add(1, std::memory_order_release);
    wake_carrier(arena);
    close_objects(arena, owner);
    // The life lock tells others whether the daemon lives, in case it dies with a lock below.
    hold_life_lock(arena, kDaemonOwner);
    bool quiet = true;
    for_each_delivery(arena, owner,
                      [&](DeliveryRecord& record) { quiet &= give_back(arena, owner, record); });
    alert_targets(arena, owner);
    if (slot.regions_by_tier[static_cast<std::size_t>(Tier::kGpu)].load() != 0 ||
        slot.regions_by_tier[static_cast<std::size_t>(Tier::kMapped)].load() != 0) {
        alert_mappers(arena);
    }
    quiet &= wait_grace(arena, owner, nullptr);
    for_each_entry(arena.qp_batches, kQpsMax, owner, [&](std::uint32_t i) {
        fold_counters(arena, arena.qps[i], kDaemonOwner);
        arena.qps[i].has_flows.store(0, std::memory_order_release);
        arena.qps[i].first_flow.dlid.store(0, std::memory_order_release);
        arena.qps[i].flows_off.store(0, std::memory_order_release);
        stop_counting(arena, i);
        arena.qps[i].owner = 0;
    });
    if (!quiet) {
        return;  // A peer is stopped within a copy: the daemon tries again later.
    }
    free_slot(arena, owner);
}

}  // namespace softib::shm
