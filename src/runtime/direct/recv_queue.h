// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Receive queues: rings of posted requests, which senders of any process take when they deliver a
// message. Only the peer takes from the ring of a connected queue pair, without a lock; rings of UD
// queue pairs and of shared receive queues have a lock.

#include <atomic>
#include <cstdint>

#include "runtime/shm/alloc.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/delivery.h"
#include "runtime/shm/favoured_lock.h"
#include "runtime/shm/shm_lock.h"
#include "runtime/shm/types.h"

namespace softib::direct {

class Attachment;
class Cq;
class Process;

inline constexpr std::uint32_t kRecvWrMax = 1U << 16;

/// Allocates a receive ring in the arena. `spare` is the number of slots beyond its capacity, for
/// requests that a process had taken when it died and that are given back. Returns false if the
/// arena is full.
bool ring_init(Process& process, shm::RecvRing& ring, std::uint32_t entries, std::uint32_t sges_max,
               std::uint32_t spare);
void ring_free(Process& process, shm::RecvRing& ring);

/// Posts one request; the caller holds the owner's lock. Slots before the index `freed` are free
/// again. Returns 0, ENOMEM (the ring is full) or EINVAL (too many scatter/gather elements).
int ring_post_locked(const shm::Arena& arena, shm::RecvRing& ring, std::uint32_t freed,
                     std::uint64_t wr_id, const hca::Sge* sges, std::uint32_t num_sge);

/// Returns the number of posted requests that no sender has taken.
inline std::uint32_t ring_count(const shm::RecvRing& ring) {
    return ring.tail.load(std::memory_order_acquire) - ring.head.load(std::memory_order_relaxed);
}

/// Returns whether a ring has a request at `head`, for a sender that alone takes from it now.
inline bool has_request(shm::RecvRing& ring, std::uint32_t head) {
    if (static_cast<std::int32_t>(ring.tail_seen - head) <= 0) {
        ring.tail_seen = ring.tail.load(std::memory_order_acquire);
    }
    return static_cast<std::int32_t>(ring.tail_seen - head) > 0;
}

/// How many requests ahead a sender fetches the line of a request.
inline constexpr std::uint32_t kRequestsAhead = 8;

/// Fetches the line of a request that a sender will take soon, if it is posted.
inline void fetch_ahead(const shm::Arena& arena, const shm::RecvRing& ring, std::uint32_t head) {
    if (ring.tail_seen - head > kRequestsAhead) {
        __builtin_prefetch(ring_sges(arena, ring, head + kRequestsAhead));
    }
}

/// Copies the posted request at `index` of a ring.
void copy_out(const shm::Arena& arena, const shm::RecvRing& ring, std::uint32_t index,
              shm::TakenRecv& out);

/// Wakes the process that waits for a request in this ring, if one has asked for it. Called after a
/// post.
void ring_wake_sender(const Attachment& self, shm::RecvRing& ring);

/// A shared receive queue, basic or XRC. Senders take requests from its ring; PacketSrq is the
/// kind for the packet path.
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
    /// Creates a queue of one kind. Returns nullptr, with errno set, if that fails.
    template <typename Kind>
    static Srq* create(Process& process, const Init& init);
    /// REQUIRES: `index` comes from take_record().
    Srq(Process& process, std::uint32_t index);
    Srq(const Srq&) = delete;
    Srq& operator=(const Srq&) = delete;
    /// Makes the queue unreachable, waits until no peer uses it, and frees it.
    void destroy();

    std::uint32_t index() const { return index_; }
    std::uint32_t srqn() const { return shared_->srqn; }
    const shm::SrqShared& shared() const { return *shared_; }

    void lock() { lock_.lock(); }
    int post_locked(std::uint64_t wr_id, const hca::Sge* sges, std::uint32_t num_sge);
    void unlock_and_wake();
    int modify(bool set_max_wr, std::uint32_t max_wr, bool set_limit, std::uint32_t limit);
    /// Tells the program, once, if something has failed that the queue depends on.
    virtual void stop_if_failed() {}

  protected:
    virtual ~Srq() = default;

    // What a kind does beside its requests. The int functions return 0 or an errno value.

    /// Prepares a new queue, to which no queue pair belongs yet.
    virtual int open() { return 0; }
    /// Ends what the kind does for a queue that is being destroyed. Peers may still use its record.
    virtual void close() {}
    /// Notes that the limit in the record has changed.
    virtual int limit_changed() { return 0; }

    shm::FavouredLock lock_;
    std::uint32_t freed_ = 0;       ///< The ring's head when last read: slots before it are free.
    std::uint32_t given_back_ = 0;  ///< SrqShared::given_back at that time.
    shm::SrqShared* const shared_;
    Process* const process_;
    const std::uint32_t index_;

  private:
    /// Takes an entry for a new queue from the arena's table, and writes it. Returns kNoEntry, with
    /// errno set, if that fails.
    static std::uint32_t take_record(Process& process, const Init& init);
    /// Begins the life of a queue that was just made. Returns false, with errno set and the queue
    /// destroyed, if that fails.
    bool start();
    int resize(std::uint32_t max_wr);  ///< Returns 0 or an errno value.
};

/// A shared receive queue on the packet path, where the carrier takes the requests.
class PacketSrq final : public Srq {
  public:
    using Srq::Srq;

    /// The lock word of the carrier that knows this queue.
    shm::LockWord carrier() const { return carrier_; }
    void stop_if_failed() override;

  private:
    int open() override;
    void close() override;
    int limit_changed() override;

    shm::LockWord carrier_ = 0;
    std::atomic<bool> stopped_with_carrier_{false};
};

template <typename Kind>
Srq* Srq::create(Process& process, const Init& init) {
    const std::uint32_t index = take_record(process, init);
    if (index == shm::kNoEntry) {
        return nullptr;
    }
    Srq* const srq = new Kind(process, index);
    return srq->start() ? srq : nullptr;
}

/// Returns the record of the delivery that a stripe has under way, and makes it on first use.
/// Returns nullptr if the arena is full.
shm::DeliveryRecord* delivery_record(Process& process, shm::Stripe& stripe);

/// Takes the oldest request of a shared receive queue into the record, and raises
/// IBV_EVENT_SRQ_LIMIT_REACHED if that leaves fewer than the queue's limit. The request counts as
/// taken until delivered(). Returns false if the queue is empty or has been destroyed.
bool srq_take(const Attachment& self, shm::SrqShared& srq, std::uint32_t srq_index,
              shm::DeliveryRecord& record);

}  // namespace softib::direct
