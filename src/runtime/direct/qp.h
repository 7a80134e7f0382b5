// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A queue pair on the direct path. The thread that posts a send request is the NIC: it checks
// keys and rights on both sides, moves the bytes, takes the peer's receive request and writes the
// completions, all before post() returns. A request that cannot go on (receiver not ready, peer
// does not answer) waits in a queue of this process and is driven by polls or the helper thread.
//
// Thread rule: everything on the send side happens under the stripe lock (lock()/unlock()).

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/hca/packets.h"
#include "core/hca/qp_attr.h"
#include "runtime/direct/cq.h"
#include "runtime/direct/recv_queue.h"
#include "runtime/direct/scatter.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/path.h"
#include "runtime/shm/requests.h"
#include "runtime/shm/shm_lock.h"
#include "runtime/shm/types.h"

namespace softib::live {

class Process;

inline constexpr std::uint32_t kQpIndexBits = 20;
inline constexpr std::uint32_t kSendWrMax = 1U << 15;

constexpr std::uint32_t qp_index(std::uint32_t qpn) {
    return qpn & ((1U << kQpIndexBits) - 1);
}

struct QpInit {
    QpType type = QpType::kRc;
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
    void* user = nullptr;  ///< The ABI's object.
};

using hca::QpAttr;

class Qp {
  public:
    static Qp* create(Process& process, const QpInit& init);  ///< nullptr and errno.
    ~Qp();

    std::uint32_t qpn() const { return shared_->qpn; }
    void* user() const { return init_.user; }
    const QpInit& init() const { return init_; }
    QpShared& shared() { return *shared_; }

    void lock() {
        if (stripe_->lock.exchange(1, std::memory_order_acquire) != 0) [[unlikely]] {
            SpinLock::lock_slow(stripe_->lock);
        }
    }
    void unlock() { stripe_->lock.store(0, std::memory_order_release); }

    /// One send request; 0, EINVAL (not allowed on this QP) or ENOMEM (send queue full).
    int post_locked(const WorkRequest& wr);
    /// What post_locked() would say after `ahead` others, without posting.
    int check_post_locked(const WorkRequest& wr, std::uint32_t ahead) const;

    /// Receive requests.
    void lock_receive() { receive_lock_.lock(); }
    int post_receive_locked(std::uint64_t wr_id, const Sge* sges, std::uint32_t num_sge);
    void unlock_receive_and_wake();

    /// `mask`: ibv_qp_attr_mask bits. 0 or an errno value.
    int modify(const QpAttr& attr, std::uint32_t mask);
    QpAttr attributes();

    /// Tries the waiting requests again; true when none is left. Takes the lock itself.
    bool advance();
    /// Completes with flush errors what a peer's error left behind. Takes the lock itself.
    void flush_if_failed();
    /// When a waiting request gives up; 0: never.
    std::uint64_t deadline_ns() const { return deadline_ns_.load(std::memory_order_relaxed); }
    /// Stops where completions would go to a queue that has overflowed. Takes the lock itself.
    void stop_with_cq();
    /// Packet path: the same where the carrier that knew it has ended.
    void stop_with_carrier();
    /// Asks the receiver to ring us when it posts a request.
    void ask_for_wake();

    void send_retired(std::uint32_t posted_up_to) {
        send_done_.store(posted_up_to, std::memory_order_relaxed);
    }
    void receive_retired(std::uint32_t wqe_index) {
        receive_polled_.store(wqe_index + 1, std::memory_order_relaxed);
    }
    /// In a forked child: the queue pair is the parent's.
    void disown() { disowned_ = true; }

  private:
    struct Waiting {
        WorkRequest wr;
        std::uint32_t posted;  ///< send_posted_ with this request.
        std::vector<Sge> sges;
        std::vector<char> data;  ///< Inline payload.
        BindInfo bind;
    };

    // qp_packet.cc: the packet path, where the carrier does the work
    bool create_packet();
    void post_packet(const WorkRequest& wr);
    int modify_packet(const QpAttr& attr, std::uint32_t mask);
    bool fits_ethernet(const QpAttr& attr, std::uint32_t mask) const;
    void flush_lost_sends();
    void flush_lost_receives();

    enum class Outcome : std::uint8_t {
        kDone,
        kCompleted,  ///< Done, and also counted and completed.
        kFailed,
        kNotReady,
        kNoAnswer,
    };
    struct Verdict {
        Outcome outcome = Outcome::kDone;
        WcStatus status = WcStatus::kSuccess;
    };
    static Verdict failed(WcStatus status) { return {Outcome::kFailed, status}; }

    Qp() = default;

    // qp_post.cc: posting
    bool allowed(const WorkRequest& wr) const;
    void run_or_wait(const WorkRequest& wr);
    void complete(const WorkRequest& wr, std::uint32_t posted, WcStatus status);
    /// The request that is being executed, if it asked for a completion.
    void complete_done(const WorkRequest& wr);
    // qp.cc: running requests
    Verdict execute(const WorkRequest& wr);
    Verdict execute_connected(const WorkRequest& wr);
    bool check_peer();
    bool check_peer_slow();
    // qp_refused.cc: partitions that do not match, or that a switch keeps out
    bool sends_again();
    void count_refused(const Refusal& refusal);
    void tell_refused(const request::Refused& packet);
    void tell_refused(const Refusal& refusal, request::Refused packet);
    void bad_key(std::uint32_t hca, request::Refused packet);
    std::optional<Path> walk_there(Lid slid);
    bool walk_back(const Path& path, Lid slid);
    bool partitions_match(std::uint32_t peer_hca);
    // qp.cc: the operations
    Verdict do_write(const WorkRequest& wr);
    Verdict do_read(const WorkRequest& wr);
    Verdict do_atomic(const WorkRequest& wr);
    Verdict do_atomic_write(const WorkRequest& wr);
    Verdict do_send(const WorkRequest& wr);
    Verdict not_ready() const;
    Verdict deliver(const WorkRequest& wr, const Gather& gather, bool scatter,
                    std::uint32_t byte_len);
    Verdict deliver_shared(const WorkRequest& wr, const Gather& gather, bool scatter,
                           std::uint32_t byte_len);
    Verdict hand_over(const WorkRequest& wr, std::uint64_t bytes, CqShared& cq, const Cqe& entry,
                      const Completing& completing);
    Verdict finish_delivery(const WorkRequest& wr, const Gather& gather, bool scatter,
                            std::uint32_t byte_len, const TakenRecv& taken, std::uint32_t pd,
                            CqShared& cq, const Completing& completing);
    Verdict do_local(const WorkRequest& wr);
    bool gather_local(const WorkRequest& wr, Gather& out) const;
    const MrShared* find_remote(const WorkRequest& wr, std::uint64_t bytes, std::uint32_t access);
    Verdict unreachable(Owner owner) const;
    Verdict refuse_remote(WcStatus status, AsyncKind kind);
    void stop_peer(AsyncKind kind);
    /// Only the thread that is this QP's NIC writes its counters: no locked instruction.
    static void add(std::atomic<std::uint64_t>& counter, std::uint64_t n) {
        counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    /// Connected queue pairs; datagrams count by destination.
    void count(const hca::WireCost& request, const hca::WireCost& response) {
        add(shared_->xmit_packets, request.packets);
        add(shared_->xmit_words, request.words);
        if (init_.type == QpType::kRc || init_.type == QpType::kXrcSend) {
            add(shared_->rcv_packets, response.packets);
            add(shared_->rcv_words, response.words);
        }
    }

    // qp_ud.cc: datagrams
    Verdict execute_datagram(const WorkRequest& wr);
    bool resolve(const WorkRequest& wr, std::uint32_t& hca);
    request::Refused refused_datagram(const AddressVector& to, std::uint32_t dest, PKey pkey) const;
    /// `completes`: with this copy the request is done, and is completed before the target hears.
    Verdict deliver_datagram(const WorkRequest& wr, QpShared& target, const Gather& gather,
                             bool completes);
    bool take_for_datagram(QpShared& target, std::uint64_t bytes, DeliveryRecord& record);
    Cqe datagram_completion(const WorkRequest& wr, const QpShared& target, const TakenRecv& taken,
                            std::uint64_t bytes) const;
    Verdict multicast(const WorkRequest& wr, const Gather& gather);
    bool datagram_accepted(const WorkRequest& wr, const QpShared& target, std::uint32_t hca);
    void count_datagram(const WorkRequest& wr, std::uint64_t payload);

    /// The queue pairs that receive what this port sends to a multicast address. Computed once per
    /// change of the fabric or of any group.
    struct Audience {
        std::uint64_t route_generation;
        std::uint64_t mcast_generation;
        Lid dlid;
        PKey pkey;
        bool global;
        Gid dgid;
        std::vector<std::uint32_t> qpns;

        bool is_of(const AddressVector& to, PKey key) const;
    };
    static constexpr std::size_t kAudiencesMax = 64;
    const Audience& audience(const AddressVector& to);
    /// Finds them. Returns false if a group was being written all the time: `found` lacks it.
    bool find_audience(const AddressVector& to, PKey pkey, std::vector<std::uint32_t>& found);

    // qp_wait.cc: waiting, errors, flushing
    /// Lines a request up behind those that wait.
    void keep_waiting(const WorkRequest& wr);
    void conclude(const WorkRequest& wr, std::uint32_t posted, WcStatus status);
    void enter_error();
    void flush_locked();
    void flush_receives();
    void start_wait(const Verdict& verdict);
    bool peer_is_silent();
    void raise(AsyncKind kind);
    // qp_modify.cc: attributes and transitions
    void apply(const QpAttr& attr, std::uint32_t mask);
    int enter_state(QpState to, std::uint32_t mask);
    void reset_locked();

    // The hot part: what a small write reads, side by side.
    Process* process_ = nullptr;
    Stripe* stripe_ = nullptr;
    QpShared* shared_ = nullptr;
    QpShared* peer_ = nullptr;
    std::uint64_t peer_rx_ = 0;  ///< What the peer's rx word must be; 0: not connected.
    std::uint64_t path_generation_ = 0;
    std::uint32_t peer_qpn_ = 0;
    Owner peer_owner_ = 0;
    bool hazard_fence_ = false;
    bool disowned_ = false;
    bool waiting_any_ = false;
    bool packets_ = false;             ///< On the packet path.
    QpState state_ = QpState::kReset;  ///< Last state set here; the shared one may be kErr already.
    std::uint32_t send_posted_ = 0;
    std::uint32_t executing_ = 0;  ///< send_posted_ with the request that is being executed.
    std::atomic<std::uint32_t> send_done_{0};
    hca::WireFormat format_;
    hca::WireFormat format_grh_;  ///< UD: for handles with a global route.
    QpInit init_;

    QpAttr attr_;
    std::uint32_t index_ = 0;
    Flow* flow_ = nullptr;  ///< UD: where it last counted.
    std::vector<Audience> audiences_;
    std::size_t audience_last_ = 0;
    std::deque<Waiting> waiting_;
    Outcome wait_reason_ = Outcome::kDone;
    std::atomic<std::uint64_t> deadline_ns_{0};
    std::uint64_t resend_ns_ = 0;        ///< Before this, a refused packet is not sent again.
    std::uint32_t refused_sends_ = 0;    ///< How often it was.
    std::uint64_t told_generation_ = 0;  ///< Route generation at the last report of a refusal.
    std::uint64_t liveness_checked_ns_ = 0;
    bool peer_silent_ = false;
    std::atomic<bool> flushed_{
        false};  ///< Written under the stripe lock; receivers look at it too.
    bool stopped_with_cq_ = false;
    LockWord carrier_ = 0;  ///< Packet path: the carrier that knows it.
    /// That carrier has ended. Written as flushed_ is.
    std::atomic<bool> stopped_with_carrier_{false};
    SpinLock receive_lock_;
    std::atomic<std::uint32_t> receive_polled_{0};
};

}  // namespace softib::live
