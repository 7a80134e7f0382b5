// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The requester of a reliable connection, RC or XRC (IBA vol. 1, 9.7.3, 9.7.6 and 9.9.2). Every
// request gets its PSNs when it is posted. Three marks divide the PSNs:
//
//     acked_ <= next packet to send (cursor_, cursor_packet_) <= high_
//
// All packets before acked_ are acknowledged; all between acked_ and high_ were sent at least once.
// After a loss the cursor moves back to acked_, and the packets are made again from the requests.
// If a part of the response to a READ has arrived, only the rest is requested again.

#include <cstdint>
#include <optional>

#include "core/hca/aeth.h"
#include "core/hca/psn.h"
#include "core/hca/send_queue.h"

namespace softib::hca {

class RcRequester {
  public:
    explicit RcRequester(QpCore& core) : core_(core), queue_(core.init) {}

    /// Begins to number requests from the queue pair's sq_psn. Called when it enters RTS from RTR.
    void start();
    PostError post(const WorkRequest& wr);
    void handle_response(const wire::PacketHeaders& headers, wire::Operation operation,
                         const Payload& payload, std::uint64_t now_ns);
    void handle_timeout(std::uint64_t now_ns);
    /// Makes the next packet. Returns false if nothing may be sent before the next input.
    bool poll_transmit(Transmit& out, std::uint64_t now_ns);
    /// Returns the time of the next timeout; kNever if there is none.
    std::uint64_t deadline_ns() const;

    void drain();                         ///< RTS to SQD: no request is begun any more.
    void resume() { draining_ = false; }  ///< SQD to RTS.
    void flush();
    void reset();

    /// Returns whether there are packets that were never sent and that may go out now, or when the
    /// peer has acknowledged others.
    bool has_unsent() const {
        return core_.state == QpState::kRts && high_ != next_ && !limited_ &&
               deadlines_ns_[static_cast<std::size_t>(Timer::kRnr)] == kNever;
    }
    /// Returns whether there are packets that were sent and that the peer may still acknowledge.
    bool has_unacknowledged() const { return core_.state == QpState::kRts && acked_ != high_; }

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

    // rc_requester_response.cc: responses of the peer
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
    std::uint32_t cursor_ = 0;         ///< The index of the request to send from next.
    std::uint32_t cursor_packet_ = 0;  ///< The first packet of that request to send.
    std::uint32_t begun_ = 0;  ///< The index behind the newest request of which a packet was sent.
    Psn acked_;
    Psn high_;
    Psn next_;  ///< The first PSN of the next request to be posted.
    std::uint32_t next_ssn_ = 1;
    std::uint32_t reads_ = 0;  ///< READs and atomics between head and cursor.
    std::uint8_t retries_left_ = 0;
    std::uint8_t rnr_retries_left_ = 0;
    bool draining_ = false;
    bool drained_ = false;
    /// The cursor was moved back for a loss at acked_. Further reports of this loss are ignored
    /// until acked_ moves or the ACK timer expires.
    bool went_back_ = false;
    bool credits_counted_ = false;
    /// The SSN of the newest message that the peer has a receive request for.
    std::uint32_t limit_ssn_ = 0;
    /// The PSN of a packet sent without a credit. No packet is sent until it is answered.
    std::optional<Psn> limited_;
    std::uint64_t deadlines_ns_[kTimers]{kNever, kNever};
};

}  // namespace softib::hca
