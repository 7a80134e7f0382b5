// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What the queue pairs of all data paths have: a record in the arena by which peers know them, its
// attributes, a receive queue, and slots that completions give back. How a send request is executed
// is the kind of queue pair: DirectQp (qp_direct.h), PacketQp (qp_packet.h). A kind is a property
// of the fabric and is chosen once, when a program opens a context (data_path.h).
//
// A kind derives from QpBase, implements its pure virtual functions, and has the functions of the
// concept QpKind, which each request passes and which therefore are not virtual.
//
// Thread rule: everything on the send side happens under the stripe lock (lock()/unlock()), and a
// receive request is posted under the lock of the receive queue.

#include <atomic>
#include <concepts>
#include <cstdint>

#include "core/hca/qp_attr.h"
#include "runtime/direct/cq.h"
#include "runtime/direct/recv_queue.h"
#include "runtime/shm/alloc.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/favoured_lock.h"
#include "runtime/shm/shm_lock.h"
#include "runtime/shm/types.h"

namespace softib::direct {

class Attachment;
class Process;

inline constexpr std::uint32_t kQpIndexBits = 20;
inline constexpr std::uint32_t kSendWrMax = 1U << 15;

constexpr std::uint32_t qp_index(std::uint32_t qpn) {
    return qpn & ((1U << kQpIndexBits) - 1);
}

struct QpInit {
    hca::QpType type = hca::QpType::kRc;
    Cq* send_cq = nullptr;
    Cq* recv_cq = nullptr;
    Srq* srq = nullptr;
    std::uint32_t max_send_wr = 0;
    std::uint32_t max_recv_wr = 0;
    std::uint32_t max_send_sge = 0;
    std::uint32_t max_recv_sge = 0;
    std::uint32_t max_inline = 0;
    bool signal_all = false;
    std::uint32_t pd = 0;
    std::uint32_t hca = 0;
    std::uint32_t xrcd = 0;
    std::uint32_t async_channel = 0;
    std::uint64_t event_id = 0;
};

using hca::QpAttr;

class QpBase {
  public:
    QpBase(const QpBase&) = delete;
    QpBase& operator=(const QpBase&) = delete;
    /// Creates a queue pair of one kind. Returns nullptr, with errno set, if that fails.
    template <typename Kind>
    static QpBase* create(Process& process, const QpInit& init);
    /// Makes the queue pair unreachable, waits until no peer uses it, and frees it.
    void destroy();

    std::uint32_t qpn() const { return shared_->qpn; }
    const QpInit& init() const { return init_; }

    void lock() { stripe_->lock.lock(); }
    void unlock() { stripe_->lock.unlock(); }

    /// Returns what posting would return after `ahead` other requests, without posting: 0, EINVAL
    /// (this queue pair or its state does not allow it), ENOMEM (the send queue is full) or EIO
    /// (the queue pair belongs to the parent process).
    int check_post_locked(const shm::WorkRequest& wr, std::uint32_t ahead) const;

    /// Locks the receive queue, for post_receive_locked().
    void lock_receive() { receive_lock_.lock(); }
    int post_receive_locked(std::uint64_t wr_id, const hca::Sge* sges, std::uint32_t num_sge);

    /// Changes the attributes that `mask` names (ibv_qp_attr_mask). Returns 0 or an errno value.
    virtual int modify(const QpAttr& attr, std::uint32_t mask);
    QpAttr attributes();

    /// Moves the queue pair to the error state, and completes its requests with flush errors, if
    /// something has failed that it depends on. Takes the lock itself.
    virtual void stop_if_failed() = 0;

    void send_retired(std::uint32_t posted_up_to) {
        send_done_.store(posted_up_to, std::memory_order_relaxed);
    }
    void receive_retired(std::uint32_t wqe_index) {
        receive_polled_.store(wqe_index + 1, std::memory_order_release);
    }
    /// Writes the completion that a short cell of this queue pair's means.
    void expand(const shm::CqCell& cell, shm::Cqe& out) const;
    /// Makes the queue pair unusable. Called in a forked child, where it belongs to the parent.
    void disown() { disowned_ = true; }

  protected:
    /// REQUIRES: `index` comes from take_record().
    QpBase(Process& process, const QpInit& init, std::uint32_t index);
    virtual ~QpBase() = default;

    // What a kind does beside its requests.

    /// Prepares a new queue pair, which no peer reaches yet. Returns 0 or an errno value.
    virtual int open() = 0;
    /// Ends what the kind does for a queue pair that is being destroyed and that no new request
    /// reaches. Peers may still use its record.
    virtual void close() = 0;
    /// Executes a change of attributes that this queue pair's state allows. Called under the lock.
    /// Returns 0 or an errno value.
    virtual int change_locked(const QpAttr& attr, std::uint32_t mask) = 0;

    // What a kind is made of.

    /// Stores the attributes that `mask` names, but not the state.
    void apply(const QpAttr& attr, std::uint32_t mask);
    /// Makes the queue pair as it was after creation.
    void reset_locked();
    /// Adds the completion of a send request. `posted` is the value of send_posted_ just after the
    /// request was posted.
    void complete(const shm::WorkRequest& wr, std::uint32_t posted, hca::WcStatus status);
    /// Removes the completions of this queue pair, which is going away, from its queues.
    void purge_completions();
    /// Completes the receive requests from `first` on with flush errors. No sender takes them any
    /// more. Called under the lock of the receive queue.
    void flush_receives_from(std::uint32_t first);
    void raise(hca::AsyncKind kind);
    /// Whether completions may be short (shm::kCellShort), so that polls read the request.
    bool keeps_requests() const;

    QpAttr attr_;
    shm::FavouredLock receive_lock_;
    /// The index after that of the newest receive request whose completion was polled.
    std::atomic<std::uint32_t> receive_polled_{0};
    const std::uint32_t index_;
    // The fields that a small RDMA write reads come last here and first in DirectQp, so that they
    // share cache lines.
    Process* const process_;
    const Attachment& self_;
    shm::Stripe* const stripe_;
    const shm::Producer producer_;  ///< The stripe, as a producer of completions.
    shm::QpShared* const shared_;
    const QpInit init_;
    /// The last state that this process has set. The state in the arena may be kErr already.
    hca::QpState state_ = hca::QpState::kReset;
    bool disowned_ = false;
    std::uint32_t send_posted_ = 0;  ///< The number of send requests posted since the last reset.
    /// The value of send_posted_ of the newest request whose completion was polled.
    std::atomic<std::uint32_t> send_done_{0};

  private:
    /// Takes an entry for a new queue pair from the arena's table, and writes it. Returns kNoEntry,
    /// with errno set, if that fails.
    static std::uint32_t take_record(Process& process, const QpInit& init);
    /// Begins the life of a queue pair that was just made. Returns false, with errno set and the
    /// queue pair destroyed, if that fails.
    bool start();
    /// Returns the opcodes that queue pairs of a type take, as bits.
    static std::uint32_t opcodes_of(hca::QpType type);
    bool allowed(const shm::WorkRequest& wr) const;

    const std::uint32_t opcodes_;
};

/// A kind of queue pair.
template <typename Kind>
concept QpKind = std::derived_from<Kind, QpBase> &&
                 std::constructible_from<Kind, Process&, const QpInit&, std::uint32_t> &&
                 requires(Kind& qp, const shm::WorkRequest& wr) {
                     // Posts one send request, under the lock. Returns what check_post_locked(wr,
                     // 0) does.
                     { qp.post_locked(wr) } -> std::same_as<int>;
                     // Unlocks the receive queue, and wakes the process that waits for one in it.
                     { qp.unlock_receive_and_wake() } -> std::same_as<void>;
                 };

template <typename Kind>
QpBase* QpBase::create(Process& process, const QpInit& init) {
    static_assert(QpKind<Kind>);
    const std::uint32_t index = take_record(process, init);
    if (index == shm::kNoEntry) {
        return nullptr;
    }
    QpBase* const qp = new Kind(process, init, index);
    return qp->start() ? qp : nullptr;
}

}  // namespace softib::direct
