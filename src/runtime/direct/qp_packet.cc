// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/qp_packet.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/direct/carrier_call.h"
#include "runtime/direct/process.h"

namespace softib::direct {

namespace qa = hca::qp_attr;

int PacketQp::open() {
    shm::SendRing& ring = shared_->sq;
    ring.entries = init_.max_send_wr;
    ring.sges_max = std::max(init_.max_send_sge, 1U);
    ring.inline_max = init_.max_inline;
    ring.cq = init_.send_cq != nullptr ? init_.send_cq->index() : 0;
    ring.signal_all = init_.signal_all ? 1 : 0;
    if (init_.type != hca::QpType::kXrcRecv && !send_ring_init(*process_, ring)) {
        return ENOMEM;
    }
    shm::LockWord carrier = 0;
    if (init_.srq != nullptr) {
        carrier = static_cast<const PacketSrq*>(init_.srq)->carrier();
    }
    const int error = call_carrier(*process_, shm::CarrierCall::kCreateQp, index_, carrier);
    if (error == 0) {
        carrier_ = carrier;
    }
    return error;
}

void PacketQp::close() {
    if (carrier_ != 0) {
        call_carrier(*process_, shm::CarrierCall::kDestroyQp, index_, carrier_);
    }
}

int PacketQp::post_locked(const shm::WorkRequest& wr) {
    if (const int error = check_post_locked(wr, 0); error != 0) [[unlikely]] {
        return error;
    }
    ++send_posted_;
    if (stopped_with_carrier_.load(std::memory_order_relaxed)) [[unlikely]] {
        complete(wr, send_posted_, hca::WcStatus::kWrFlushErr);
        return 0;
    }
    shm::SendRing& ring = shared_->sq;
    const std::uint32_t at = ring.tail.load(std::memory_order_relaxed);
    shm::PostedSend& posted = *send_slot(self_.arena, ring, at);
    static_cast<hca::Request&>(posted) = wr;
    if (wr.ah != nullptr) {
        posted.to = wr.ah->to;
    }
    if (wr.bind != nullptr) {
        posted.bind = *wr.bind;
    }
    posted.inline_bytes = 0;
    std::uint64_t bytes = 0;
    if ((wr.flags & hca::kSendInline) != 0) {
        auto* to = reinterpret_cast<char*>(posted.sges());
        for (std::uint32_t i = 0; i < wr.num_sge; ++i) {
            std::memcpy(to + bytes, reinterpret_cast<const char*>(wr.sges[i].addr),
                        wr.sges[i].length);
            bytes += wr.sges[i].length;
        }
        posted.num_sge = 0;
        posted.inline_bytes = static_cast<std::uint32_t>(bytes);
    } else {
        std::copy_n(wr.sges, wr.num_sge, posted.sges());
        posted.num_sge = wr.num_sge;
    }
    ring.tail.store(at + 1, std::memory_order_release);
    ring_qp_bell(self_.arena, index_);
    return 0;
}

/// Returns whether attributes are possible on Ethernet: every address has a GID, and the path MTU
/// is at most that of the network interface.
bool PacketQp::fits_ethernet(const QpAttr& attr, std::uint32_t mask) const {
    const shm::HcaRecord& hca = self_.arena.hcas[shared_->hca];
    const auto is_good = [&](const hca::AddressVector& av) {
        return av.global && gid_at(hca, av.sgid_index) != Gid{};
    };
    return ((mask & qa::kAv) == 0 || is_good(attr.av)) &&
           ((mask & qa::kAltPath) == 0 || is_good(attr.alt_av)) &&
           ((mask & qa::kPathMtu) == 0 || attr.path_mtu <= hca.mtu_code);
}

int PacketQp::change_locked(const QpAttr& attr, std::uint32_t mask) {
    if (self_.arena.header->link_layer == hca::LinkLayer::kEthernet && !fits_ethernet(attr, mask)) {
        return EINVAL;
    }
    if (stopped_with_carrier_.load(std::memory_order_relaxed)) {
        // A program that cleans up may ask for the error state, which the queue pair has already.
        return mask == qa::kState && attr.state == hca::QpState::kErr ? 0 : EIO;
    }
    QpAttr wanted = attr;
    if ((mask & qa::kState) == 0) {
        wanted.state = state_;
    }
    if (const int error =
            call_carrier(*process_, shm::CarrierCall::kModifyQp, index_, carrier_, wanted, mask);
        error != 0) {
        return error;
    }
    if ((mask & qa::kState) != 0 && attr.state == hca::QpState::kReset) {
        reset_locked();
        shared_->sq.tail.store(0, std::memory_order_release);
        return 0;
    }
    apply(attr, mask);
    if ((mask & qa::kState) != 0) {
        state_ = attr.state;
    }
    return 0;
}

/// The carrier was this queue pair's HCA, so its end is the failure of that HCA: requests that have
/// no completion are flushed, as after a local work queue catastrophic error (IBA vol. 1, 11.6.3).
/// No other process completes them any more.
void PacketQp::stop_if_failed() {
    if (stopped_with_carrier_.load(std::memory_order_relaxed) ||
        self_.arena.header->carrier.load(std::memory_order_acquire) == carrier_) {
        return;
    }
    lock();
    const hca::QpState before = shared_->state.load(std::memory_order_acquire);
    stopped_with_carrier_.store(true);
    if (before != hca::QpState::kReset) {
        shared_->state.store(hca::QpState::kErr, std::memory_order_release);
        state_ = hca::QpState::kErr;
        if (before != hca::QpState::kErr) {
            raise(hca::AsyncKind::kQpFatal);  // After the store, so that the program sees the new
                                              // state.
        }
        flush_lost_sends();
        receive_lock_.lock();
        flush_lost_receives();
        receive_lock_.unlock();
        if (shared_->srq != 0 && before != hca::QpState::kErr) {
            raise(hca::AsyncKind::kQpLastWqeReached);
        }
    }
    unlock();
}

void PacketQp::flush_lost_sends() {
    const shm::SendRing& ring = shared_->sq;
    if (ring.ring_off == 0) {
        return;
    }
    std::uint32_t at = init_.send_cq->newest(shared_->qpn, false).value_or(send_done_.load());
    for (const std::uint32_t tail = ring.tail.load(std::memory_order_relaxed); at != tail; ++at) {
        const shm::PostedSend& posted = *send_slot(self_.arena, ring, at);
        shm::Cqe e{};
        e.wr_id = posted.wr_id;
        e.qpn = shared_->qpn;
        e.wqe_index = at + 1;
        e.status = static_cast<std::uint8_t>(hca::WcStatus::kWrFlushErr);
        e.opcode = static_cast<std::uint8_t>(hca::completion_opcode(posted.opcode));
        cq_push(self_, init_.send_cq->shared(), e, true, nullptr);
    }
}

/// Flushes the receive requests that the carrier has not completed. The completions say which those
/// are; the ring's head does not, because the carrier moves it before it completes a request.
void PacketQp::flush_lost_receives() {
    shm::RecvRing& ring = shared_->rq;
    if (ring.ring_off == 0) {
        return;
    }
    const std::optional<std::uint32_t> newest = init_.recv_cq->newest(shared_->qpn, true);
    ring.head.store(ring.tail.load(std::memory_order_relaxed), std::memory_order_release);
    flush_receives_from(newest ? *newest + 1 : receive_polled_.load());
}

void PacketQp::unlock_receive_and_wake() {
    if (stopped_with_carrier_.load() && shared_->state.load() != hca::QpState::kReset)
        [[unlikely]] {
        flush_lost_receives();
        receive_lock_.unlock_full();
        return;
    }
    receive_lock_.unlock_full();
    if (shared_->state.load() == hca::QpState::kErr) {
        ring_qp_bell(self_.arena, index_);  // The carrier flushes the request.
    }
}

}  // namespace softib::direct
