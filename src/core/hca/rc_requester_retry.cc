// SPDX-License-Identifier: BSD-2-Clause
// The requester's part that handles losses, timers and errors (IBA vol. 1, 9.7.6 and 9.9.2).
#include "core/hca/rc_requester.h"
#include "core/hca/timers.h"

namespace softib::hca {

std::uint64_t RcRequester::deadline_ns() const {
    return std::min(deadlines_ns_[0], deadlines_ns_[1]);
}

void RcRequester::start_ack_timer(std::uint64_t now_ns) {
    const std::uint64_t timeout = ack_timeout_ns(core_.attr.timeout);
    deadline(Timer::kAck) = timeout == kTimeoutInfiniteNs ? kNever : now_ns + timeout;
}

void RcRequester::reload_counters() {
    retries_left_ = core_.attr.retry_cnt;
    rnr_retries_left_ = core_.attr.rnr_retry;
}

/// Moves the cursor back to acked_: everything from there on will be sent again, in its order.
void RcRequester::go_back() {
    cursor_ = queue_.head();
    cursor_packet_ = queue_.empty() || queue_.at(cursor_).psns == 0
                         ? 0
                         : distance(queue_.at(cursor_).first_psn, acked_);
    reads_ = 0;
    limited_.reset();
    deadline(Timer::kAck) = kNever;
}

/// Handles a sign of the peer that a packet was lost, which may come many times for one loss.
void RcRequester::lost() {
    if (went_back_ || core_.failed || deadline(Timer::kRnr) != kNever) {
        return;
    }
    if (retries_left_ == 0) {
        fail(WcStatus::kRetryExcErr);
        return;
    }
    --retries_left_;
    went_back_ = true;
    go_back();
}

void RcRequester::not_ready(Psn psn, std::uint8_t code, std::uint64_t now_ns) {
    if (!acknowledge_before(psn, now_ns)) {
        lost();
        return;
    }
    if (core_.failed || deadline(Timer::kRnr) != kNever) {
        return;
    }
    if (core_.attr.rnr_retry != kRnrRetryForever) {
        if (rnr_retries_left_ == 0) {
            fail(WcStatus::kRnrRetryExcErr);
            return;
        }
        --rnr_retries_left_;
    }
    // The peer is there, since it has answered "not ready"; so the retry counter starts again.
    retries_left_ = core_.attr.retry_cnt;
    went_back_ = false;
    go_back();
    deadline(Timer::kRnr) = now_ns + rnr_timer_ns(code);
}

void RcRequester::handle_timeout(std::uint64_t now_ns) {
    if (deadline(Timer::kRnr) <= now_ns) {
        deadline(Timer::kRnr) = kNever;
    }
    if (deadline(Timer::kAck) <= now_ns) {
        core_.context.count(Counted::kTimeout);
        deadline(Timer::kAck) = kNever;
        went_back_ = false;
        if (retries_left_ == 0) {
            fail(WcStatus::kRetryExcErr);
            return;
        }
        --retries_left_;
        go_back();
    }
}

/// Completes the oldest request with an error, and ends the connection.
void RcRequester::fail(WcStatus status) {
    if (core_.failed || queue_.empty()) {
        return;
    }
    complete_send(core_, queue_.at(queue_.head()), status);
    queue_.pop();
    core_.fail();
}

void RcRequester::flush() {
    for (; !queue_.empty(); queue_.pop()) {
        complete_send(core_, queue_.at(queue_.head()), WcStatus::kWrFlushErr);
    }
    cursor_ = begun_ = queue_.head();
    cursor_packet_ = reads_ = 0;
    limited_.reset();
    deadline(Timer::kAck) = deadline(Timer::kRnr) = kNever;
}

void RcRequester::drain() {
    draining_ = true;
    drained_ = false;
    report_drained();
}

void RcRequester::report_drained() {
    if (draining_ && !drained_ && queue_.head() == begun_) {
        drained_ = true;
        if (core_.attr.sq_async_notify != 0) {
            core_.context.raise(AsyncKind::kSqDrained, core_.qpn.value);
        }
    }
}

}  // namespace softib::hca
