// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A queue pair on the direct path. The thread that posts a send request is the NIC: it checks
// keys and rights on both sides, moves the bytes, takes the peer's receive request and writes the
// completions, all before post_locked() returns. A request that cannot go on (receiver not ready,
// peer does not answer) waits in a queue of this process and is driven by polls or the helper
// thread (progress.cc).

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/hca/packets.h"
#include "runtime/direct/qp_base.h"
#include "runtime/direct/scatter.h"
#include "runtime/shm/path.h"
#include "runtime/shm/requests.h"

namespace softib::direct {

class DirectQp final : public QpBase {
  public:
    DirectQp(Process& process, const QpInit& init, std::uint32_t index);

    int post_locked(const shm::WorkRequest& wr);
    void unlock_receive_and_wake();
    int modify(const QpAttr& attr, std::uint32_t mask) override;
    void stop_if_failed() override;

    // What Progress::run() does with a queue pair whose first request waits. Each takes the
    // lock itself.

    /// Tries the waiting requests again. Returns true if none waits for the fabric any more. Unless
    /// `at_once`, does not look at a receiver that was not ready a moment ago: each look takes a
    /// line from it that it writes with each receive request that it posts.
    bool advance(bool at_once);
    /// Returns the time at which the first waiting request gives up; 0 if it never does.
    std::uint64_t deadline_ns() const { return deadline_ns_.load(std::memory_order_relaxed); }
    /// Asks the receiver that the first request waits for to ring us when it posts a request.
    void ask_for_wake();

  private:
    struct Waiting {
        shm::WorkRequest wr;
        std::uint32_t posted;  ///< The value of send_posted_ just after this request was posted.
        std::vector<hca::Sge> sges;
        std::vector<char> data;  ///< Inline payload.
        shm::BindInfo bind;
    };

    enum class Outcome : std::uint8_t {
        kDone,
        kCompleted,  ///< Done, and its packets are counted and its completion is written.
        kFailed,
        kNotReady,  ///< The receiver has no receive request posted (RNR).
        kNoAnswer,  ///< No acknowledgement would come.
    };
    struct Verdict {
        Outcome outcome = Outcome::kDone;
        hca::WcStatus status = hca::WcStatus::kSuccess;
    };
    static Verdict failed(hca::WcStatus status) { return {Outcome::kFailed, status}; }

    int open() override { return 0; }
    void close() override;
    int change_locked(const QpAttr& attr, std::uint32_t mask) override;

    // qp_post.cc: posting
    void run_or_wait(const shm::WorkRequest& wr);
    /// Writes the successful completion of the request that is being executed, if it asked for one.
    void complete_done(const shm::WorkRequest& wr);
    // qp_direct.cc: running requests
    Verdict execute(const shm::WorkRequest& wr);
    Verdict execute_connected(const shm::WorkRequest& wr);
    bool check_peer();
    bool check_peer_slow();
    // qp_refused.cc: packets that a switch or the destination HCA refuses because of their P_Key
    bool sends_again();
    void count_refused(const shm::Refusal& refusal);
    void tell_refused(const shm::request::Refused& packet);
    void tell_refused(const shm::Refusal& refusal, shm::request::Refused packet);
    void bad_key(std::uint32_t hca, shm::request::Refused packet);
    std::optional<shm::Path> walk_there(Lid slid);
    bool walk_back(const shm::Path& path, Lid slid);
    bool partitions_match(std::uint32_t peer_hca);
    // qp_direct.cc: the operations
    Verdict do_write(const shm::WorkRequest& wr);
    Verdict do_read(const shm::WorkRequest& wr);
    Verdict do_atomic(const shm::WorkRequest& wr);
    Verdict do_atomic_write(const shm::WorkRequest& wr);
    // qp_send.cc: messages that take a receive request
    Verdict do_send(const shm::WorkRequest& wr);
    std::optional<Verdict> send_whole(const shm::WorkRequest& wr);
    const char* whole_buffer(const shm::WorkRequest& wr) const;
    Verdict not_ready() const;
    Verdict deliver(const shm::WorkRequest& wr, const Gather& gather, bool scatter,
                    std::uint32_t byte_len);
    Verdict deliver_shared(const shm::WorkRequest& wr, const Gather& gather, bool scatter,
                           std::uint32_t byte_len);
    template <typename Write>
    Verdict hand_over(const shm::WorkRequest& wr, std::uint64_t bytes, shm::CqShared& cq,
                      const Completing& completing, std::uint32_t brief, const Write& write);
    Verdict finish_delivery(const shm::WorkRequest& wr, const Gather& gather, bool scatter,
                            std::uint32_t byte_len, const shm::TakenRecv& taken, std::uint32_t pd,
                            shm::CqShared& cq, const Completing& completing);
    // qp_direct.cc: what the operations share
    Verdict do_local(const shm::WorkRequest& wr);
    bool gather_local(const shm::WorkRequest& wr, Gather& out) const;
    const shm::MrShared* find_remote(const shm::WorkRequest& wr, std::uint64_t bytes,
                                     std::uint32_t access);
    Verdict unreachable(shm::Owner owner) const;
    Verdict refuse_remote(hca::WcStatus status, hca::AsyncKind kind);
    void stop_peer(hca::AsyncKind kind);
    /// Adds to a counter without a locked instruction: only the thread that executes this queue
    /// pair's requests writes its counters.
    static void add(std::atomic<std::uint64_t>& counter, std::uint64_t n) {
        counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    /// Counts the packets of a connected queue pair. Datagrams are counted by destination
    /// (count_datagram).
    void count(const hca::WireCost& request, const hca::WireCost& response) {
        add(shared_->xmit_packets, request.packets);
        add(shared_->xmit_words, request.words);
        if (init_.type == hca::QpType::kRc || init_.type == hca::QpType::kXrcSend) {
            add(shared_->rcv_packets, response.packets);
            add(shared_->rcv_words, response.words);
        }
    }

    // qp_ud.cc: datagrams
    Verdict execute_datagram(const shm::WorkRequest& wr);
    bool resolve(const shm::WorkRequest& wr, std::uint32_t& hca);
    shm::request::Refused refused_datagram(const hca::AddressVector& to, std::uint32_t dest,
                                           PKey pkey) const;
    /// Delivers a datagram to one queue pair. `completes`: the request is done with this copy, and
    /// its completion is written before that of the receiver.
    Verdict deliver_datagram(const shm::WorkRequest& wr, shm::QpShared& target,
                             const Gather& gather, bool completes);
    bool take_for_datagram(shm::QpShared& target, std::uint64_t bytes, shm::DeliveryRecord& record);
    shm::Cqe datagram_completion(const shm::WorkRequest& wr, const shm::QpShared& target,
                                 const shm::TakenRecv& taken, std::uint64_t bytes) const;
    Verdict multicast(const shm::WorkRequest& wr, const Gather& gather);
    bool datagram_accepted(const shm::WorkRequest& wr, const shm::QpShared& target,
                           std::uint32_t hca);
    void count_datagram(const shm::WorkRequest& wr, std::uint64_t payload);

    /// The queue pairs that receive what this port sends to a multicast address. Computed again
    /// only when routes or groups have changed.
    struct Audience {
        std::uint64_t route_generation;
        std::uint64_t mcast_generation;
        Lid dlid;
        PKey pkey;
        bool global;
        Gid dgid;
        std::vector<std::uint32_t> qpns;

        bool is_of(const hca::AddressVector& to, PKey key) const;
    };
    static constexpr std::size_t kAudiencesMax = 64;
    const Audience& audience(const hca::AddressVector& to);
    /// Finds the queue pairs that receive what is sent to `to`. Returns false if a group was being
    /// written all the time: its members are then missing in `found`.
    bool find_audience(const hca::AddressVector& to, PKey pkey, std::vector<std::uint32_t>& found);

    // qp_wait.cc: waiting, errors, flushing
    /// Puts a copy of a request behind those that wait.
    void keep_waiting(const shm::WorkRequest& wr);
    void conclude(const shm::WorkRequest& wr, std::uint32_t posted, hca::WcStatus status);
    void enter_error();
    void flush_locked();
    void flush_receives();
    void start_wait(const Verdict& verdict);
    bool peer_is_silent();
    /// Stops the queue pair if one of its completion queues has overflowed.
    void stop_with_cq();
    /// Completes all requests with flush errors if a peer has moved the queue pair to the error
    /// state.
    void flush_if_failed();
    // qp_modify.cc: transitions
    void enter_state(hca::QpState to);
    void enter_ready_to_receive();
    void reset_direct();

    // The fields that a small RDMA write reads come first, so that they share cache lines.
    shm::QpShared* peer_ = nullptr;
    /// What the peer's rx word must be; 0 if this queue pair is not connected.
    std::uint64_t peer_rx_ = 0;
    std::uint64_t path_generation_ = 0;
    std::uint32_t peer_qpn_ = 0;
    /// What a short cell (shm::CqCell::about) says about a message to the peer; 0: none may be
    /// written.
    std::uint32_t brief_ = 0;
    shm::Owner peer_owner_ = 0;
    const bool hazard_fence_;
    bool waiting_any_ = false;
    /// The value of send_posted_ just after the request was posted that is being executed.
    std::uint32_t executing_ = 0;
    hca::WireFormat format_;
    hca::WireFormat format_grh_;  ///< The format of datagrams with a global route header.

    shm::Flow* flow_ = nullptr;  ///< The flow that the last datagram was counted in.
    std::vector<Audience> audiences_;
    std::size_t audience_last_ = 0;
    std::deque<Waiting> waiting_;
    Outcome wait_reason_ = Outcome::kDone;
    std::uint64_t looked_ticks_ = 0;  ///< When the receiver was last found not ready.
    std::atomic<std::uint64_t> deadline_ns_{0};
    std::uint64_t resend_ns_ = 0;        ///< The time before which a refused packet is not resent.
    std::uint32_t refused_sends_ = 0;    ///< How often a refused packet was sent.
    std::uint64_t told_generation_ = 0;  ///< Route generation at the last report of a refusal.
    std::uint64_t liveness_checked_ns_ = 0;
    bool peer_silent_ = false;
    /// All requests are flushed. Written under the stripe lock, read without it.
    std::atomic<bool> flushed_{false};
    bool stopped_with_cq_ = false;
};
static_assert(QpKind<DirectQp>);

}  // namespace softib::direct
