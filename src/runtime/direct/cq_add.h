// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How an entry gets into a completion queue (cq.h). Inline, because every message passes here: the
// entry is written once, in its place.

#include <atomic>
#include <cstdint>

#include "runtime/direct/attachment.h"
#include "runtime/direct/cq.h"
#include "runtime/shm/clock.h"
#include "runtime/shm/hooks.h"
#include "runtime/shm/sole_producer.h"

namespace softib::direct {

enum class Added : std::uint8_t {
    kYes,
    kFlushed,  ///< The receive request was flushed meanwhile.
    kLost,     ///< The queue is full.
    kNotSole,  ///< The producer must take the queue's lock.
};

/// How many entries ahead a producer fetches the line of an entry, which the consumer had last.
inline constexpr std::uint32_t kEntriesAhead = 16;

inline void fill_entry(shm::Cqe& slot, const shm::Cqe& entry) {
    // Field by field: a copy of the whole would wait for the fields that were just written.
    slot.wr_id = entry.wr_id;
    slot.byte_len = entry.byte_len;
    slot.imm_or_rkey = entry.imm_or_rkey;
    slot.qpn = entry.qpn;
    slot.src_qpn = entry.src_qpn;
    slot.wqe_index = entry.wqe_index;
    slot.slid = entry.slid;
    slot.pkey_index = entry.pkey_index;
    slot.status = entry.status;
    slot.opcode = entry.opcode;
    slot.flags = entry.flags;
    slot.sl = entry.sl;
    slot.path_bits = entry.path_bits;
    slot.is_receive = entry.is_receive;
    slot.tag = entry.tag;
}

/// Returns what the cell of an entry says that is not short.
inline std::uint32_t about(const shm::Cqe& entry) {
    return entry.qpn | (entry.is_receive != 0 ? shm::kCellReceive : 0);
}

/// Adds an entry to a queue that no other producer adds to now. write(cell, slot) writes all but
/// the time, and returns what the cell says about it. `behind` becomes the index after the entry.
template <typename Write>
[[gnu::always_inline]] inline Added add_entry(const Attachment& self, shm::CqShared& cq,
                                              bool solicited, const Completing& completing,
                                              std::uint32_t& behind, Write&& write) {
    if (completing.ring != nullptr &&
        completing.ring->head.load(std::memory_order_relaxed) != completing.index) [[unlikely]] {
        return Added::kFlushed;
    }
    const std::uint32_t at = cq.produced;
    if (at - cq.consumed_seen >= cq.entries) [[unlikely]] {
        cq.consumed_seen = cq.consumed.load(std::memory_order_acquire);
        if (at - cq.consumed_seen >= cq.entries) {
            if (completing.ring != nullptr) {
                completing.ring->head.store(completing.index + 1, std::memory_order_release);
            }
            return Added::kLost;
        }
    }
    const shm::CqRing ring = shm::CqRing::at(self.arena.base + cq.ring_off, cq.mask + 1);
    shm::CqCell& cell = ring.cells[at & cq.mask];
    shm::Cqe& slot = ring.entries[at & cq.mask];
    const std::uint32_t about = write(cell, slot) | (solicited ? shm::kCellSolicited : 0);
    if (completing.record != nullptr) {
        completing.record->cq_at = at;
        completing.record->cq.store(cq.index + 1, std::memory_order_release);
    }
    park_point(shm::ParkPoint::kCqBeforePublish);
    if ((about & shm::kCellShort) == 0) {
        if (cq.timestamps != 0) [[unlikely]] {
            slot.timestamp_ns = shm::monotonic_ns();
        }
        slot.publish(at + 1);
        park_point(shm::ParkPoint::kCqEntryPublished);
        cell.wqe_index = slot.wqe_index;
        cell.byte_len = slot.byte_len;
    }
    cell.store_about(about);
    cell.publish(at + 1);
    park_point(shm::ParkPoint::kCqAfterPublish);
    if (completing.ring != nullptr) {
        completing.ring->head.store(completing.index + 1, std::memory_order_release);
    }
    park_point(shm::ParkPoint::kSendAfterCompletion);
    cq.produced = at + 1;
    shm::fetch_to_write(&ring.cells[(at + kEntriesAhead) & cq.mask]);
    behind = at + 1;
    return Added::kYes;
}

/// Raises the event of a queue to which an entry was added, if it is armed for it.
void notify_if_armed(const Attachment& self, shm::CqShared& cq, bool solicited,
                     std::uint32_t behind);

/// Marks a queue as overflowed and stops the queue pair whose completion is lost.
void cq_overflow(const Attachment& self, shm::CqShared& cq, std::uint32_t qpn);

/// Adds an entry of the queue pair `qpn` if the producer is the queue's sole one.
template <typename Write>
[[gnu::always_inline]] inline Added add_as_sole(const Attachment& self, shm::CqShared& cq,
                                                std::uint32_t qpn, bool solicited,
                                                const shm::Producer& producer,
                                                const Completing& completing, Write&& write) {
    if (!begin_adding(cq, producer)) [[unlikely]] {
        return Added::kNotSole;
    }
    std::uint32_t behind = 0;
    const Added added = add_entry(self, cq, solicited, completing, behind, write);
    park_point(shm::ParkPoint::kSoleAdding);
    end_adding(producer);
    // Cq::arm() has every thread execute a barrier before the first arming takes effect.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (cq.ever_armed.load(std::memory_order_relaxed) != 0) [[unlikely]] {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (added == Added::kYes) {
            notify_if_armed(self, cq, solicited, behind);
        }
    }
    if (added == Added::kLost) [[unlikely]] {
        cq_overflow(self, cq, qpn);
    }
    return added;
}

}  // namespace softib::direct
