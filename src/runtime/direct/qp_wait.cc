// SPDX-License-Identifier: BSD-2-Clause
// Waiting, errors and flushing of a queue pair on the direct path.
#include "core/hca/timers.h"
#include "runtime/direct/process.h"
#include "runtime/direct/qp_direct.h"
#include "runtime/shm/clock.h"
#include "runtime/shm/grace.h"

namespace softib::direct {

namespace {

/// How long a request waits for a peer that does not answer if the queue pair's ACK timeout is
/// infinite: the program gets an error even then.
constexpr std::uint64_t kDeadPeerNs = 2'000'000'000;
constexpr std::uint64_t kPeerCheckPeriodNs = 20'000'000;
/// How long polls leave a receiver alone that was not ready. The shortest RNR timer is 10 us.
constexpr std::uint64_t kReceiverRestTicks = shm::kTicksIn100Ns * 5;

}  // namespace

/// Completes a failed request with its status, then stops the queue pair.
void DirectQp::conclude(const shm::WorkRequest& wr, std::uint32_t posted, hca::WcStatus status) {
    complete(wr, posted, status);
    if (init_.type == hca::QpType::kUd || init_.type == hca::QpType::kUc) {
        // Unreliable services stop only their send queue (IBA vol. 1, 10.3.1.6).
        state_ = hca::QpState::kSqe;
        shared_->state.store(hca::QpState::kSqe, std::memory_order_release);
        for (const Waiting& w : waiting_) {
            complete(w.wr, w.posted, hca::WcStatus::kWrFlushErr);
        }
        waiting_.clear();
        waiting_any_ = false;
        return;
    }
    enter_error();
}

void DirectQp::start_wait(const Verdict& verdict) {
    wait_reason_ = verdict.outcome;
    std::uint64_t limit = 0;
    if (verdict.outcome == Outcome::kNotReady) {
        if (attr_.rnr_retry != hca::kRnrRetryForever) {
            limit = attr_.rnr_retry * hca::rnr_timer_ns(peer_->min_rnr_timer);
        }
    } else {
        const std::uint64_t once = hca::ack_timeout_ns(attr_.timeout);
        limit = once == hca::kTimeoutInfiniteNs ? kDeadPeerNs
                                                : once * (std::uint64_t{attr_.retry_cnt} + 1);
    }
    deadline_ns_.store(limit == 0 ? 0 : shm::monotonic_ns() + limit, std::memory_order_relaxed);
}

void DirectQp::keep_waiting(const shm::WorkRequest& wr) {
    Waiting w{wr, send_posted_, {}, {}, {}};
    w.sges.assign(wr.sges, wr.sges + wr.num_sge);
    if ((wr.flags & hca::kSendInline) != 0) {
        for (hca::Sge& sge : w.sges) {
            const auto* from = reinterpret_cast<const char*>(sge.addr);
            w.data.insert(w.data.end(), from, from + sge.length);
        }
    }
    if (wr.bind != nullptr) {
        w.bind = *wr.bind;
    }
    waiting_.push_back(std::move(w));
    Waiting& kept = waiting_.back();
    if ((wr.flags & hca::kSendInline) != 0) {
        std::uint64_t at = 0;
        for (hca::Sge& sge : kept.sges) {
            sge.addr = reinterpret_cast<std::uint64_t>(kept.data.data()) + at;
            at += sge.length;
        }
    }
    kept.wr.sges = kept.sges.data();
    if (wr.bind != nullptr) {
        kept.wr.bind = &kept.bind;
    }
    if (!waiting_any_) {
        waiting_any_ = true;
        if (state_ == hca::QpState::kRts) {
            process_->progress.add_stalled(*this);
        }
    }
}

/// Returns whether the process of the peer has ended, so that it will never post a receive request.
/// The daemon would report that, but may have ended too.
bool DirectQp::peer_is_silent() {
    const std::uint64_t now = shm::monotonic_ns();
    if (now - liveness_checked_ns_ > kPeerCheckPeriodNs) {
        liveness_checked_ns_ = now;
        peer_silent_ = peer_owner_ != 0 && !owner_alive(self_.arena, peer_owner_);
    }
    return peer_silent_;
}

bool DirectQp::advance(bool at_once) {
    lock();
    if (!at_once && wait_reason_ == Outcome::kNotReady &&
        shm::cpu_ticks() - looked_ticks_ < kReceiverRestTicks) {
        unlock();
        return false;
    }
    bool empty = true;
    while (!waiting_.empty()) {
        if (shared_->state.load(std::memory_order_relaxed) == hca::QpState::kErr) {
            flush_locked();
            break;
        }
        if (state_ != hca::QpState::kRts) {
            break;  // The send queue is drained (SQD): its requests wait for RTS.
        }
        Waiting& w = waiting_.front();
        executing_ = w.posted;
        Verdict verdict = execute(w.wr);
        if (verdict.outcome == Outcome::kNotReady && peer_is_silent()) {
            verdict = {Outcome::kNoAnswer, hca::WcStatus::kRetryExcErr};
        }
        if (verdict.outcome == Outcome::kDone || verdict.outcome == Outcome::kCompleted) {
            if (verdict.outcome == Outcome::kDone) {
                complete_done(w.wr);
            }
            waiting_.pop_front();
            wait_reason_ = Outcome::kDone;
            continue;
        }
        if (verdict.outcome != Outcome::kFailed) {
            looked_ticks_ = shm::cpu_ticks();
            if (verdict.outcome != wait_reason_) {
                start_wait(verdict);
            }
            const std::uint64_t deadline = deadline_ns_.load(std::memory_order_relaxed);
            if (!(verdict.outcome == Outcome::kNotReady && attr_.rnr_retry == 0) &&
                (deadline == 0 || shm::monotonic_ns() < deadline)) {
                empty = false;
                break;
            }
        }
        const Waiting gone = std::move(w);
        waiting_.pop_front();
        conclude(gone.wr, gone.posted, verdict.status);
        break;
    }
    waiting_any_ = !waiting_.empty();
    unlock();
    return empty;
}

void DirectQp::ask_for_wake() {
    lock();
    if (!waiting_.empty() && wait_reason_ == Outcome::kNotReady && peer_ != nullptr) {
        const shm::Arena& arena = self_.arena;
        shm::RecvRing* ring = &peer_->rq;
        if (init_.type == hca::QpType::kXrcSend) {
            ring = &arena.srqs[waiting_.front().wr.remote_srqn % shm::kSrqsMax].ring;
        } else if (peer_->srq != 0) {
            ring = &arena.srqs[peer_->srq - 1].ring;
        }
        ring->rnr_waiter.store(self_.owner, std::memory_order_relaxed);
    }
    unlock();
}

void DirectQp::enter_error() {
    shared_->rx.store(0, std::memory_order_release);
    shared_->state.store(hca::QpState::kErr, std::memory_order_release);
    state_ = hca::QpState::kErr;
    flushed_ = false;
    flush_locked();
}

void DirectQp::flush_if_failed() {
    if (shared_->state.load(std::memory_order_acquire) != hca::QpState::kErr) {
        return;
    }
    lock();
    if (shared_->state.load(std::memory_order_acquire) == hca::QpState::kErr) {
        flush_locked();
    }
    unlock();
}

void DirectQp::stop_if_failed() {
    stop_with_cq();
    flush_if_failed();
}

void DirectQp::stop_with_cq() {
    const auto lost = [](Cq* cq) { return cq != nullptr && cq->overflowed(); };
    if (!lost(init_.send_cq) && !lost(init_.recv_cq)) {
        return;
    }
    lock();
    if (!stopped_with_cq_ &&
        shared_->state.load(std::memory_order_acquire) != hca::QpState::kReset) {
        stopped_with_cq_ = true;
        shared_->rx.store(0, std::memory_order_release);
        shared_->state.store(hca::QpState::kErr, std::memory_order_release);
        raise(
            hca::AsyncKind::kQpFatal);  // After the store, so that the program sees the new state.
        flush_locked();
    }
    unlock();
}

void DirectQp::flush_locked() {
    if (flushed_) {
        return;
    }
    flushed_ = true;
    state_ = hca::QpState::kErr;
    // Senders that were delivering when the state changed finish first.
    wait_grace(self_.arena, self_.owner, stripe_);
    for (const Waiting& w : waiting_) {
        complete(w.wr, w.posted, hca::WcStatus::kWrFlushErr);
    }
    waiting_.clear();
    waiting_any_ = false;
    receive_lock_.lock();
    flush_receives();
    receive_lock_.unlock();
    if (shared_->srq != 0) {
        raise(hca::AsyncKind::kQpLastWqeReached);
    }
}

void DirectQp::flush_receives() {
    if (shared_->rq.ring_off == 0) {
        return;
    }
    shm::RecvRing& ring = shared_->rq;
    const bool datagrams = init_.type == hca::QpType::kUd;
    if (datagrams) {
        datagram_ring_lock(self_.arena, *shared_, self_.lock_word);
    }
    const std::uint32_t first =
        init_.recv_cq->claim_receives(shared_->qpn, ring, receive_polled_.load());
    if (datagrams) {
        shm::shm_unlock(ring.lock);
    }
    flush_receives_from(first);
}

void DirectQp::unlock_receive_and_wake() {
    if (shared_->state.load(std::memory_order_acquire) == hca::QpState::kErr && flushed_)
        [[unlikely]] {
        flush_receives();
    }
    receive_lock_.unlock();
    ring_wake_sender(self_, shared_->rq);
}

void DirectQp::close() {
    process_->progress.remove_stalled(*this);
    lock();
    waiting_.clear();
    unlock();
}

}  // namespace softib::direct
