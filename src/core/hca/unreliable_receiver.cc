// SPDX-License-Identifier: BSD-2-Clause
#include "core/hca/unreliable_receiver.h"

#include "core/hca/send_queue.h"
#include "core/wire/packet/roce.h"

namespace softib::hca {

void UcReceiver::start() {
    expected_ = Psn{core_.attr.rq_psn & kPsnMask};
    inbound_.reset();
}

void UcReceiver::give_up() {
    inbound_.abandon();
    core_.context.count(Counted::kLostMessage);
}

void UcReceiver::handle_packet(const wire::PacketHeaders& headers, wire::Operation operation,
                               const Payload& payload) {
    const bool first = role_of(operation).first;
    const bool gap = headers.bth.psn != expected_;
    expected_ = headers.bth.psn + 1;
    if (inbound_.active() && (first || gap)) {
        give_up();
    }
    if (!first && !inbound_.active()) {
        core_.context.count(Counted::kOutOfSequence);
        return;
    }
    const Accepted accepted = inbound_.accept(headers, operation, payload);
    switch (accepted.fault) {
        case Fault::kNone:
            return;
        case Fault::kNotReady:
            core_.context.count(Counted::kNotReady);
            break;
        case Fault::kTooLong:
            core_.context.count(Counted::kLostMessage);
            break;
        case Fault::kRemoteAccess:
            core_.context.count(Counted::kAccessViolation);
            break;
        default:
            core_.context.count(Counted::kInvalidRequest);
            break;
    }
    inbound_.abandon();
    if (accepted.receive_failed) {
        core_.fail(AsyncKind::kQpReqErr);
    }
}

namespace {

constexpr std::uint32_t kGrhBytes = wire::Grh::kBytes;

WcStatus place_datagram(QpCore& core, Pd pd, const TakenReceive& receive,
                        const wire::PacketHeaders& headers, const Payload& payload) {
    const auto sges = receive.places();
    std::array<std::uint8_t, kGrhBytes> grh{};
    if (headers.grh && core.context.port.link_layer == LinkLayer::kEthernet) {
        grh = wire::roce_network_header(*headers.grh);
    } else if (headers.grh) {
        wire::emit(*headers.grh, std::span(grh));
    }
    const bool placed = scatter_into(core.context, pd, sges, 0, Payload(grh)) == Scattered::kAll &&
                        scatter_into(core.context, pd, sges, kGrhBytes, payload) == Scattered::kAll;
    return placed ? WcStatus::kSuccess : WcStatus::kLocProtErr;
}

}  // namespace

void receive_datagram(QpCore& core, ReceiveQueue* own, const wire::PacketHeaders& headers,
                      const Payload& payload) {
    TakenReceive receive;
    const auto domain = domain_of(core, headers);
    const bool found = domain->srq ? core.context.take(*domain->srq, receive)
                                   : own != nullptr && own->look(receive);
    if (!found) {
        core.context.count(Counted::kNobodyListens);
        return;
    }
    const bool fits = room_in(receive.places()) >= std::uint64_t{kGrhBytes} + payload.length();
    if (!fits) {
        core.context.count(Counted::kLostMessage);
    }
    if (!domain->srq) {
        if (!fits) {
            return;  // The request waits for the next datagram (IBA vol. 1, 9.9.6.3, class D).
        }
        own->drop();
    }
    const WcStatus status = fits ? place_datagram(core, domain->receive, receive, headers, payload)
                                 : WcStatus::kLocLenErr;
    const Port& port = core.context.port;
    Completion done{.wr_id = receive.wr_id,
                    .qpn = core.qpn,
                    .status = status,
                    .opcode = WcOpcode::kRecv,
                    .is_receive = true,
                    .byte_len = kGrhBytes + payload.length(),
                    .src_qp = headers.deth.src_qp,
                    .slid = headers.lrh.slid,
                    .sl = headers.lrh.sl,
                    .pkey_index = core.attr.pkey_index};
    if (!is_multicast(headers.lrh.dlid)) {
        done.dlid_path_bits =
            static_cast<std::uint8_t>(headers.lrh.dlid.value & ((1U << port.lmc) - 1));
    }
    done.flags = headers.grh ? kWcGrh : 0;
    if (headers.grh && port.link_layer == LinkLayer::kEthernet) {
        done.sl = wire::roce_packet_kind(*headers.grh);
    }
    const auto info = wire::opcode_info(headers.bth.opcode);
    if (info && (info->headers & wire::extended::kImmDt) != 0) {
        done.flags |= kWcWithImm;
        done.imm_or_rkey = headers.imm_dt.imm_dt;
    }
    core.context.complete(core.init.recv_cq, done, headers.bth.se);
    if (stops_receiving(QpType::kUd, status)) {
        core.fail();  // The receive request had an invalid L_Key.
    }
}

}  // namespace softib::hca
