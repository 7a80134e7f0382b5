// SPDX-License-Identifier: BSD-2-Clause
#include "core/hca/unreliable_sender.h"

#include <algorithm>

#include "core/hca/message_packet.h"

namespace softib::hca {

bool UnreliableSender::allowed(const WorkRequest& wr) const {
    if (core_.init.type == QpType::kUd) {
        return wr.opcode == WrOpcode::kSend || wr.opcode == WrOpcode::kSendImm;
    }
    return wr.opcode <= WrOpcode::kSendImm || is_local(wr.opcode);
}

PostError UnreliableSender::post(const WorkRequest& wr) {
    if (core_.state < QpState::kRts || !allowed(wr)) {
        return PostError::kInvalid;
    }
    if (const PostError error = queue_.check(wr); error != PostError::kOk) {
        return error;
    }
    queue_.push(wr);
    if (core_.state == QpState::kErr || core_.state == QpState::kSqe) {
        flush();
    }
    return PostError::kOk;
}

void UnreliableSender::reset() {
    queue_.clear();
    packet_ = 0;
}

void UnreliableSender::flush() {
    for (; !queue_.empty(); queue_.pop()) {
        complete_send(core_, queue_.at(queue_.head()), WcStatus::kWrFlushErr);
    }
    packet_ = 0;
}

/// Reports that the send queue is drained, unless a request is partly sent. No request waits for an
/// answer, and those that are not begun stay in the queue.
void UnreliableSender::drain() {
    if (packet_ == 0 && core_.attr.sq_async_notify != 0) {
        core_.context.raise(AsyncKind::kSqDrained, core_.qpn.value);
    }
}

void UnreliableSender::conclude(WcStatus status) {
    complete_send(core_, queue_.at(queue_.head()), status);
    queue_.pop();
    packet_ = 0;
    if (status != WcStatus::kSuccess) {
        core_.state = QpState::kSqe;
        flush();
    } else if (core_.state == QpState::kSqd) {
        drain();
    }
}

WcStatus UnreliableSender::check(const SendWqe& wqe) const {
    const bool datagram = core_.init.type == QpType::kUd;
    if (wqe.too_long || (datagram && wqe.length > core_.mtu)) {
        return WcStatus::kLocLenErr;
    }
    return queue_.places_are_valid(core_.context, core_.init.pd, queue_.head(), 0)
               ? WcStatus::kSuccess
               : WcStatus::kLocProtErr;
}

WcStatus UnreliableSender::execute_local(const SendWqe& wqe) {
    Memory& memory = core_.context.memory;
    const bool good = wqe.opcode == WrOpcode::kBindMw
                          ? memory.bind(queue_.bind(queue_.head()), core_.init.pd, core_.qpn)
                          : memory.invalidate(wqe.imm_or_rkey, core_.init.pd, core_.qpn);
    return good ? WcStatus::kSuccess : WcStatus::kMwBindErr;
}

bool UnreliableSender::poll_transmit(Transmit& out) {
    while (!queue_.empty() &&
           (core_.state == QpState::kRts || (core_.state == QpState::kSqd && packet_ != 0))) {
        const SendWqe& wqe = queue_.at(queue_.head());
        if (is_local(wqe.opcode)) {
            conclude(execute_local(wqe));
            continue;
        }
        if (packet_ == 0) {
            if (const WcStatus status = check(wqe); status != WcStatus::kSuccess) {
                conclude(status);
                continue;
            }
        }
        out.payload.clear();
        const bool built =
            core_.init.type == QpType::kUd ? build_datagram(wqe, out) : build_message(wqe, out);
        if (!built) {
            conclude(WcStatus::kLocProtErr);
            continue;
        }
        set_lengths(out.headers, out.payload.length());
        psn_ = psn_ + 1;
        ++packet_;
        if (packet_ == packets_of(wqe.length, core_.mtu)) {
            conclude(WcStatus::kSuccess);
        }
        return true;
    }
    return false;
}

std::optional<std::uint8_t> UnreliableSender::next_level() const {
    return core_.init.type == QpType::kUd && !queue_.empty()
               ? std::optional(queue_.address(queue_.head()).av.sl)
               : std::nullopt;
}

bool UnreliableSender::build_datagram(const SendWqe& wqe, Transmit& out) const {
    const Addressed& to = queue_.address(queue_.head());
    core_.begin(out.headers, message_operation(wqe.opcode, true, true), psn_);
    out.headers.grh.reset();
    out.headers.lrh.lnh = wire::LinkNextHeader::kLocal;
    set_address(out.headers, to.av, core_.context.port);
    out.headers.bth.dest_qp = to.qpn;
    out.headers.bth.se = (wqe.flags & kSendSolicited) != 0;
    out.headers.imm_dt.imm_dt = wqe.opcode == WrOpcode::kSendImm ? wqe.imm_or_rkey : 0;
    const bool own_key = (to.qkey.value & kQKeyControlled) != 0;
    out.headers.deth = {.q_key = own_key ? QKey{core_.attr.qkey} : to.qkey, .src_qp = core_.qpn};
    return queue_.gather(core_.context, core_.init.pd, queue_.head(), 0, wqe.length, out.payload);
}

bool UnreliableSender::build_message(const SendWqe& wqe, Transmit& out) const {
    const std::uint32_t offset = packet_ * core_.mtu;
    const std::uint32_t bytes = std::min(core_.mtu, wqe.length - offset);
    const bool last = packet_ + 1 == packets_of(wqe.length, core_.mtu);
    const wire::Operation operation = message_operation(wqe.opcode, packet_ == 0, last);
    core_.begin(out.headers, operation, psn_);
    set_message_headers(out.headers, wqe, role_of(operation));
    return queue_.gather(core_.context, core_.init.pd, queue_.head(), offset, bytes, out.payload);
}

}  // namespace softib::hca
