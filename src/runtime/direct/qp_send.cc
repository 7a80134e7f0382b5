// SPDX-License-Identifier: BSD-2-Clause
// SENDs and other messages that take a receive request of the peer, on connections.
#include <optional>

#include "core/hca/send_queue.h"
#include "runtime/direct/cq_add.h"
#include "runtime/direct/memory/remote.h"
#include "runtime/direct/process.h"
#include "runtime/direct/qp_direct.h"
#include "runtime/direct/scatter.h"
#include "runtime/direct/window.h"
#include "runtime/shm/hooks.h"

namespace softib::direct {

namespace {

shm::Cqe receive_completion(const shm::WorkRequest& wr, const shm::TakenRecv& taken,
                            std::uint32_t qpn, std::uint32_t byte_len) {
    shm::Cqe e{};
    e.wr_id = taken.wr_id;
    e.wqe_index = taken.wqe_index;
    e.byte_len = byte_len;
    e.qpn = qpn;
    e.is_receive = 1;
    e.opcode = static_cast<std::uint8_t>(wr.opcode == hca::WrOpcode::kWriteImm
                                             ? hca::WcOpcode::kRecvRdmaWithImm
                                             : hca::WcOpcode::kRecv);
    if (hca::carries_immediate(wr.opcode)) {
        e.flags = hca::kWcWithImm;
        e.imm_or_rkey = wr.imm_or_rkey;
    } else if (wr.opcode == hca::WrOpcode::kSendInv) {
        e.flags = hca::kWcWithInv;
        e.imm_or_rkey = wr.imm_or_rkey;
    }
    return e;
}

/// Adds an entry as cq_push() does. Not inline, because it needs a copy of the entry.
template <typename Write>
[[gnu::noinline]] void push_late(const Attachment& self, shm::CqShared& cq, bool solicited,
                                 const shm::Producer& producer, const Completing& completing,
                                 const Write& write) {
    shm::Cqe e{};
    write(e);
    cq_push(self, cq, e, solicited, &producer, completing);
}

}  // namespace

/// Completes a message that is in the receiver's buffers; write(slot) writes the completion, and
/// `brief`, if it is not 0, is what a short cell says about it. The send completion is written
/// before the receive completion, as an HCA receives the acknowledgement before its peer's program
/// can answer: no answer overtakes the completion. A receiver that stops between the two counts as
/// one that stopped after its acknowledgement.
template <typename Write>
DirectQp::Verdict DirectQp::hand_over(const shm::WorkRequest& wr, std::uint64_t bytes,
                                      shm::CqShared& cq, const Completing& completing,
                                      std::uint32_t brief, const Write& write) {
    if (completing.ring != nullptr &&
        completing.ring->head.load(std::memory_order_acquire) != completing.index) [[unlikely]] {
        return {Outcome::kNoAnswer, hca::WcStatus::kRetryExcErr};  // The peer stopped meanwhile.
    }
    count(hca::request_cost(format_, static_cast<hca::WireOp>(wr.opcode), bytes),
          hca::ack_cost(format_));
    complete_done(wr);
    const bool solicited = (wr.flags & hca::kSendSolicited) != 0;
    const auto write_both = [&](shm::CqCell& cell, shm::Cqe& slot) {
        if (brief != 0 && cq.timestamps == 0) [[likely]] {
            cell.wqe_index = completing.index;
            cell.byte_len = static_cast<std::uint32_t>(bytes);
            return brief;
        }
        write(slot);
        return about(slot);
    };
    if (add_as_sole(self_, cq, peer_->qpn, solicited, producer_, completing, write_both) ==
        Added::kNotSole) [[unlikely]] {
        push_late(self_, cq, solicited, producer_, completing, write);
    }
    return {Outcome::kCompleted, hca::WcStatus::kSuccess};
}

/// Returns where this process reads a request's only buffer; nullptr if not in one piece.
const char* DirectQp::whole_buffer(const shm::WorkRequest& wr) const {
    const hca::Sge& sge = wr.sges[0];
    if ((wr.flags & hca::kSendInline) != 0) {
        return reinterpret_cast<const char*>(sge.addr);
    }
    const shm::MrShared* mr = find_key(self_.arena, sge.lkey, shared_->pd, sge.addr, sge.length, 0);
    return mr == nullptr || hca::is_window(mr->kind) ? nullptr
                                                     : reinterpret_cast<const char*>(shared_address(
                                                           self_.arena, *mr, sge.addr, sge.length));
}

/// Sends a message from one buffer to one that takes it whole, both in the arena: most are such.
/// Nothing is built on the way: the request is read, and the completion written, in their places.
/// Returns std::nullopt, with nothing done, if this message is not such.
std::optional<DirectQp::Verdict> DirectQp::send_whole(const shm::WorkRequest& wr) {
    const shm::Arena& arena = self_.arena;
    const std::uint32_t bytes = wr.sges[0].length;
    shm::RecvRing& ring = peer_->rq;
    const std::uint32_t head = ring.head.load(std::memory_order_relaxed);
    if (bytes == 0 || bytes > hca::kMessageBytesMax || peer_->srq != 0 ||
        !has_request(ring, head)) {
        return std::nullopt;
    }
    const char* const from = whole_buffer(wr);
    const hca::Sge into = *ring_sges(arena, ring, head);
    if (from == nullptr || into.length < bytes ||
        (ring.sges_max != 1 && ring_slot(arena, ring, head)->num_sge != 1)) {
        return std::nullopt;
    }
    const shm::MrShared* const to =
        find_key(arena, into.lkey, peer_->pd, into.addr, bytes, hca::kLocalWrite);
    std::byte* const at = to != nullptr ? shared_address(arena, *to, into.addr, bytes) : nullptr;
    if (at == nullptr) {
        return std::nullopt;
    }
    fetch_ahead(arena, ring, head);
    park_point(shm::ParkPoint::kSendBeforeCopy);
    copy_addressed(*process_, at, from, bytes);
    park_point(shm::ParkPoint::kSendAfterCopy);
    return hand_over(wr, bytes, arena.cqs[peer_->recv_cq], {nullptr, &ring, head}, brief_,
                     [&](shm::Cqe& slot) {
                         slot.wr_id = ring_slot(arena, ring, head)->load_wr_id();
                         slot.byte_len = bytes;
                         slot.imm_or_rkey = 0;
                         slot.qpn = peer_->qpn;
                         slot.src_qpn = shared_->qpn;
                         slot.wqe_index = head;
                         slot.slid = arena.hcas[init_.hca].lid.load(std::memory_order_relaxed);
                         slot.pkey_index = peer_->pkey_index;
                         slot.status = 0;
                         slot.opcode = static_cast<std::uint8_t>(hca::WcOpcode::kRecv);
                         slot.flags = 0;
                         slot.sl = attr_.av.sl;
                         slot.path_bits = 0;
                         slot.is_receive = 1;
                         slot.tag = 0;
                     });
}

DirectQp::Verdict DirectQp::do_send(const shm::WorkRequest& wr) {
    if (wr.num_sge == 1 && wr.opcode == hca::WrOpcode::kSend && init_.type == hca::QpType::kRc)
        [[likely]] {
        if (const std::optional<Verdict> verdict = send_whole(wr)) {
            return *verdict;
        }
    }
    Gather gather;
    if (!gather_local(wr, gather)) {
        return failed(hca::WcStatus::kLocProtErr);
    }
    if (gather.bytes > hca::kMessageBytesMax) {
        return failed(hca::WcStatus::kLocLenErr);
    }
    const Verdict verdict = deliver(wr, gather, true, static_cast<std::uint32_t>(gather.bytes));
    if (verdict.outcome == Outcome::kDone) {
        count(hca::request_cost(format_, static_cast<hca::WireOp>(wr.opcode), gather.bytes),
              hca::ack_cost(format_));
    }
    return verdict;
}

/// Returns the verdict on a message for which no receive request is posted. Unreliable connections
/// have no RNR NAK: their message is lost (IBA vol. 1, 9.8.2.1).
DirectQp::Verdict DirectQp::not_ready() const {
    return init_.type == hca::QpType::kUc
               ? Verdict{}
               : Verdict{Outcome::kNotReady, hca::WcStatus::kRnrRetryExcErr};
}

/// Hands a message to the peer's receive queue.
DirectQp::Verdict DirectQp::deliver(const shm::WorkRequest& wr, const Gather& gather, bool scatter,
                                    std::uint32_t byte_len) {
    if (peer_->srq != 0 || init_.type == hca::QpType::kXrcSend) {
        return deliver_shared(wr, gather, scatter, byte_len);
    }
    shm::RecvRing& ring = peer_->rq;
    const std::uint32_t head = ring.head.load(std::memory_order_relaxed);
    if (!has_request(ring, head)) {
        return not_ready();
    }
    shm::TakenRecv taken;
    copy_out(self_.arena, ring, head, taken);
    fetch_ahead(self_.arena, ring, head);
    return finish_delivery(wr, gather, scatter, byte_len, taken, peer_->pd,
                           self_.arena.cqs[peer_->recv_cq], {nullptr, &ring, head});
}

DirectQp::Verdict DirectQp::deliver_shared(const shm::WorkRequest& wr, const Gather& gather,
                                           bool scatter, std::uint32_t byte_len) {
    const shm::Arena& arena = self_.arena;
    std::uint32_t srq_index = peer_->srq - 1;
    if (init_.type == hca::QpType::kXrcSend) {
        srq_index = wr.remote_srqn;
        if (srq_index >= shm::kSrqsMax ||
            arena.srqs[srq_index].live.load(std::memory_order_acquire) == 0 ||
            arena.srqs[srq_index].xrcd != peer_->xrcd || arena.srqs[srq_index].xrcd == 0) {
            return refuse_remote(hca::WcStatus::kRemInvReqErr, hca::AsyncKind::kQpReqErr);
        }
    }
    shm::SrqShared& srq = arena.srqs[srq_index];
    shm::DeliveryRecord* const record = delivery_record(*process_, *stripe_);
    if (record == nullptr || !srq_take(self_, srq, srq_index, *record)) {
        return not_ready();
    }
    const std::uint32_t cq = srq.xrcd != 0 ? srq.recv_cq : peer_->recv_cq;
    const Verdict verdict = finish_delivery(wr, gather, scatter, byte_len, record->request, srq.pd,
                                            arena.cqs[cq], {record, nullptr, 0});
    park_point(shm::ParkPoint::kSrqBeforeDelivered);
    delivered(*record);
    return verdict;
}

DirectQp::Verdict DirectQp::finish_delivery(const shm::WorkRequest& wr, const Gather& gather,
                                            bool scatter, std::uint32_t byte_len,
                                            const shm::TakenRecv& taken, std::uint32_t pd,
                                            shm::CqShared& cq, const Completing& completing) {
    const shm::Arena& arena = self_.arena;
    shm::Cqe e = receive_completion(wr, taken, peer_->qpn, byte_len);
    e.src_qpn = shared_->qpn;
    e.slid = arena.hcas[init_.hca].lid.load(std::memory_order_relaxed);
    e.sl = attr_.av.sl;
    e.pkey_index = peer_->pkey_index;
    hca::WcStatus status =
        scatter ? scatter_check(arena, taken, pd, gather.bytes) : hca::WcStatus::kSuccess;
    if (status == hca::WcStatus::kLocLenErr && init_.type == hca::QpType::kUc &&
        completing.ring != nullptr) {
        return {};  // The request waits for the next message (IBA vol. 1, 9.9.6.3, class D).
    }
    if (status == hca::WcStatus::kSuccess && wr.opcode == hca::WrOpcode::kSendInv &&
        !invalidate_window(arena, wr.imm_or_rkey, peer_->pd, peer_->qpn)) {
        status = hca::WcStatus::kLocAccessErr;
    }
    park_point(shm::ParkPoint::kSendBeforeCopy);
    if (status == hca::WcStatus::kSuccess && scatter &&
        !scatter_copy(*process_, gather, taken, pd)) {
        if (owner_gone(self_, peer_->owner)) {
            return {Outcome::kNoAnswer, hca::WcStatus::kRetryExcErr};
        }
        status = hca::WcStatus::kLocProtErr;
    }
    park_point(shm::ParkPoint::kSendAfterCopy);
    if (status == hca::WcStatus::kSuccess) [[likely]] {
        return hand_over(wr, gather.bytes, cq, completing, 0,
                         [&e](shm::Cqe& slot) { fill_entry(slot, e); });
    }
    e.status = static_cast<std::uint8_t>(status);
    if (!cq_push(self_, cq, e, true, &producer_, completing)) {
        return {Outcome::kNoAnswer, hca::WcStatus::kRetryExcErr};
    }
    if (init_.type == hca::QpType::kUc) {
        // The receive request ended in an error of its own, which the responder does not report.
        if (hca::stops_receiving(init_.type, status)) {
            stop_peer(hca::AsyncKind::kQpReqErr);
        }
        return {};
    }
    if (status == hca::WcStatus::kLocAccessErr) {
        // The R_Key could not be invalidated: the responder sends no NAK (IBA vol. 1, 9.9.6.3,
        // class J).
        arena.hcas[peer_->hca].totals.access_violations.fetch_add(1, std::memory_order_relaxed);
        stop_peer(hca::AsyncKind::kQpReqErr);
        return {Outcome::kNoAnswer, hca::WcStatus::kRetryExcErr};
    }
    return refuse_remote(status == hca::WcStatus::kLocLenErr ? hca::WcStatus::kRemInvReqErr
                                                             : hca::WcStatus::kRemOpErr,
                         hca::AsyncKind::kQpReqErr);
}

}  // namespace softib::direct
