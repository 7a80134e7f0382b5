// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The requester of a reliable connection (IBA vol. 1, 9.7.3, 9.7.6 and 9.9.2), also of an extended
// one. Every request knows its PSNs from the moment it is posted. Three marks divide them:
//
//     acked_ <= next packet to send (cursor_, cursor_packet_) <= high_
//
// Before acked_ all is acknowledged; between acked_ and high_ all was sent at least once. A loss
// moves the cursor back to acked_, and packets are made again from the requests. If part of a READ
// has arrived, only the rest is asked for.

#include <cstdint>
#include <optional>

#include "core/hca/aeth.h"
#include "core/hca/psn.h"
#include "core/hca/send_queue.h"

namespace softib::hca {

class RcRequester {
  public:
    explicit RcRequester(QpCore& core) : core_(core), queue_(core.init) {}

    /// On the way to RTS, with the attributes set.
    void start();
    PostError post(const WorkRequest& wr);
    void handle_response(const wire::PacketHeaders& headers, wire::Operation operation,
                         const Payload& payload, std::uint64_t now_ns);
    void handle_timeout(std::uint64_t now_ns);
    /// Makes the next packet. Returns false if nothing may be sent until an input changes that.
    bool poll_transmit(Transmit& out, std::uint64_t now_ns);
    /// kNever: waits for no time.
    std::uint64_t deadline_ns() const;

    void drain();                         ///< RTS to SQD: ends what was begun, begins nothing.
    void resume() { draining_ = false; }  ///< SQD to RTS
    void flush();
    void reset();

    /// Something was never sent that may go out now, or as soon as the peer acknowledges.
    bool has_unsent() const {
        return core_.state == QpState::kRts && high_ != next_ && !limited_ &&
               deadlines_ns_[static_cast<std::size_t>(Timer::kRnr)] == kNever;
    }
    /// Something was sent that the peer may still acknowledge.
    bool has_unacknowledged() const { return core_.state == QpState::kRts && acked_ != high_; }
    std::uint32_t outstanding_reads() const { return reads_; }
    Psn acknowledged_psn() const { return acked_; }

  private:
    enum class Timer : std::uint8_t { kAck, kRnr };
    static constexpr std::size_t kTimers = 2;

    // rc_requester.cc: sending
    bool allowed(const WorkRequest& wr) const;
    void number(SendWqe& wqe);
    bool ready(const SendWqe& wqe);
    bool execute_local(SendWqe& wqe);
    bool check_local(SendWqe& wqe);
    void build(const SendWqe& wqe, Transmit& out);
    void build_atomic_write(const SendWqe& wqe, Transmit& out);
    void build_message(const SendWqe& wqe, Transmit& out);
    void sent(const SendWqe& wqe, std::uint64_t now_ns);
    bool is_limited(const SendWqe& wqe) const;
    Psn cursor_psn() const;
    std::uint32_t ack_interval() const;

    // rc_requester_response.cc: what comes back
    void handle_ack(const wire::PacketHeaders& headers, std::uint64_t now_ns);
    void handle_nak(Psn psn, Syndrome syndrome, std::uint64_t now_ns);
    void handle_read_response(const wire::PacketHeaders& headers, wire::Operation operation,
                              const Payload& payload, std::uint64_t now_ns);
    void handle_atomic_response(const wire::PacketHeaders& headers, std::uint64_t now_ns);
    /// Returns the request that a PSN between acked_ and high_ belongs to.
    const SendWqe& request_of(Psn psn) const;
    bool acknowledge_before(Psn end, std::uint64_t now_ns);
    bool may_take(bool fits, Psn psn, std::uint64_t now_ns);
    void move_acked(Psn to, std::uint64_t now_ns);
    void retire();
    void take_credits(const wire::Aeth& aeth);

    // rc_requester_retry.cc: losses and errors
    void go_back();
    void lost();
    void not_ready(Psn psn, std::uint8_t code, std::uint64_t now_ns);
    void fail(WcStatus status);
    void report_drained();
    void start_ack_timer(std::uint64_t now_ns);
    std::uint64_t& deadline(Timer timer) { return deadlines_ns_[static_cast<std::size_t>(timer)]; }
    bool has_unsent_packets() const { return cursor_ != queue_.tail(); }
    void reload_counters();

    QpCore& core_;
    SendQueue queue_;
    std::uint32_t cursor_ = 0;         ///< Index of the request whose turn it is.
    std::uint32_t cursor_packet_ = 0;  ///< Its PSNs before this one need no sending.
    std::uint32_t begun_ = 0;  ///< Index behind the newest request of which a packet went out.
    Psn acked_;
    Psn high_;
    Psn next_;  ///< First PSN of the next request to be posted.
    std::uint32_t next_ssn_ = 1;
    std::uint32_t reads_ = 0;  ///< READs and atomics between head and cursor.
    std::uint8_t retries_left_ = 0;
    std::uint8_t rnr_retries_left_ = 0;
    bool draining_ = false;
    bool drained_ = false;
    bool went_back_ =
        false;  ///< For a loss at acked_: once, until something arrives or time is up.
    bool credits_counted_ = false;
    std::uint32_t limit_ssn_ = 0;  ///< Newest message that the peer has a receive request for.
    std::optional<Psn> limited_;   ///< Sent without a credit: nothing follows until it is answered.
    std::uint64_t deadlines_ns_[kTimers]{kNever, kNever};
};

}  // namespace softib::hca
