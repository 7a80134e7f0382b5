// SPDX-License-Identifier: BSD-2-Clause
#include "core/hca/queue_pair.h"

namespace softib::hca {

QueuePair::QueuePair(Context& context, const QpInit& init, Qpn qpn)
    : core_{.context = context, .init = init, .qpn = qpn} {
    const QpType type = init.type;
    const bool xrc = type == QpType::kXrcSend || type == QpType::kXrcRecv;
    if (!init.srq && !xrc) {
        receives_.emplace(init.max_recv_wr, std::max(init.max_recv_sge, 1U));
    }
    ReceiveQueue* own = receives_ ? &*receives_ : nullptr;
    if (type == QpType::kRc || type == QpType::kXrcSend) {
        requester_.emplace(core_);
    }
    if (type == QpType::kRc || type == QpType::kXrcRecv) {
        responder_.emplace(core_, own);
    }
    if (type == QpType::kUc || type == QpType::kUd) {
        sender_.emplace(core_);
    }
    if (type == QpType::kUc) {
        receiver_.emplace(core_, own);
    }
}

QpAttr QueuePair::attributes() const {
    QpAttr attr = core_.attr;
    attr.state = core_.state;
    return attr;
}

std::uint64_t QueuePair::deadline_ns() const {
    return requester_ ? requester_->deadline_ns() : kNever;
}

bool QueuePair::modify(const QpAttr& attr, std::uint32_t mask) {
    const QpState to = (mask & qp_attr::kState) != 0 ? attr.state : core_.state;
    mask &= ~ignored_attributes(core_.init.type);
    const auto pkeys = static_cast<std::uint32_t>(core_.context.port.pkeys.size());
    if (!check_transition(core_.init.type, core_.state, to, mask).ok() ||
        !values_are_valid(attr, mask, pkeys)) {
        return false;
    }
    apply_attributes(core_.attr, attr, mask);
    if (responder_ && (mask & qp_attr::kMaxDestRdAtomic) != 0) {
        responder_->reserve();
    }
    if ((mask & qp_attr::kState) != 0) {
        enter(to);
    }
    return true;
}

void QueuePair::enter(QpState to) {
    const QpState from = core_.state;
    if (to == QpState::kReset) {
        reset();
        return;
    }
    if (to == QpState::kErr) {
        if (from != QpState::kErr) {
            enter_error(false);
        }
        return;
    }
    core_.state = to;
    if (to == QpState::kRtr) {
        const bool datagram = core_.init.type == QpType::kUd;
        core_.mtu = datagram ? core_.context.port.mtu_bytes : mtu_bytes(core_.attr.path_mtu);
        if (responder_) {
            responder_->start();
        }
        if (receiver_) {
            receiver_->start();
        }
    }
    if (to == QpState::kRts && from == QpState::kRtr) {
        established_ = true;
        if (requester_) {
            requester_->start();
        }
        if (sender_) {
            sender_->start();
        }
    }
    if (to == QpState::kRts && from == QpState::kSqd && requester_) {
        requester_->resume();
    }
    if (to == QpState::kSqd && from == QpState::kRts) {
        if (requester_) {
            requester_->drain();
        }
        if (sender_) {
            sender_->drain();
        }
    }
}

void QueuePair::reset() {
    core_.state = QpState::kReset;
    core_.attr = {};
    core_.failed = false;
    core_.becn_due = false;
    established_ = false;
    if (receives_) {
        receives_->clear();
    }
    if (requester_) {
        requester_->reset();
    }
    if (responder_) {
        responder_->start();
    }
    if (sender_) {
        sender_->reset();
    }
    if (receiver_) {
        receiver_->start();
    }
    core_.context.purge(core_.init.send_cq, core_.qpn);
    core_.context.purge(core_.init.recv_cq, core_.qpn);
}

void QueuePair::enter_error(bool say_last_words) {
    core_.state = QpState::kErr;
    if (requester_) {
        requester_->flush();
    }
    if (sender_) {
        sender_->flush();
    }
    if (responder_) {
        responder_->inbound().flush();
        responder_->stop(say_last_words);
    }
    if (receiver_) {
        receiver_->inbound().flush();
    }
    flush_receives();
    if (core_.init.srq) {
        core_.context.raise(AsyncKind::kQpLastWqeReached, core_.qpn.value);
    }
}

void QueuePair::stop_if_overrun() {
    const auto& cqs = core_.context.cqs;
    if ((cqs[core_.init.send_cq.value].overrun() || cqs[core_.init.recv_cq.value].overrun()) &&
        core_.state != QpState::kReset && core_.state != QpState::kErr) {
        core_.context.raise(AsyncKind::kQpFatal, core_.qpn.value);
        enter_error(false);
    }
}

void QueuePair::flush_receives() {
    TakenReceive receive;
    while (receives_ && receives_->take(receive)) {
        core_.context.complete(core_.init.recv_cq,
                               {.wr_id = receive.wr_id,
                                .qpn = core_.qpn,
                                .status = WcStatus::kWrFlushErr,
                                .opcode = WcOpcode::kRecv,
                                .is_receive = true},
                               false);
    }
}

void QueuePair::settle() {
    if (core_.failed) {
        core_.failed = false;
        if (core_.state != QpState::kErr) {
            if (core_.failure_event) {
                core_.context.raise(*core_.failure_event, core_.qpn.value);
            }
            enter_error(true);
        }
    }
}

PostError QueuePair::post_send(const WorkRequest& wr) {
    if (requester_) {
        return requester_->post(wr);
    }
    return sender_ ? sender_->post(wr) : PostError::kInvalid;
}

PostError QueuePair::post_receive(std::uint64_t wr_id, std::span<const Sge> sges) {
    if (!receives_ || core_.state == QpState::kReset) {
        return PostError::kInvalid;
    }
    const PostError error = receives_->post(wr_id, sges);
    if (core_.state == QpState::kErr) {
        flush_receives();
    }
    return error;
}

/// Raises "communication established" when a connection in RTR receives its first packet, which
/// tells the program that the other end is ready to send.
void QueuePair::established() {
    if (!established_ && core_.init.type != QpType::kUd) {
        established_ = true;
        core_.context.raise(AsyncKind::kCommEst, core_.qpn.value);
    }
}

void QueuePair::handle_packet(const wire::PacketHeaders& headers, wire::Operation operation,
                              const Payload& payload, std::uint64_t now_ns) {
    Context& context = core_.context;
    const bool sends = core_.state == QpState::kRts || core_.state == QpState::kSqd;
    const bool receives = sends || core_.state == QpState::kRtr || core_.state == QpState::kSqe;
    const bool response = is_response(operation);
    if ((response && !sends) || (!response && !receives)) {
        context.count(Counted::kWrongState);
        return;
    }
    if (payload.length() > core_.mtu) {
        context.count(Counted::kBadLength);
        return;
    }
    if (response ? !requester_ : core_.init.type == QpType::kXrcSend) {
        context.count(Counted::kWrongService);
        return;
    }
    if (!response) {
        established();
    }
    if (response) {
        requester_->handle_response(headers, operation, payload, now_ns);
    } else if (responder_) {
        responder_->handle_request(headers, operation, payload);
    } else if (receiver_) {
        receiver_->handle_packet(headers, operation, payload);
    } else {
        receive_datagram(core_, receives_ ? &*receives_ : nullptr, headers, payload);
    }
    settle();
}

void QueuePair::handle_timeout(std::uint64_t now_ns) {
    if (requester_) {
        requester_->handle_timeout(now_ns);
        settle();
    }
}

bool QueuePair::transmit_request(Transmit& out, std::uint64_t now_ns) {
    const bool sent = requester_ ? requester_->poll_transmit(out, now_ns)
                                 : sender_ && sender_->poll_transmit(out);
    settle();
    return sent;
}

bool QueuePair::poll_transmit(Transmit& out, std::uint64_t now_ns) {
    if (request_next_) {
        request_next_ = false;
        if (transmit_request(out, now_ns)) {
            return true;
        }
    }
    if (responder_ && responder_->poll_transmit(out)) {
        settle();  // The responder has failed if the key of a READ has become invalid.
        request_next_ = true;
        return true;
    }
    return transmit_request(out, now_ns);
}

}  // namespace softib::hca
