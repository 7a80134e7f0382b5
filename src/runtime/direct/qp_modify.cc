// SPDX-License-Identifier: BSD-2-Clause
// Attributes and state transitions of a queue pair on the direct path.
#include "runtime/direct/process.h"
#include "runtime/direct/qp_direct.h"
#include "runtime/shm/counters.h"

namespace softib::direct {

namespace qa = hca::qp_attr;

void DirectQp::reset_direct() {
    reset_locked();
    waiting_.clear();
    waiting_any_ = false;
    flushed_ = false;
    stopped_with_cq_ = false;
    peer_ = nullptr;
    peer_rx_ = 0;
}

void DirectQp::enter_ready_to_receive() {
    const hca::QpType type = init_.type;
    const bool datagram = type == hca::QpType::kUd;
    const std::uint32_t mtu = datagram ? 4096 : hca::mtu_bytes(attr_.path_mtu);
    format_ = hca::make_wire_format(type, !datagram && attr_.av.global, mtu);
    format_grh_ = hca::make_wire_format(type, true, mtu);
    if (!datagram) {
        fold_counters(self_.arena, *shared_, self_.lock_word);
        peer_ = &self_.arena.qps[qp_index(attr_.dest_qpn)];
        peer_qpn_ = attr_.dest_qpn;
        peer_rx_ = shm::kRxReady;  // check_peer_slow() sets the rest of the word.
        shared_->dest_lid.store(attr_.av.dlid.value);
    }
    shared_->state.store(hca::QpState::kRtr, std::memory_order_release);
    state_ = hca::QpState::kRtr;
    shared_->rx.store(datagram
                          ? shm::rx_word(type, Qpn{0}, Lid{0})
                          : shm::rx_word(type, Qpn{attr_.dest_qpn}, attr_.av.dlid) | shm::kRxFirst,
                      std::memory_order_release);
}

void DirectQp::enter_state(hca::QpState to) {
    if (to == hca::QpState::kReset) {
        reset_direct();
        return;
    }
    if (to == hca::QpState::kErr) {
        if (state_ != hca::QpState::kErr) {
            enter_error();
        }
        return;
    }
    if (to == hca::QpState::kRtr) {
        enter_ready_to_receive();
        return;
    }
    const hca::QpState from = state_;
    state_ = to;
    shared_->state.store(to, std::memory_order_release);
    if (to == hca::QpState::kRts) {
        std::uint64_t rx = shared_->rx.load();
        shared_->rx.compare_exchange_strong(rx, rx & ~shm::kRxFirst);
        if (!waiting_.empty()) {
            process_->progress.add_stalled(*this);
        }
    }
    if (to == hca::QpState::kSqd && from == hca::QpState::kRts && attr_.sq_async_notify != 0) {
        raise(hca::AsyncKind::kSqDrained);
    }
}

int DirectQp::change_locked(const QpAttr& attr, std::uint32_t mask) {
    apply(attr, mask);
    path_generation_ = 0;
    resend_ns_ = 0;
    refused_sends_ = 0;
    told_generation_ = 0;
    if ((mask & qa::kState) != 0) {
        enter_state(attr.state);
    }
    return 0;
}

int DirectQp::modify(const QpAttr& attr, std::uint32_t mask) {
    const int error = QpBase::modify(attr, mask);
    if (error == 0 && (mask & qa::kState) != 0 && attr.state == hca::QpState::kReset) {
        process_->progress.remove_stalled(*this);
    }
    return error;
}

}  // namespace softib::direct
