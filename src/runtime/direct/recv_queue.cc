// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/recv_queue.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "runtime/direct/carrier_call.h"
#include "runtime/direct/cq.h"
#include "runtime/direct/process.h"
#include "runtime/shm/grace.h"
#include "runtime/shm/hooks.h"

namespace softib::direct {

namespace {

/// Spare slots of a shared receive queue, for the requests of senders that die at about the same
/// time.
constexpr std::uint32_t kSrqSpare = 16;
/// How many requests ahead a post fetches the line of a slot, which a sender had last.
constexpr std::uint32_t kPostsAhead = 8;

}  // namespace

shm::DeliveryRecord* delivery_record(Process& process, shm::Stripe& stripe) {
    std::uint64_t off = stripe.delivery_off.load(std::memory_order_relaxed);
    if (off == 0) [[unlikely]] {
        off = process.memory.chunks.allocate(sizeof(shm::DeliveryRecord));
        stripe.delivery_off.store(off, std::memory_order_release);
    }
    return off != 0 ? process.self.arena.at<shm::DeliveryRecord>(off) : nullptr;
}

bool ring_init(Process& process, shm::RecvRing& ring, std::uint32_t entries, std::uint32_t sges_max,
               std::uint32_t spare) {
    const std::uint32_t slots = std::bit_ceil(std::max(entries + spare, 1U));
    ring.mask = slots - 1;
    ring.sges_max = sges_max;
    ring.entries = entries;
    ring.tail.store(0);
    ring.head.store(0);
    ring.lock.store(0);
    ring.tail_seen = 0;
    ring.rnr_waiter.store(0);
    ring.ring_off = process.memory.chunks.allocate(shm::ring_bytes(slots, sges_max));
    return ring.ring_off != 0;
}

void ring_free(Process& process, shm::RecvRing& ring) {
    if (ring.ring_off != 0) {
        process.memory.chunks.release(ring.ring_off, shm::ring_bytes(ring.mask + 1, ring.sges_max));
        ring.ring_off = 0;
    }
}

int ring_post_locked(const shm::Arena& arena, shm::RecvRing& ring, std::uint32_t freed,
                     std::uint64_t wr_id, const hca::Sge* sges, std::uint32_t num_sge) {
    if (num_sge > ring.sges_max) {
        return EINVAL;
    }
    const std::uint32_t tail = ring.tail.load(std::memory_order_relaxed);
    if (tail - freed >= ring.entries) {
        return ENOMEM;
    }
    shm::RecvWqe& wqe = *ring_slot(arena, ring, tail);
    wqe.store_wr_id(wr_id);
    wqe.num_sge = num_sge;
    hca::Sge* const to = ring_sges(arena, ring, tail);
    for (std::uint32_t i = 0; i < num_sge; ++i) {
        to[i] = sges[i];
    }
    if (num_sge == 0) {
        to[0] = {};
    }
    ring.tail.store(tail + 1, std::memory_order_release);
    shm::fetch_to_write(ring_sges(arena, ring, tail + kPostsAhead));
    return 0;
}

void copy_out(const shm::Arena& arena, const shm::RecvRing& ring, std::uint32_t index,
              shm::TakenRecv& out) {
    const shm::RecvWqe& wqe = *ring_slot(arena, ring, index);
    out.wr_id = wqe.wr_id;
    out.num_sge = std::min(wqe.num_sge, hca::kSgesMax);
    out.wqe_index = index;
    std::memcpy(out.sges, ring_sges(arena, ring, index), out.num_sge * sizeof(hca::Sge));
}

void ring_wake_sender(const Attachment& self, shm::RecvRing& ring) {
    // A sender that has asked to be woken has every thread execute a barrier before it looks at the
    // ring for the last time (Progress::arm_wakes).
    if (self.hazard_fence) [[unlikely]] {
        std::atomic_thread_fence(std::memory_order_seq_cst);
    } else {
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    if (ring.rnr_waiter.load(std::memory_order_relaxed) != 0) [[unlikely]] {
        const std::uint32_t waiter = ring.rnr_waiter.exchange(0);
        if (waiter != 0) {
            self.ring(static_cast<shm::Owner>(waiter));
        }
    }
}

Srq::Srq(Process& process, std::uint32_t index)
    : given_back_(process.self.arena.srqs[index].given_back.load()),
      shared_(&process.self.arena.srqs[index]),
      process_(&process),
      index_(index) {}

std::uint32_t Srq::take_record(Process& process, const Init& init) {
    if (init.max_wr == 0 || init.max_wr > kRecvWrMax || init.max_sge > hca::kSgesMax) {
        errno = EINVAL;
        return shm::kNoEntry;
    }
    const std::uint32_t index = process.tables.srqs.allocate();
    if (index == shm::kNoEntry) {
        errno = ENOMEM;
        return shm::kNoEntry;
    }
    shm::SrqShared& shared = process.self.arena.srqs[index];
    if (!ring_init(process, shared.ring, init.max_wr, std::max(init.max_sge, 1U), kSrqSpare)) {
        process.tables.srqs.release(index);
        errno = ENOMEM;
        return shm::kNoEntry;
    }
    ++shared.use;
    shared.limit.store(init.limit);
    shared.pd = init.pd;
    shared.srqn = index;
    shared.xrcd = init.xrcd;
    shared.recv_cq = init.cq != nullptr ? init.cq->index() : 0;
    shared.owner = process.self.owner;
    shared.hca = static_cast<std::uint16_t>(init.hca);
    shared.async_channel = init.async_channel;
    shared.cookie = init.cookie;
    shared.live.store(1, std::memory_order_release);
    return index;
}

bool Srq::start() {
    if (const int error = open(); error != 0) {
        destroy();
        errno = error;
        return false;
    }
    process_->progress.srqs.add(*this);
    process_->progress.start_helper();
    return true;
}

void Srq::destroy() {
    if (process_->self.usable()) {
        process_->progress.srqs.remove(*this);
        close();
        // Under the lock, because the daemon may be giving back a request that a dead sender took.
        srq_lock(process_->self.arena, *shared_, index_, process_->self.lock_word, 0);
        shared_->live.store(0, std::memory_order_release);
        shm::shm_unlock(shared_->ring.lock);
        if (wait_grace(process_->self.arena, process_->self.owner, nullptr)) {
            ring_free(*process_, shared_->ring);
            shared_->owner = 0;
            process_->tables.srqs.release(index_);
        }
    }
    delete this;
}

int Srq::post_locked(std::uint64_t wr_id, const hca::Sge* sges, std::uint32_t num_sge) {
    shm::RecvRing& ring = shared_->ring;
    const std::uint32_t given_back = shared_->given_back.load(std::memory_order_acquire);
    if (given_back != given_back_ ||
        ring.tail.load(std::memory_order_relaxed) - freed_ >= ring.entries) {
        given_back_ = given_back;
        freed_ = ring.head.load(std::memory_order_acquire);
    }
    return ring_post_locked(process_->self.arena, ring, freed_, wr_id, sges, num_sge);
}

void Srq::unlock_and_wake() {
    lock_.unlock();
    ring_wake_sender(process_->self, shared_->ring);
}

int Srq::modify(bool set_max_wr, std::uint32_t max_wr, bool set_limit, std::uint32_t limit) {
    if (set_limit && limit > (set_max_wr ? max_wr : shared_->ring.entries)) {
        return EINVAL;
    }
    if (set_max_wr) {
        const int error = resize(max_wr);
        if (error != 0) {
            return error;
        }
    }
    if (set_limit) {
        shared_->limit.store(limit, std::memory_order_release);
        return limit_changed();
    }
    return 0;
}

int Srq::resize(std::uint32_t max_wr) {
    if (max_wr == 0 || max_wr > kRecvWrMax) {
        return EINVAL;
    }
    shm::RecvRing& ring = shared_->ring;
    const std::uint32_t slots = std::bit_ceil(max_wr + kSrqSpare);
    const std::uint64_t bytes = shm::ring_bytes(slots, ring.sges_max);
    lock_.lock();
    const bool grows = slots > ring.mask + 1;
    const std::uint64_t off = grows ? process_->memory.chunks.allocate(bytes) : 0;
    if (max_wr < ring_count(ring) || (grows && off == 0)) {
        lock_.unlock();
        if (off != 0) {
            process_->memory.chunks.release(off, bytes);
        }
        return grows && off == 0 ? ENOMEM : EINVAL;
    }
    if (grows) {
        // Senders read the ring only under its lock.
        srq_lock(process_->self.arena, *shared_, index_, process_->self.lock_word, 0);
        const std::uint32_t tail = ring.tail.load(std::memory_order_relaxed);
        const shm::Arena& arena = process_->self.arena;
        const std::uint64_t old_off = ring.ring_off;
        const std::uint64_t old_bytes = shm::ring_bytes(ring.mask + 1, ring.sges_max);
        shm::RecvRing larger{};
        larger.ring_off = off;
        larger.mask = slots - 1;
        larger.sges_max = ring.sges_max;
        for (std::uint32_t i = ring.head.load(std::memory_order_relaxed); i != tail; ++i) {
            *ring_slot(arena, larger, i) = *ring_slot(arena, ring, i);
            std::copy_n(ring_sges(arena, ring, i), ring.sges_max, ring_sges(arena, larger, i));
        }
        ring.ring_off = off;
        ring.mask = slots - 1;
        shm::shm_unlock(ring.lock);
        process_->memory.chunks.release(old_off, old_bytes);
    }
    ring.entries = max_wr;
    lock_.unlock();
    return 0;
}

bool srq_take(const Attachment& self, shm::SrqShared& srq, std::uint32_t srq_index,
              shm::DeliveryRecord& record) {
    shm::RecvRing& ring = srq.ring;
    srq_lock(self.arena, srq, srq_index, self.lock_word, 0);
    const std::uint32_t head = ring.head.load(std::memory_order_relaxed);
    const std::uint32_t limit = srq.limit.load(std::memory_order_relaxed);
    if (!has_request(ring, head) || srq.live.load(std::memory_order_relaxed) == 0) {
        shm::shm_unlock(ring.lock);
        return false;
    }
    if (limit != 0 && ring.tail_seen - head - 1 < limit) {
        ring.tail_seen = ring.tail.load(std::memory_order_acquire);
    }
    const bool reached = limit != 0 && ring.tail_seen - head - 1 < limit;
    copy_out(self.arena, ring, head, record.request);
    record.source = srq_index;
    record.use = srq.use;
    record.cq.store(0, std::memory_order_relaxed);
    record.state.store(shm::DeliveryRecord::kTaking, std::memory_order_release);
    park_point(shm::ParkPoint::kRingLocked);
    ring.head.store(head + 1, std::memory_order_release);
    park_point(shm::ParkPoint::kSrqHeadMoved);
    record.state.store(shm::DeliveryRecord::kTaken, std::memory_order_release);
    if (reached) {
        srq.limit.store(0, std::memory_order_relaxed);
    }
    shm::shm_unlock(ring.lock);
    park_point(shm::ParkPoint::kSrqAfterTake);
    if (reached) {
        self.channels.signal(
            srq.owner, srq.async_channel,
            {srq.cookie, static_cast<std::uint32_t>(hca::AsyncKind::kSrqLimitReached), 0});
    }
    return true;
}

int PacketSrq::open() {
    return call_carrier(*process_, shm::CarrierCall::kCreateSrq, index_, carrier_);
}

void PacketSrq::close() {
    if (carrier_ != 0) {
        call_carrier(*process_, shm::CarrierCall::kDestroySrq, index_, carrier_);
    }
}

int PacketSrq::limit_changed() {
    return call_carrier(*process_, shm::CarrierCall::kLimitSrq, index_, carrier_);
}

/// The requests posted here stay posted: no queue pair takes them any more, and none of them
/// completes (IBA vol. 1, 11.6.3, the affiliated asynchronous error of a shared receive queue).
void PacketSrq::stop_if_failed() {
    if (process_->self.arena.header->carrier.load(std::memory_order_acquire) != carrier_ &&
        !stopped_with_carrier_.exchange(true)) {
        process_->self.channels.signal(
            process_->self.owner, shared_->async_channel,
            {shared_->cookie, static_cast<std::uint32_t>(hca::AsyncKind::kSrqErr), 0});
    }
}

}  // namespace softib::direct
