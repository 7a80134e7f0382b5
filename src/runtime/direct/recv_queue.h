// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Receive queues: rings of posted requests that deliverers (peers) take from. The ring of a
// connected QP has one deliverer, its peer, and needs no lock; UD and shared rings take one.

#include <atomic>
#include <cstdint>

#include "runtime/shm/arena.h"
#include "runtime/shm/delivery.h"
#include "runtime/shm/shm_lock.h"
#include "runtime/shm/types.h"

namespace softib::live {

class Process;
class Cq;

inline constexpr std::uint32_t kRecvWrMax = 1U << 16;

/// `spare`: slots beyond the capacity, into which requests of dead takers are given back.
bool ring_init(Process& process, RecvRing& ring, std::uint32_t entries, std::uint32_t sges_max,
               std::uint32_t spare);
void ring_free(Process& process, RecvRing& ring);

/// Posts one request; the caller holds the owner's lock. `freed`: index up to which slots are free
/// again. Returns 0, ENOMEM (full) or EINVAL.
int ring_post_locked(const Arena& arena, RecvRing& ring, std::uint32_t freed, std::uint64_t wr_id,
                     const Sge* sges, std::uint32_t num_sge);

inline std::uint32_t ring_count(const RecvRing& ring) {
    return ring.tail.load(std::memory_order_acquire) - ring.head.load(std::memory_order_relaxed);
}

void copy_out(const RecvWqe& wqe, std::uint32_t index, TakenRecv& out);

/// After a post: wakes the sender that waits for this ring, if one asked for it.
void ring_wake_sender(Process& process, RecvRing& ring);

/// A shared receive queue, basic or XRC.
class Srq {
  public:
    struct Init {
        std::uint32_t max_wr = 0;
        std::uint32_t max_sge = 0;
        std::uint32_t limit = 0;
        std::uint32_t pd = 0;
        std::uint32_t hca = 0;
        std::uint32_t xrcd = 0;  ///< XRC domain; 0: a basic shared receive queue.
        Cq* cq = nullptr;        ///< XRC only.
        std::uint32_t async_channel = 0;
        std::uint64_t cookie = 0;
    };
    static Srq* create(Process& process, const Init& init);  ///< nullptr and errno.
    ~Srq();

    std::uint32_t index() const { return index_; }
    std::uint32_t srqn() const { return shared_->srqn; }
    SrqShared& shared() { return *shared_; }
    /// Packet path: the carrier that knows it, by its name in locks.
    LockWord carrier() const { return carrier_; }

    void lock() { lock_.lock(); }
    int post_locked(std::uint64_t wr_id, const Sge* sges, std::uint32_t num_sge);
    void unlock_and_wake();
    int modify(bool set_max_wr, std::uint32_t max_wr, bool set_limit, std::uint32_t limit);
    /// Raises SRQ_ERR, once, if the carrier that knows it has ended.
    void stop_with_carrier();

  private:
    Srq() = default;
    int resize(std::uint32_t max_wr);  ///< 0 or errno.

    SpinLock lock_;
    SrqShared* shared_ = nullptr;
    Process* process_ = nullptr;
    std::uint32_t index_ = 0;
    LockWord carrier_ = 0;
    std::atomic<bool> stopped_with_carrier_{false};
};

/// The stripe's record, made on first use; nullptr: the arena is full.
DeliveryRecord* delivery_record(Process& process, Stripe& stripe);

/// Takes the oldest request of a shared ring into the record; false: it is empty. Raises
/// SRQ_LIMIT_REACHED. The request counts as taken until delivered().
bool srq_take(Process& process, SrqShared& srq, std::uint32_t srq_index, DeliveryRecord& record);
}  // namespace softib::live
