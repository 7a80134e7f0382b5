// SPDX-License-Identifier: BSD-2-Clause
#include "core/hca/inbound_message.h"

#include "core/hca/send_queue.h"

namespace softib::hca {

std::optional<Domain> domain_of(QpCore& core, const wire::PacketHeaders& headers) {
    const QpInit& init = core.init;
    Domain domain{.rdma = init.pd, .receive = init.pd, .srq = init.srq, .cq = init.recv_cq};
    if (init.type == QpType::kXrcRecv) {
        const SrqId id{headers.xrc_eth.xrcsrq};
        const SharedReceiveQueue* srq = core.context.srq(id);
        if (srq == nullptr || srq->xrcd == 0 || srq->xrcd != init.xrcd) {
            return std::nullopt;
        }
        return Domain{.rdma = srq->pd, .receive = srq->pd, .srq = id, .cq = srq->cq};
    }
    if (init.srq) {
        if (const SharedReceiveQueue* srq = core.context.srq(*init.srq)) {
            domain.receive = srq->pd;
        }
    }
    return domain;
}

std::optional<Place> remote_place(QpCore& core, const wire::PacketHeaders& headers,
                                  std::uint32_t rkey, std::uint64_t addr, std::uint32_t length,
                                  std::uint32_t access) {
    const auto domain = domain_of(core, headers);
    if (!domain || (core.attr.access & access) != access) {
        return std::nullopt;
    }
    return core.context.memory.remote(rkey, domain->rdma, core.qpn, addr, length, access);
}

/// Returns whether a packet may follow the one before: a message begins with First or Only, and all
/// its packets are of one kind (IBA vol. 1, 9.7.4).
bool InboundMessage::in_sequence(const PacketRole& role, const wire::PacketHeaders& headers) const {
    if (role.first) {
        return !active();
    }
    const Kind kind = role.send ? Kind::kSend : Kind::kWrite;
    return kind_ == kind && (core_.init.type != QpType::kXrcRecv || headers.xrc_eth.xrcsrq == srq_);
}

/// Checks a packet of a WRITE. The whole WRITE is checked when it begins; each packet is checked
/// again when it is placed, since the key may have been invalidated meanwhile. The R_Key of an
/// empty WRITE is not checked (IBA vol. 1, 9.7.4).
Fault InboundMessage::check_write(const wire::PacketHeaders& headers, const PacketRole& role,
                                  Write& write, std::uint32_t bytes) {
    if (role.first) {
        write = {.addr = headers.reth.va,
                 .rkey = headers.reth.r_key,
                 .left = headers.reth.dma_len,
                 .length = headers.reth.dma_len};
        if (write.length > kMessageBytesMax) {
            return Fault::kInvalidRequest;
        }
        if (write.length != 0 &&
            !remote_place(core_, headers, write.rkey, write.addr, write.length, kRemoteWrite)) {
            return Fault::kRemoteAccess;
        }
    }
    if (bytes > write.left || (role.last && bytes != write.left) ||
        (!role.last && bytes == write.left)) {
        return Fault::kInvalidRequest;
    }
    if (bytes != 0 && !remote_place(core_, headers, write.rkey, write.addr, bytes, kRemoteWrite)) {
        return Fault::kRemoteAccess;
    }
    return Fault::kNone;
}

bool InboundMessage::hold_receive(const Domain& domain) {
    if (!held_) {
        if (domain.srq) {
            held_ = core_.context.take(*domain.srq, receive_);
        } else {
            held_ = own_ != nullptr && own_->take(receive_);
        }
        held_cq_ = domain.cq;
    }
    return held_;
}

WcStatus InboundMessage::place_send(const Domain& domain, const Payload& payload) {
    switch (scatter_into(core_.context, domain.receive, receive_.places(), received_, payload)) {
        case Scattered::kTooShort:
            return WcStatus::kLocLenErr;
        case Scattered::kNotAllowed:
            return WcStatus::kLocProtErr;
        case Scattered::kAll:
            break;
    }
    received_ += payload.length();
    return WcStatus::kSuccess;
}

bool InboundMessage::place_write(const wire::PacketHeaders& headers, Write& write,
                                 const Payload& payload) {
    for (const PayloadPart& part : payload.parts()) {
        const auto place =
            remote_place(core_, headers, write.rkey, write.addr, part.length, kRemoteWrite);
        if (!place || !core_.context.memory.write(*place, part.bytes, part.length)) {
            return false;
        }
        write.addr += part.length;
        write.left -= part.length;
    }
    return true;
}

void InboundMessage::complete_receive(const wire::PacketHeaders& headers, const PacketRole& role,
                                      const Domain& domain, WcStatus status) {
    Completion done{.wr_id = receive_.wr_id,
                    .qpn = core_.qpn,
                    .status = status,
                    .opcode = role.write ? WcOpcode::kRecvRdmaWithImm : WcOpcode::kRecv,
                    .is_receive = true,
                    .byte_len = role.write ? write_.length : received_,
                    .src_qp = Qpn{core_.attr.dest_qpn},
                    .slid = headers.lrh.slid,
                    .sl = headers.lrh.sl,
                    .pkey_index = core_.attr.pkey_index};
    if (role.immediate) {
        done.flags = kWcWithImm;
        done.imm_or_rkey = headers.imm_dt.imm_dt;
    } else if (role.invalidate) {
        done.flags = kWcWithInv;
        done.imm_or_rkey = headers.ieth.r_key;
    }
    core_.context.complete(domain.cq, done, headers.bth.se);
    held_ = false;
}

/// Refuses a SEND that could not be placed. If a message of an unreliable connection is too long,
/// its receive request waits for the next message (IBA vol. 1, 9.9.6.3, class D). A request of a
/// shared receive queue cannot be put back; it completes with an error (class E).
Accepted InboundMessage::refuse_send(const wire::PacketHeaders& headers, const PacketRole& role,
                                     const Domain& domain, WcStatus status) {
    kind_ = Kind::kNone;
    const Fault fault =
        status == WcStatus::kLocLenErr ? Fault::kTooLong : Fault::kRemoteOperational;
    const bool stops = stops_receiving(core_.init.type, status);
    if (stops || domain.srq) {
        complete_receive(headers, role, domain, status);
    }
    return {.fault = fault, .receive_failed = stops};
}

Accepted InboundMessage::finish(const wire::PacketHeaders& headers, const PacketRole& role,
                                const Domain& domain) {
    kind_ = Kind::kNone;
    if (role.invalidate &&
        !core_.context.memory.invalidate(headers.ieth.r_key, domain.rdma, core_.qpn)) {
        complete_receive(headers, role, domain, WcStatus::kLocAccessErr);
        return {.fault = Fault::kInvalidate, .receive_failed = true};
    }
    if (role.send || role.immediate) {
        complete_receive(headers, role, domain, WcStatus::kSuccess);
    }
    return {.finished = true};
}

Accepted InboundMessage::accept(const wire::PacketHeaders& headers, wire::Operation operation,
                                const Payload& payload) {
    const PacketRole role = role_of(operation);
    const std::uint32_t bytes = payload.length();
    // Only the last packet may be shorter than the MTU, and only a packet "Only" may be empty.
    const bool fits =
        role.last ? bytes <= core_.mtu && (role.first || bytes != 0) : bytes == core_.mtu;
    if (!fits || !in_sequence(role, headers)) {
        return {.fault = Fault::kInvalidRequest};
    }
    const auto domain = domain_of(core_, headers);
    if (!domain && (role.send || role.immediate)) {
        return {.fault = Fault::kInvalidRequest};
    }
    Write write = write_;
    if (role.write) {
        if (const Fault fault = check_write(headers, role, write, bytes); fault != Fault::kNone) {
            return {.fault = fault};
        }
    }
    if (((role.send && role.first) || (role.write && role.immediate)) && !hold_receive(*domain)) {
        return {.fault = Fault::kNotReady};
    }
    if (role.first) {
        kind_ = role.send ? Kind::kSend : Kind::kWrite;
        received_ = 0;
        srq_ = headers.xrc_eth.xrcsrq;
    }
    if (role.send) {
        if (const WcStatus status = place_send(*domain, payload); status != WcStatus::kSuccess) {
            return refuse_send(headers, role, *domain, status);
        }
    } else {
        if (!place_write(headers, write, payload)) {
            kind_ = Kind::kNone;
            return {.fault = Fault::kRemoteOperational};
        }
        write_ = write;
    }
    return role.last ? finish(headers, role, domain.value_or(Domain{})) : Accepted{};
}

void InboundMessage::end_receive(WcStatus status) {
    if (held_) {
        core_.context.complete(held_cq_,
                               {.wr_id = receive_.wr_id,
                                .qpn = core_.qpn,
                                .status = status,
                                .opcode = WcOpcode::kRecv,
                                .is_receive = true},
                               false);
        held_ = false;
    }
}

/// Keeps the receive request for the next message (IBA vol. 1, 9.9.6.3, class D). A request of a
/// shared receive queue completes with an error instead, since the next message of that queue may
/// be for another queue pair (class E).
void InboundMessage::abandon() {
    kind_ = Kind::kNone;
    if (core_.init.srq) {
        end_receive(WcStatus::kRemInvReqErr);
    }
}

void InboundMessage::flush() {
    kind_ = Kind::kNone;
    end_receive(WcStatus::kWrFlushErr);
}

}  // namespace softib::hca
