// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Receive queues: rings of posted requests that deliverers (peers) take from. The ring of a
// connected QP has one deliverer, its peer, and needs no lock; UD and shared rings take one.

#include <cstdint>

#include "runtime/live/arena.h"
#include "runtime/live/shm_lock.h"
#include "runtime/live/types.h"

namespace softib::live {

class Process;
class Cq;

inline constexpr std::uint32_t kRecvWrMax = 1U << 16;

/// A receive request copied out of a ring.
struct TakenRecv {
    std::uint64_t wr_id;
    std::uint32_t num_sge;
    std::uint32_t wqe_index;
    Sge sges[kSgesMax];
};

/// `spare`: slots beyond the capacity, into which requests of dead takers are given back.
bool ring_init(Process& process, RecvRing& ring, std::uint32_t entries, std::uint32_t sges_max,
               std::uint32_t spare);
void ring_free(Process& process, RecvRing& ring);

inline RecvWqe* ring_slot(const Arena& arena, const RecvRing& ring, std::uint32_t index) {
    return arena.at<RecvWqe>(ring.ring_off + std::uint64_t{index & ring.mask} * ring.stride_bytes);
}

/// Posts one request; the caller holds the owner's lock. `freed`: index up to which slots are free
/// again. 0, ENOMEM (full) or EINVAL.
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
        std::uint32_t xrcd = 0;  ///< 0: basic.
        Cq* cq = nullptr;        ///< XRC only.
        std::uint32_t async_channel = 0;
        std::uint64_t cookie = 0;
    };
    static Srq* create(Process& process, const Init& init);  ///< nullptr and errno.
    ~Srq();

    std::uint32_t index() const { return index_; }
    std::uint32_t srqn() const { return shared_->srqn; }
    SrqShared& shared() { return *shared_; }

    void lock() { lock_.lock(); }
    int post_locked(std::uint64_t wr_id, const Sge* sges, std::uint32_t num_sge);
    void unlock_and_wake();
    int modify(bool set_max_wr, std::uint32_t max_wr, bool set_limit, std::uint32_t limit);

  private:
    Srq() = default;
    SpinLock lock_;
    SrqShared* shared_ = nullptr;
    Process* process_ = nullptr;
    std::uint32_t index_ = 0;
};

/// Takes the oldest request of a shared ring; false: it is empty. Raises SRQ_LIMIT_REACHED. The
/// taker's stripe remembers the request until srq_delivered().
bool srq_take(Process& process, SrqShared& srq, std::uint32_t srq_index, Stripe& stripe, TakenRecv& out);
inline void srq_delivered(Stripe& stripe) { stripe.taken_srq.store(0, std::memory_order_release); }

}  // namespace softib::live
