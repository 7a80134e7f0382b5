// SPDX-License-Identifier: BSD-2-Clause
#include "core/hca/context.h"

namespace softib::hca {

namespace {

constexpr std::uint32_t kWordBytes = 4;

}  // namespace

std::string_view to_string(Counted counted) {
    constexpr std::array<std::string_view, kCountedKinds> kNames{
        "bad LID",           "bad GRH",           "no QP",
        "wrong service",     "wrong state",       "bad P_Key",
        "bad Q_Key",         "bad length",        "out of sequence",
        "duplicate",         "unknown duplicate", "ghost",
        "bad response",      "invalid request",   "access violation",
        "operational error", "not ready",         "nobody listens",
        "lost message",      "timeout",           "retransmit",
        "CQ overrun",        "event lost",        "BECN"};
    const auto index = static_cast<std::size_t>(counted);
    return index < kNames.size() ? kNames[index] : "?";
}

void Context::complete(CqId cq, const Completion& completion, bool solicited) {
    if (sink != nullptr) {
        sink->complete(cq, completion, solicited);
        return;
    }
    const bool before = cqs[cq.value].overrun();
    switch (cqs[cq.value].push(completion, solicited)) {
        case CompletionQueue::Pushed::kQuietly:
            return;
        case CompletionQueue::Pushed::kNotify:
            if (events_count == events.size()) {
                count(Counted::kEventLost);
                return;
            }
            events[(events_head + events_count++) % events.size()] = {
                .kind = Event::Kind::kCompletion, .id = cq.value};
            return;
        case CompletionQueue::Pushed::kOverrun:
            count(Counted::kCqOverrun);
            if (!before) {
                raise(AsyncKind::kCqErr, cq.value);
            }
            cq_overrun = true;
            return;
    }
}

void Context::raise(AsyncKind kind, std::uint32_t id) {
    if (events_count == events.size()) {
        count(Counted::kEventLost);
        return;
    }
    events[(events_head + events_count++) % events.size()] = {
        .kind = Event::Kind::kAsync, .async = kind, .id = id};
}

bool Context::take(SrqId id, TakenReceive& out) {
    SharedReceiveQueue* shared = srq(id);
    if (shared == nullptr || !shared->queue.take(out)) {
        return false;
    }
    if (shared->queue.size() < shared->limit) {
        shared->limit = 0;
        raise(AsyncKind::kSrqLimitReached, id.value);
    }
    return true;
}

wire::Transport transport_of(QpType type) {
    switch (type) {
        case QpType::kUc:
            return wire::Transport::kUc;
        case QpType::kUd:
            return wire::Transport::kUd;
        case QpType::kXrcSend:
        case QpType::kXrcRecv:
            return wire::Transport::kXrc;
        case QpType::kRc:
            break;
    }
    return wire::Transport::kRc;
}

bool is_response(wire::Operation operation) {
    return operation >= wire::Operation::kReadResponseFirst &&
           operation <= wire::Operation::kAtomicAcknowledge;
}

void QpCore::begin(wire::PacketHeaders& headers, wire::Operation operation, Psn psn) const {
    headers = {};
    set_address(headers, attr.av, context.port);
    headers.bth.opcode = wire::opcode(transport(), operation);
    headers.bth.p_key = context.pkey(attr.pkey_index);
    headers.bth.dest_qp = Qpn{attr.dest_qpn};
    headers.bth.psn = psn;
    headers.bth.m = attr.path_mig_state == 0;  // 0 is Migrated: no alternate path is armed.
}

namespace {

/// Copies the payload to its place in a packet whose BTH is at `bth`. Returns std::nullopt if there
/// is no room.
std::optional<std::span<const std::uint8_t>> gather(const Transmit& transmit, std::size_t bth,
                                                    std::span<std::uint8_t> out) {
    const auto info = wire::opcode_info(transmit.headers.bth.opcode);
    const std::size_t at = bth + wire::Bth::kBytes + (info ? info->header_bytes() : 0);
    if (out.size() < at + transmit.payload.length()) {
        return std::nullopt;
    }
    const auto payload = out.subspan(at, transmit.payload.length());
    transmit.payload.copy_to(payload);
    return payload;
}

}  // namespace

std::expected<std::size_t, wire::PacketError> emit_packet(const Transmit& transmit,
                                                          std::span<std::uint8_t> out) {
    const wire::PacketHeaders& headers = transmit.headers;
    const auto payload =
        gather(transmit, wire::Lrh::kBytes + (headers.grh ? wire::Grh::kBytes : 0), out);
    if (!payload) {
        return std::unexpected(wire::PacketError::kTooShort);
    }
    return wire::emit_packet(headers, *payload, out);
}

std::expected<std::size_t, wire::PacketError> emit_roce(const Transmit& transmit,
                                                        const wire::RoceFields& fields,
                                                        std::span<std::uint8_t> out) {
    const auto payload = gather(transmit, 0, out);
    if (!payload) {
        return std::unexpected(wire::PacketError::kTooShort);
    }
    return wire::emit_roce_payload(transmit.headers, fields, *payload, out);
}

void set_address(wire::PacketHeaders& headers, const AddressVector& to, const Port& port) {
    if (port.link_layer == LinkLayer::kInfiniBand) {
        headers.lrh.sl = to.sl % kServiceLevels;
        headers.lrh.dlid = to.dlid;
        const unsigned bits = to.path_bits & ((1U << port.lmc) - 1);
        headers.lrh.slid = Lid{static_cast<std::uint16_t>(port.lid.value | bits)};
    }
    if (to.global) {
        wire::Grh& grh = headers.grh.emplace();
        grh.tclass = to.traffic_class;
        grh.flow_label = to.flow_label & 0xFFFFF;
        grh.hop_lmt = to.hop_limit;
        grh.sgid = to.sgid_index < port.gids.size() ? port.gids[to.sgid_index] : Gid{};
        grh.dgid = to.dgid;
        headers.lrh.lnh = wire::LinkNextHeader::kGlobal;
    }
}

void set_lengths(wire::PacketHeaders& headers, std::uint32_t payload_bytes) {
    const auto info = wire::opcode_info(headers.bth.opcode);
    const std::uint32_t pad = (kWordBytes - payload_bytes % kWordBytes) % kWordBytes;
    const std::uint32_t behind_grh =
        static_cast<std::uint32_t>(wire::Bth::kBytes + (info ? info->header_bytes() : 0) +
                                   wire::kIcrcBytes) +
        payload_bytes + pad;
    headers.bth.pad_cnt = static_cast<std::uint8_t>(pad);
    std::uint32_t bytes = static_cast<std::uint32_t>(wire::Lrh::kBytes) + behind_grh;
    if (headers.grh) {
        headers.grh->pay_len = static_cast<std::uint16_t>(behind_grh);
        bytes += static_cast<std::uint32_t>(wire::Grh::kBytes);
    }
    headers.lrh.pkt_len = static_cast<std::uint16_t>(bytes / kWordBytes);
}

}  // namespace softib::hca
