// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/qp_base.h"

#include <cerrno>
#include <initializer_list>

#include "runtime/direct/process.h"
#include "runtime/shm/counters.h"
#include "runtime/shm/grace.h"

namespace softib::direct {

namespace qa = hca::qp_attr;

namespace {

std::uint32_t completion_bytes(const shm::WorkRequest& wr) {
    if (wr.opcode == hca::WrOpcode::kCompareSwap || wr.opcode == hca::WrOpcode::kFetchAdd) {
        return 8;
    }
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < wr.num_sge; ++i) {
        bytes += wr.sges[i].length;
    }
    return static_cast<std::uint32_t>(bytes);
}

}  // namespace

std::uint32_t QpBase::opcodes_of(hca::QpType type) {
    const auto set_of = [](std::initializer_list<hca::WrOpcode> opcodes) {
        std::uint32_t bits = 0;
        for (const hca::WrOpcode opcode : opcodes) {
            bits |= 1U << static_cast<std::uint32_t>(opcode);
        }
        return bits;
    };
    using enum hca::WrOpcode;
    const std::uint32_t sends = set_of({kSend, kSendImm});
    const std::uint32_t unreliable =
        sends | set_of({kWrite, kWriteImm, kBindMw, kLocalInv, kSendInv});
    switch (type) {
        case hca::QpType::kRc:
        case hca::QpType::kXrcSend:
            return unreliable | set_of({kRead, kCompareSwap, kFetchAdd, kAtomicWrite});
        case hca::QpType::kUc:
            return unreliable;
        case hca::QpType::kUd:
            return sends;
        case hca::QpType::kXrcRecv:
            break;
    }
    return 0;
}

bool QpBase::allowed(const shm::WorkRequest& wr) const {
    const auto opcode = static_cast<std::uint32_t>(wr.opcode);
    return opcode < 32 && (opcodes_ >> opcode & 1) != 0 &&
           (wr.num_sge <= init_.max_send_sge ||
            (wr.num_sge == 1 && (wr.flags & hca::kSendInline) != 0)) &&
           (init_.type != hca::QpType::kUd || wr.ah != nullptr);
}

int QpBase::check_post_locked(const shm::WorkRequest& wr, std::uint32_t ahead) const {
    if (disowned_) [[unlikely]] {
        return EIO;
    }
    if (state_ < hca::QpState::kRts || !allowed(wr)) [[unlikely]] {
        return EINVAL;
    }
    // The eight bytes of an atomic write are part of the request itself.
    if ((wr.flags & hca::kSendInline) != 0 && wr.opcode != hca::WrOpcode::kAtomicWrite) {
        std::uint64_t bytes = 0;
        for (std::uint32_t i = 0; i < wr.num_sge; ++i) {
            bytes += wr.sges[i].length;
        }
        const bool carries =
            wr.opcode < hca::WrOpcode::kRead || wr.opcode == hca::WrOpcode::kSendInv;
        if (bytes > init_.max_inline || !carries) {
            return EINVAL;
        }
    }
    if (send_posted_ + ahead - send_done_.load(std::memory_order_relaxed) >= init_.max_send_wr)
        [[unlikely]] {
        return ENOMEM;
    }
    return 0;
}

void QpBase::complete(const shm::WorkRequest& wr, std::uint32_t posted, hca::WcStatus status) {
    shm::Cqe e{};
    e.wr_id = wr.wr_id;
    e.qpn = shared_->qpn;
    e.wqe_index = posted;
    e.status = static_cast<std::uint8_t>(status);
    e.opcode = static_cast<std::uint8_t>(hca::completion_opcode(wr.opcode));
    e.byte_len = completion_bytes(wr);
    cq_push(self_, init_.send_cq->shared(), e, status != hca::WcStatus::kSuccess, &producer_);
}

int QpBase::post_receive_locked(std::uint64_t wr_id, const hca::Sge* sges, std::uint32_t num_sge) {
    if (disowned_ || shared_->rq.ring_off == 0) {
        return EINVAL;
    }
    const hca::QpState state = shared_->state.load(std::memory_order_relaxed);
    if (state == hca::QpState::kReset) {
        return EINVAL;
    }
    // The slots whose completions were polled are free, and mostly enough. The head, on a line that
    // senders write, says whether more are, unless a poll still needs the requests. A sender
    // completes a request before it moves the head on: if the program has polled that completion in
    // between, the slot at the head is free too.
    shm::RecvRing& ring = shared_->rq;
    std::uint32_t freed = receive_polled_.load(std::memory_order_acquire);
    if (ring.tail.load(std::memory_order_relaxed) - freed >= ring.entries && !keeps_requests()) {
        const std::uint32_t head = ring.head.load(std::memory_order_acquire);
        freed = freed == head + 1 ? freed : head;
    }
    return ring_post_locked(self_.arena, ring, freed, wr_id, sges, num_sge);
}

bool QpBase::keeps_requests() const {
    return init_.type == hca::QpType::kRc && self_.arena.header->data_path == DataPath::kDirect;
}

void QpBase::expand(const shm::CqCell& cell, shm::Cqe& out) const {
    const std::uint32_t about = cell.load_about();
    out.wr_id = ring_slot(self_.arena, shared_->rq, cell.wqe_index)->load_wr_id();
    out.byte_len = cell.byte_len;
    out.imm_or_rkey = 0;
    out.qpn = about & shm::kCellQpn;
    out.src_qpn = shared_->dest_qpn.load(std::memory_order_relaxed);
    out.wqe_index = cell.wqe_index;
    out.slid = shared_->dest_lid.load(std::memory_order_relaxed);
    out.pkey_index = shared_->pkey_index;
    out.status = static_cast<std::uint8_t>(hca::WcStatus::kSuccess);
    out.opcode = static_cast<std::uint8_t>(hca::WcOpcode::kRecv);
    out.flags = 0;
    out.sl = static_cast<std::uint8_t>(about >> shm::kCellSlShift & 0xF);
    out.path_bits = 0;
    out.is_receive = 1;
}

void QpBase::flush_receives_from(std::uint32_t first) {
    shm::RecvRing& ring = shared_->rq;
    const std::uint32_t tail = ring.tail.load(std::memory_order_relaxed);
    for (std::uint32_t at = first; at != tail; ++at) {
        shm::Cqe e{};
        e.wr_id = ring_slot(self_.arena, ring, at)->load_wr_id();
        e.wqe_index = at;
        e.qpn = shared_->qpn;
        e.is_receive = 1;
        e.opcode = static_cast<std::uint8_t>(hca::WcOpcode::kRecv);
        e.status = static_cast<std::uint8_t>(hca::WcStatus::kWrFlushErr);
        cq_push(self_, init_.recv_cq->shared(), e, true, nullptr);
    }
}

void QpBase::raise(hca::AsyncKind kind) {
    self_.channels.signal(self_.owner, shared_->async_channel,
                          {shared_->event_id, static_cast<std::uint32_t>(kind), 1});
}

void QpBase::apply(const QpAttr& attr, std::uint32_t mask) {
    hca::apply_attributes(attr_, attr, mask);
    shared_->access = attr_.access;
    if (shared_->pkey_index != attr_.pkey_index) {
        // Settled now, because the datagrams counted so far belong to the old partition.
        settle_counters(self_.arena, *shared_, self_.lock_word);
    }
    shared_->pkey_index = attr_.pkey_index;
    shared_->qkey = attr_.qkey;
    shared_->min_rnr_timer = attr_.min_rnr_timer;
    shared_->path_mtu_code = attr_.path_mtu;
    shared_->dest_qpn.store(attr_.dest_qpn, std::memory_order_relaxed);
    shared_->sq_psn = attr_.sq_psn;
    shared_->rq_psn = attr_.rq_psn;
    shared_->path_mig_state = attr_.path_mig_state;
}

void QpBase::purge_completions() {
    if (init_.send_cq != nullptr) {
        init_.send_cq->purge(shared_->qpn);
    }
    if (init_.recv_cq != nullptr && init_.recv_cq != init_.send_cq) {
        init_.recv_cq->purge(shared_->qpn);
    }
}

void QpBase::reset_locked() {
    shared_->rx.store(0, std::memory_order_release);
    shared_->state.store(hca::QpState::kReset, std::memory_order_release);
    state_ = hca::QpState::kReset;
    wait_grace(self_.arena, self_.owner, stripe_);
    if (shared_->rq.ring_off != 0) {
        shared_->rq.head.store(0);
        shared_->rq.tail.store(0);
        shared_->rq.tail_seen = 0;
        shared_->rq.rnr_waiter.store(0);
    }
    // Completions of before are removed first: a thread that polls one of them writes the counters
    // that are set to 0 below.
    purge_completions();
    receive_polled_.store(0);
    send_posted_ = 0;
    send_done_.store(0);
    fold_counters(self_.arena, *shared_, self_.lock_word);
    attr_ = QpAttr{};
}

int QpBase::modify(const QpAttr& attr, std::uint32_t mask) {
    if (disowned_) {
        return EIO;
    }
    lock();
    // A peer may have moved this queue pair to the error state.
    if (shared_->state.load(std::memory_order_acquire) == hca::QpState::kErr) {
        state_ = hca::QpState::kErr;
    }
    const hca::QpState to = (mask & qa::kState) != 0 ? attr.state : state_;
    mask &= ~hca::ignored_attributes(init_.type);
    int error = EINVAL;
    if (hca::check_transition(init_.type, state_, to, mask).ok() &&
        hca::values_are_valid(attr, mask, shm::kPKeysPerPort)) {
        error = change_locked(attr, mask);
    }
    unlock();
    return error;
}

QpAttr QpBase::attributes() {
    lock();
    QpAttr attr = attr_;
    attr.state = shared_->state.load(std::memory_order_acquire);
    unlock();
    return attr;
}

}  // namespace softib::direct
