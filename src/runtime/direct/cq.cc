// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/cq.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/direct/cq_add.h"
#include "runtime/direct/process.h"
#include "runtime/direct/qp_base.h"
#include "runtime/shm/clock.h"
#include "runtime/shm/grace.h"
#include "runtime/shm/hooks.h"

namespace softib::direct {

namespace {

shm::CqRing ring_of(const shm::Arena& arena, const shm::CqShared& cq) {
    return shm::CqRing::at(arena.base + cq.ring_off, cq.mask + 1);
}

void lock_producer(const Attachment& self, shm::CqShared& cq) {
    cq_lock(self.arena, cq, self.lock_word, 0);
}

/// The entries of one rest that are a stream: its next rest is longer.
constexpr std::uint32_t kStream = 6;
constexpr std::uint32_t kRestTicksMin = shm::kTicksIn100Ns * 3 / 2;
constexpr std::uint32_t kRestTicksMax = shm::kTicksIn100Ns * 10;
/// CqShared::ever_armed when every producer has had a barrier since it became 1.
constexpr std::uint32_t kArmedSeen = 2;

/// Copies an entry, but not its place in the queue.
void copy_entry(const shm::CqRing& from, std::uint32_t at, const shm::CqRing& to,
                std::uint32_t to_at) {
    to.cells[to_at].wqe_index = from.cells[at].wqe_index;
    to.cells[to_at].byte_len = from.cells[at].byte_len;
    to.cells[to_at].store_about(from.cells[at].load_about());
    to.entries[to_at] = from.entries[at];
}

/// Returns whether a cell is that of a receive (or send) completion of this queue pair.
bool is_of(const shm::CqCell& cell, std::uint32_t qpn, bool receive) {
    const std::uint32_t about = cell.load_about();
    return (about & shm::kCellQpn) == qpn && ((about & shm::kCellReceive) != 0) == receive;
}

/// Raises the event of an armed queue. Returns false if another thread raises that event, or if the
/// channel has no room for it (the queue then stays armed).
bool notify(const Attachment& self, shm::CqShared& cq, std::uint32_t armed,
            std::uint32_t behind = 0, std::uint32_t consumed = 0) {
    // The queue is disarmed only after the event is written: if this process dies in between, the
    // queue stays claimed, and its owner raises the event (announce_lost).
    std::uint32_t claimed = with_kind(armed, shm::kArmClaimed);
    if (cq.arm.compare_exchange_strong(armed, claimed)) {
        park_point(shm::ParkPoint::kCqNotifying);
        const bool raised =
            self.channels.signal(cq.owner, cq.channel, {cq.cookie, behind, consumed});
        // Has no effect if the queue was armed again meanwhile.
        cq.arm.compare_exchange_strong(claimed, raised ? with_kind(claimed, shm::kArmNone) : armed);
        return raised;
    }
    return false;
}

}  // namespace

/// The queue's owner, which is rung, then flushes that queue pair and stops the queue's other queue
/// pairs too (IBA vol. 1, 11.6.3: CQ error, local work queue catastrophic error).
void cq_overflow(const Attachment& self, shm::CqShared& cq, std::uint32_t qpn) {
    if (cq.overflowed.exchange(1) == 0) {
        self.channels.signal(cq.owner, cq.async_channel,
                             {cq.cookie, static_cast<std::uint32_t>(hca::AsyncKind::kCqErr), 0});
    }
    shm::QpShared& qp = self.arena.qps[qp_index(qpn)];
    hca::QpState state = qp.state.load(std::memory_order_relaxed);
    if (qp.qpn == qpn && state != hca::QpState::kReset && state != hca::QpState::kErr) {
        qp.rx.store(0, std::memory_order_release);
        qp.state.compare_exchange_strong(state, hca::QpState::kErr);
    }
    self.ring(cq.owner);
}

void notify_if_armed(const Attachment& self, shm::CqShared& cq, bool solicited,
                     std::uint32_t behind) {
    park_point(shm::ParkPoint::kCqBeforeNotify);
    const std::uint32_t armed = cq.arm.load(std::memory_order_relaxed);
    const shm::ArmKind kind = shm::arm_kind(armed);
    if (kind != shm::kArmNone &&
        (kind == shm::kArmAny || (kind == shm::kArmSolicited && solicited))) [[unlikely]] {
        notify(self, cq, armed, behind, cq.consumed.load(std::memory_order_relaxed));
    }
}

bool cq_push(const Attachment& self, shm::CqShared& cq, const shm::Cqe& entry, bool solicited,
             const shm::Producer* producer, const Completing& completing) {
    const auto write = [&entry](shm::CqCell&, shm::Cqe& slot) {
        fill_entry(slot, entry);
        return about(entry);
    };
    Added added = Added::kNotSole;
    if (producer != nullptr) {
        added = add_as_sole(self, cq, entry.qpn, solicited, *producer, completing, write);
    }
    if (added == Added::kNotSole) {
        std::uint32_t behind = 0;
        lock_producer(self, cq);
        added = add_entry(self, cq, solicited, completing, behind, write);
        note_added(cq, producer);
        // The unlock is a full barrier: either this thread sees that the queue is armed, or the
        // owner's poll after arming sees the entry. (So is the one of add_as_sole().)
        shm::shm_unlock(cq.lock);
        if (added == Added::kYes) {
            notify_if_armed(self, cq, solicited, behind);
        } else if (added == Added::kLost) {
            cq_overflow(self, cq, entry.qpn);
        }
    }
    return added != Added::kFlushed;
}

Cq* Cq::create(Process& process, std::uint32_t hca, std::uint32_t entries, std::uint32_t channel,
               std::uint32_t async_channel, std::uint64_t cookie, bool timestamps) {
    if (entries == 0 || entries > kCqEntriesMax) {
        errno = EINVAL;
        return nullptr;
    }
    const std::uint32_t ring = std::bit_ceil(std::max(entries + 1, shm::kCqSlotsMin));
    const std::uint32_t index = process.tables.cqs.allocate();
    const std::uint64_t ring_off =
        index == shm::kNoEntry ? 0 : process.memory.chunks.allocate(shm::CqRing::bytes(ring));
    if (ring_off == 0) {
        if (index != shm::kNoEntry) {
            process.tables.cqs.release(index);
        }
        errno = ENOMEM;
        return nullptr;
    }
    shm::CqShared& shared = process.self.arena.cqs[index];
    // A process may have died while it held the lock of the entry's last use.
    while (!shm_lock(process.self.arena, shared.lock, process.self.lock_word).taken) {
    }
    shared.produced = 0;
    shared.consumed_seen = 0;
    shared.mask = ring - 1;
    shared.ring_off = ring_off;
    shared.owner = process.self.owner;
    shared.hca = static_cast<std::uint16_t>(hca);
    shared.index = index;
    shared.channel = channel;
    shared.entries = ring - 1;
    shared.cookie = cookie;
    shared.async_channel = async_channel;
    shared.timestamps = timestamps ? 1 : 0;
    shared.sole.store(0);
    shared.leaving = 0;
    shared.last = 0;
    shared.streak = 0;
    shared.streak_wanted = shm::kStreakFirst;
    shared.arm.store(shm::kArmNone);
    shared.ever_armed.store(0);
    shared.overflowed.store(0);
    shared.consumed.store(0, std::memory_order_release);
    shm::shm_unlock(shared.lock);
    auto* cq = new Cq;
    cq->process_ = &process;
    cq->may_rest_ = process.self.arena.header->data_path == DataPath::kDirect;
    cq->shared_ = &shared;
    cq->index_ = index;
    cq->mask_ = ring - 1;
    cq->ring_ = ring_of(process.self.arena, shared);
    process.progress.cqs.add(*cq);
    return cq;
}

Cq::~Cq() {
    if (!process_->self.usable()) {
        return;
    }
    process_->progress.cqs.remove(*this);
    // If a sender was stopped in the middle of a delivery, it may still write to this queue: the
    // memory is then never reused.
    if (wait_grace(process_->self.arena, process_->self.owner, nullptr)) {
        lock_producer(process_->self, *shared_);
        shared_->owner = 0;
        shm::shm_unlock(shared_->lock);
        process_->memory.chunks.release(shared_->ring_off, shm::CqRing::bytes(mask_ + 1));
        process_->tables.cqs.release(index_);
    }
}

void Cq::rest_or_look() {
    const bool rested = empty_since_.load(std::memory_order_relaxed) != 0;
    const std::uint32_t found = std::exchange(found_, 0);
    if (found == 0 || !may_rest_) {
        empty_since_.store(0, std::memory_order_relaxed);
        return;
    }
    const std::uint32_t ticks = rest_ticks_.load(std::memory_order_relaxed);
    rest_ticks_.store(
        rested && found >= kStream ? std::min(2 * ticks, kRestTicksMax) : kRestTicksMin,
        std::memory_order_relaxed);
    empty_since_.store(shm::cpu_ticks(), std::memory_order_relaxed);
}

const shm::Cqe* Cq::expand(const shm::CqCell& cell) {
    const shm::QpShared& qp = process_->self.arena.qps[qp_index(cell.load_about() & shm::kCellQpn)];
    reinterpret_cast<QpBase*>(qp.cookie)->expand(cell, expanded_);
    return &expanded_;
}

void Cq::retire(const shm::Cqe& e) {
    shm::QpShared& qp = process_->self.arena.qps[qp_index(e.qpn)];
    if (e.is_receive == 0) {
        // Completions of the program's own requests are there as soon as it has posted them.
        may_rest_ = false;
        reinterpret_cast<QpBase*>(qp.cookie)->send_retired(e.wqe_index);
    } else if (qp.srq == 0 && qp.type != hca::QpType::kXrcRecv) {
        reinterpret_cast<QpBase*>(qp.cookie)->receive_retired(e.wqe_index);
    }
}

/// By IBA vol. 1, 11.4.2.2, a completion that is in the queue before it is armed need not raise an
/// event, and programs must poll once more before they sleep. HCAs raise the event all the same,
/// because they compare the consumer index that comes with the request, and some programs rely on
/// that. A completion whose event the program has taken raises no second event before the program
/// polls: perftest arms between taking the event and polling, and takes the next event as that of
/// the next completion.
void Cq::arm(bool solicited_only) {
    if (shared_->channel == 0) {
        return;
    }
    end_rest();
    // A sole producer does not look at `arm` before it has seen that the queue was ever armed.
    if (shared_->ever_armed.load(std::memory_order_acquire) != kArmedSeen) {
        shared_->ever_armed.store(1, std::memory_order_relaxed);
        shm::barrier_everywhere();
        shared_->ever_armed.store(kArmedSeen, std::memory_order_release);
    }
    // Solicited-only never weakens an earlier request for any completion (IBA vol. 1, 11.4.2.2).
    const shm::ArmKind kind = solicited_only ? shm::kArmSolicited : shm::kArmAny;
    std::uint32_t seen = shared_->arm.load();
    std::uint32_t armed = seen;
    do {
        armed = solicited_only && shm::arm_kind(seen) == shm::kArmAny
                    ? seen
                    : with_kind(seen + shm::kArmStep, kind);
    } while (!shared_->arm.compare_exchange_weak(seen, armed));
    // As in cq_push(): either the producer sees that the queue is armed, or this thread sees the
    // producer's entry.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!holds(shm::arm_kind(armed) == shm::kArmSolicited)) {
        return;
    }
    // One event of this kind is enough until the program takes it: a program that arms again and
    // again must not fill the channel.
    if (!announced_.exchange(true, std::memory_order_acq_rel) &&
        !notify(process_->self, *shared_, armed)) {
        announced_.store(false, std::memory_order_release);
    }
}

bool Cq::holds(bool solicited_only) {
    const std::lock_guard guard(ring_lock_);
    for (;;) {
        std::uint32_t at = shared_->consumed.load(std::memory_order_acquire);
        const std::uint64_t told = told_.load(std::memory_order_acquire);
        if (static_cast<std::uint32_t>(told >> 32) == at) {
            at = static_cast<std::uint32_t>(told);
        }
        for (; ring_.cells[at & mask_].load_seq() == at + 1; ++at) {
            if (!solicited_only ||
                (ring_.cells[at & mask_].load_about() & shm::kCellSolicited) != 0) {
                return true;
            }
        }
        // No more entries, unless another thread has polled this one and its slot was used again.
        if (static_cast<std::int32_t>(at - shared_->consumed.load(std::memory_order_acquire)) >=
            0) {
            return false;
        }
    }
}

void Cq::announce_lost() {
    std::uint32_t armed = shared_->arm.load();
    if (shm::arm_kind(armed) == shm::kArmNone) {
        return;
    }
    lock_.lock();
    const bool waiting = shm::arm_kind(armed) == shm::kArmClaimed || peek_locked() != nullptr;
    lock_.unlock();
    // One event too many does no harm: the program polls and finds nothing.
    if (waiting && shared_->arm.compare_exchange_strong(armed, with_kind(armed, shm::kArmNone))) {
        process_->self.channels.signal(process_->self.owner, shared_->channel,
                                       {shared_->cookie, 0, 0});
    }
}

int Cq::resize(std::uint32_t entries) {
    if (entries == 0 || entries > kCqEntriesMax) {
        return EINVAL;
    }
    const std::uint32_t ring = std::bit_ceil(std::max(entries + 1, shm::kCqSlotsMin));
    const std::uint64_t off = process_->memory.chunks.allocate(shm::CqRing::bytes(ring));
    if (off == 0) {
        return ENOMEM;
    }
    lock_.lock();
    lock_producer(process_->self, *shared_);
    const std::uint32_t outstanding = shared_->produced - consumed_;
    if (outstanding > ring - 1) {
        shm::shm_unlock(shared_->lock);
        lock_.unlock();
        process_->memory.chunks.release(off, shm::CqRing::bytes(ring));
        return EINVAL;
    }
    ring_lock_.lock();
    const shm::CqRing fresh = shm::CqRing::at(process_->self.arena.base + off, ring);
    for (std::uint32_t i = consumed_; i != shared_->produced; ++i) {
        copy_entry(ring_, i & mask_, fresh, i & (ring - 1));
        fresh.cells[i & (ring - 1)].publish(i + 1);
    }
    const std::uint64_t old_off = shared_->ring_off;
    const std::uint32_t old_ring = mask_ + 1;
    shared_->ring_off = off;
    shared_->mask = ring - 1;
    shared_->entries = ring - 1;
    ring_ = fresh;
    mask_ = ring - 1;
    ring_lock_.unlock();
    shm::shm_unlock(shared_->lock);
    lock_.unlock();
    process_->memory.chunks.release(old_off, shm::CqRing::bytes(old_ring));
    return 0;
}

void Cq::purge(std::uint32_t qpn) {
    lock_.lock();
    lock_producer(process_->self, *shared_);
    ring_lock_.lock();
    // The entries that stay move to the end, so that `produced` stays and `consumed` moves on.
    std::uint32_t to = shared_->produced;
    for (std::uint32_t i = shared_->produced; i != consumed_; --i) {
        if ((ring_.cells[(i - 1) & mask_].load_about() & shm::kCellQpn) != qpn) {
            --to;
            if (to != i - 1) {
                copy_entry(ring_, (i - 1) & mask_, ring_, to & mask_);
            }
        }
    }
    if (to != consumed_) {
        consumed_ = to;
        shared_->consumed.store(consumed_, std::memory_order_release);
    }
    ring_lock_.unlock();
    shm::shm_unlock(shared_->lock);
    lock_.unlock();
}

std::optional<std::uint32_t> Cq::newest(std::uint32_t qpn, bool receive) {
    std::optional<std::uint32_t> found;
    lock_.lock();
    lock_producer(process_->self, *shared_);
    for (std::uint32_t i = shared_->produced; i != consumed_ && !found; --i) {
        const shm::CqCell& cell = ring_.cells[(i - 1) & mask_];
        if (is_of(cell, qpn, receive)) {
            found = cell.wqe_index;
        }
    }
    shm::shm_unlock(shared_->lock);
    lock_.unlock();
    return found;
}

std::uint32_t Cq::claim_receives(std::uint32_t qpn, shm::RecvRing& ring, std::uint32_t polled) {
    lock_.lock();
    lock_producer(process_->self, *shared_);
    std::uint32_t head = ring.head.load(std::memory_order_acquire);
    // A sender that died between completing a request and taking it off the ring has left it there.
    bool completed = polled == head + 1;
    for (std::uint32_t i = shared_->produced; i != consumed_ && !completed; --i) {
        const shm::CqCell& cell = ring_.cells[(i - 1) & mask_];
        if (is_of(cell, qpn, true)) {
            completed = cell.wqe_index == head;
            break;
        }
    }
    const std::uint32_t tail = ring.tail.load(std::memory_order_acquire);
    if (completed && head != tail) {
        ++head;
    }
    ring.head.store(tail, std::memory_order_release);
    shm::shm_unlock(shared_->lock);
    lock_.unlock();
    return head;
}

}  // namespace softib::direct
