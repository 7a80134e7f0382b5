// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Receive queues: rings of posted requests, which senders of any process take when they deliver a
// message. Only the peer takes from the ring of a connected queue pair, without a lock; rings of UD
// queue pairs and of shared receive queues have a lock.

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

/// Allocates a receive ring in the arena. `spare` is the number of slots beyond its capacity, for
/// requests that a process had taken when it died and that are given back. Returns false if the
/// arena is full.
bool ring_init(Process& process, RecvRing& ring, std::uint32_t entries, std::uint32_t sges_max,
               std::uint32_t spare);
void ring_free(Process& process, RecvRing& ring);

/// Posts one request; the caller holds the owner's lock. Slots before the index `freed` are free
/// again. Returns 0, ENOMEM (the ring is full) or EINVAL (too many scatter/gather elements).
int ring_post_locked(const Arena& arena, RecvRing& ring, std::uint32_t freed, std::uint64_t wr_id,
                     const Sge* sges, std::uint32_t num_sge);

/// Returns the number of posted requests that no sender has taken.
inline std::uint32_t ring_count(const RecvRing& ring) {
    return ring.tail.load(std::memory_order_acquire) - ring.head.load(std::memory_order_relaxed);
}

/// Copies the posted request at `index` of a ring.
void copy_out(const RecvWqe& wqe, std::uint32_t index, TakenRecv& out);

/// Wakes the process that waits for a request in this ring, if one has asked for it. Called after a
/// post.
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
    /// Creates a queue. Returns nullptr, with errno set, if that fails.
    static Srq* create(Process& process, const Init& init);
    ~Srq();

    std::uint32_t index() const { return index_; }
    std::uint32_t srqn() const { return shared_->srqn; }
    SrqShared& shared() { return *shared_; }
    /// The lock word of the carrier that knows this queue; 0 on the direct path.
    LockWord carrier() const { return carrier_; }

    void lock() { lock_.lock(); }
    int post_locked(std::uint64_t wr_id, const Sge* sges, std::uint32_t num_sge);
    void unlock_and_wake();
    int modify(bool set_max_wr, std::uint32_t max_wr, bool set_limit, std::uint32_t limit);
    /// Raises IBV_EVENT_SRQ_ERR, once, if the carrier that knows this queue has ended.
    void stop_with_carrier();

  private:
    Srq() = default;
    int resize(std::uint32_t max_wr);  ///< Returns 0 or an errno value.

    SpinLock lock_;
    SrqShared* shared_ = nullptr;
    Process* process_ = nullptr;
    std::uint32_t index_ = 0;
    LockWord carrier_ = 0;
    std::atomic<bool> stopped_with_carrier_{false};
};

/// Returns the record of the delivery that a stripe has under way, and makes it on first use.
/// Returns nullptr if the arena is full.
DeliveryRecord* delivery_record(Process& process, Stripe& stripe);

/// Takes the oldest request of a shared receive queue into the record, and raises
/// IBV_EVENT_SRQ_LIMIT_REACHED if that leaves fewer than the queue's limit. The request counts as
/// taken until delivered(). Returns false if the queue is empty or has been destroyed.
bool srq_take(Process& process, SrqShared& srq, std::uint32_t srq_index, DeliveryRecord& record);
}  // namespace softib::live
