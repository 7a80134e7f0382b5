// SPDX-License-Identifier: BSD-2-Clause
// Attributes and state transitions of a queue pair.
#include <cerrno>

#include "runtime/direct/process.h"
#include "runtime/direct/qp.h"
#include "runtime/shm/counters.h"
#include "runtime/shm/grace.h"

namespace softib::live {

namespace qa = hca::qp_attr;

void Qp::apply(const QpAttr& attr, std::uint32_t mask) {
    hca::apply_attributes(attr_, attr, mask);
    shared_->access = attr_.access;
    if (shared_->pkey_index != attr_.pkey_index) {
        // Settled now, because the datagrams counted so far belong to the old partition.
        settle_counters(process_->arena, *shared_, process_->lock_word);
    }
    shared_->pkey_index = attr_.pkey_index;
    shared_->qkey = attr_.qkey;
    shared_->min_rnr_timer = attr_.min_rnr_timer;
    shared_->path_mtu_code = attr_.path_mtu;
    shared_->dest_qpn.store(attr_.dest_qpn, std::memory_order_relaxed);
    shared_->sq_psn = attr_.sq_psn;
    shared_->rq_psn = attr_.rq_psn;
    shared_->path_mig_state = attr_.path_mig_state;
    path_generation_ = 0;
    resend_ns_ = 0;
    refused_sends_ = 0;
    told_generation_ = 0;
}

void Qp::reset_locked() {
    shared_->rx.store(0, std::memory_order_release);
    shared_->state.store(QpState::kReset, std::memory_order_release);
    state_ = QpState::kReset;
    wait_grace(process_->arena, process_->owner, stripe_);
    waiting_.clear();
    waiting_any_ = false;
    flushed_ = false;
    stopped_with_cq_ = false;
    if (shared_->rq.ring_off != 0) {
        shared_->rq.head.store(0);
        shared_->rq.tail.store(0);
        shared_->rq.rnr_waiter.store(0);
    }
    // Completions of before are removed first: a thread that polls one of them writes the counters
    // that are set to 0 below.
    if (init_.send_cq != nullptr) {
        init_.send_cq->purge(shared_->qpn);
    }
    if (init_.recv_cq != nullptr && init_.recv_cq != init_.send_cq) {
        init_.recv_cq->purge(shared_->qpn);
    }
    receive_polled_.store(0);
    send_posted_ = 0;
    send_done_.store(0);
    peer_ = nullptr;
    peer_rx_ = 0;
    fold_counters(process_->arena, *shared_, process_->lock_word);
    attr_ = QpAttr{};
}

int Qp::enter_state(QpState to, std::uint32_t mask) {
    if ((mask & qa::kState) == 0) {
        return 0;
    }
    if (to == QpState::kReset) {
        reset_locked();
        return 0;
    }
    if (to == QpState::kErr) {
        if (state_ != QpState::kErr) {
            enter_error();
        }
        return 0;
    }
    if (to == QpState::kRtr) {
        const bool datagram = init_.type == QpType::kUd;
        const std::uint32_t mtu = datagram ? 4096 : hca::mtu_bytes(attr_.path_mtu);
        format_ = hca::make_wire_format(init_.type, !datagram && attr_.av.global, mtu);
        format_grh_ = hca::make_wire_format(init_.type, true, mtu);
        if (!datagram) {
            fold_counters(process_->arena, *shared_, process_->lock_word);
            peer_ = &process_->arena.qps[qp_index(attr_.dest_qpn)];
            peer_qpn_ = attr_.dest_qpn;
            peer_rx_ = kRxReady;  // check_peer_slow() sets the rest of the word.
            shared_->dest_lid.store(attr_.av.dlid.value);
        }
        shared_->state.store(to, std::memory_order_release);
        state_ = to;
        const QpType type = init_.type;
        shared_->rx.store(datagram ? rx_word(type, Qpn{0}, Lid{0})
                                   : rx_word(type, Qpn{attr_.dest_qpn}, attr_.av.dlid) | kRxFirst,
                          std::memory_order_release);
        return 0;
    }
    const QpState from = state_;
    state_ = to;
    shared_->state.store(to, std::memory_order_release);
    if (to == QpState::kRts) {
        std::uint64_t rx = shared_->rx.load();
        shared_->rx.compare_exchange_strong(rx, rx & ~kRxFirst);
        if (!waiting_.empty()) {
            process_->add_stalled(*this);
        }
    }
    if (to == QpState::kSqd && from == QpState::kRts && attr_.sq_async_notify != 0) {
        raise(AsyncKind::kSqDrained);
    }
    return 0;
}

int Qp::modify(const QpAttr& attr, std::uint32_t mask) {
    if (disowned_) {
        return EIO;
    }
    lock();
    // A peer may have moved this queue pair to the error state.
    if (shared_->state.load(std::memory_order_acquire) == QpState::kErr) {
        state_ = QpState::kErr;
    }
    const QpState to = (mask & qa::kState) != 0 ? attr.state : state_;
    int error = 0;
    mask &= ~hca::ignored_attributes(init_.type);
    if (!hca::check_transition(init_.type, state_, to, mask).ok()) {
        error = EINVAL;
    }
    if (error == 0 && !hca::values_are_valid(attr, mask, kPKeysPerPort)) {
        error = EINVAL;
    }
    if (error == 0 && packets_) {
        error = modify_packet(attr, mask);
    } else if (error == 0) {
        apply(attr, mask);
        error = enter_state(to, mask);
    }
    unlock();
    if (error == 0 && to == QpState::kReset && (mask & qa::kState) != 0) {
        process_->remove_stalled(*this);
    }
    return error;
}

QpAttr Qp::attributes() {
    lock();
    QpAttr attr = attr_;
    attr.state = shared_->state.load(std::memory_order_acquire);
    unlock();
    return attr;
}

}  // namespace softib::live
