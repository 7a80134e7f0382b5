// SPDX-License-Identifier: BSD-2-Clause
#include "core/wire/packet.h"

#include <algorithm>

#include "core/wire/bytes.h"
#include "core/wire/crc.h"
#include "core/wire/layout.h"

namespace softib::wire {

namespace {

constexpr std::size_t kWordBytes = 4;

/// Calls do_one(name, header) for those that the opcode has, in the order of the wire.
template <typename Headers, typename F>
void for_each_extended(Headers& headers, std::uint8_t bits, F do_one) {
    const auto look = [&](std::uint8_t bit, std::string_view name, auto& header) {
        if ((bits & bit) != 0) {
            do_one(name, header);
        }
    };
    look(extended::kXrcEth, "XRCETH", headers.xrc_eth);
    look(extended::kDeth, "DETH", headers.deth);
    look(extended::kReth, "RETH", headers.reth);
    look(extended::kAtomicEth, "AtomicETH", headers.atomic_eth);
    look(extended::kAeth, "AETH", headers.aeth);
    look(extended::kAtomicAckEth, "AtomicAckETH", headers.atomic_ack_eth);
    look(extended::kImmDt, "ImmDt", headers.imm_dt);
    look(extended::kIeth, "IETH", headers.ieth);
}

/// Takes headers off the front. Who calls has seen that there are enough bytes.
template <Attribute T>
T take(std::span<const std::uint8_t>& left) {
    const T value = parse<T>(left.first<T::kBytes>());
    left = left.subspan(T::kBytes);
    return value;
}

template <Attribute T>
void put(const T& value, std::span<std::uint8_t>& left) {
    emit(value, left.first<T::kBytes>());
    left = left.subspan(T::kBytes);
}

/// What every port looks at first (IBA vol. 1, 7.3).
std::expected<void, PacketError> check_link(const Lrh& lrh, std::span<const std::uint8_t> bytes) {
    const auto covered = bytes.first(bytes.size() - kVcrcBytes);
    if (load_be<std::uint16_t>(bytes.data() + covered.size()) != vcrc(covered)) {
        return std::unexpected(PacketError::kVcrc);
    }
    if (lrh.lver != 0) {
        return std::unexpected(PacketError::kLinkVersion);
    }
    if (covered.size() != lrh.pkt_len * kWordBytes) {
        return std::unexpected(PacketError::kLength);
    }
    return {};
}

std::expected<void, PacketError> check_grh(const Grh& grh, std::size_t bytes_behind) {
    if (grh.ip_ver != kGrhIpVersion || grh.nxt_hdr != kGrhNextHeaderIba) {
        return std::unexpected(PacketError::kNotIba);
    }
    if (grh.pay_len != bytes_behind) {
        return std::unexpected(PacketError::kLength);
    }
    return {};
}

/// BTH, extended headers and payload; `left` ends before the ICRC.
std::expected<void, PacketError> parse_transport(std::span<const std::uint8_t> left,
                                                 Packet& packet) {
    PacketHeaders& headers = packet.headers;
    headers.bth = take<Bth>(left);
    if (headers.bth.tver != 0) {
        return std::unexpected(PacketError::kTransportVersion);
    }
    const auto info = opcode_info(headers.bth.opcode);
    if (!info) {
        return std::unexpected(PacketError::kOpcode);
    }
    if (left.size() < info->header_bytes()) {
        return std::unexpected(PacketError::kTooShort);
    }
    for_each_extended(headers, info->headers,
                      [&]<typename T>(std::string_view, T& header) { header = take<T>(left); });
    const std::size_t pad = headers.bth.pad_cnt;
    if (left.size() < pad || left.size() - pad > kPayloadBytesMax ||
        (!info->has_payload && !left.empty())) {
        return std::unexpected(PacketError::kPayload);
    }
    packet.payload = left.first(left.size() - pad);
    return {};
}

}  // namespace

std::string_view to_string(PacketError error) {
    switch (error) {
        case PacketError::kTooShort:
            return "too short";
        case PacketError::kVcrc:
            return "wrong VCRC";
        case PacketError::kLinkVersion:
            return "unknown LVer";
        case PacketError::kLength:
            return "wrong length";
        case PacketError::kNotIba:
            return "no IBA transport";
        case PacketError::kIcrc:
            return "wrong ICRC";
        case PacketError::kTransportVersion:
            return "unknown TVer";
        case PacketError::kOpcode:
            return "unknown opcode";
        case PacketError::kPayload:
            return "wrong payload";
    }
    return "?";
}

std::string to_string(const PacketHeaders& headers) {
    std::string line = "LRH " + to_string(headers.lrh);
    if (headers.grh) {
        line += " GRH " + to_string(*headers.grh);
    }
    line += " BTH " + to_string(headers.bth);
    if (const auto info = opcode_info(headers.bth.opcode)) {
        for_each_extended(headers, info->headers, [&](std::string_view name, const auto& header) {
            line += " ";
            line += name;
            line += " " + to_string(header);
        });
    }
    return line;
}

std::expected<Packet, PacketError> parse_packet(std::span<const std::uint8_t> bytes) {
    if (bytes.size() < Lrh::kBytes + Bth::kBytes + kIcrcBytes + kVcrcBytes) {
        return std::unexpected(PacketError::kTooShort);
    }
    Packet packet;
    std::span<const std::uint8_t> left = bytes;
    packet.headers.lrh = take<Lrh>(left);
    if (const auto good = check_link(packet.headers.lrh, bytes); !good) {
        return std::unexpected(good.error());
    }
    left = left.first(left.size() - kVcrcBytes);
    const bool global = packet.headers.lrh.lnh == LinkNextHeader::kGlobal;
    if (!global && packet.headers.lrh.lnh != LinkNextHeader::kLocal) {
        return std::unexpected(PacketError::kNotIba);
    }
    if (global) {
        if (left.size() < Grh::kBytes + Bth::kBytes + kIcrcBytes) {
            return std::unexpected(PacketError::kTooShort);
        }
        packet.headers.grh = take<Grh>(left);
        if (const auto good = check_grh(*packet.headers.grh, left.size()); !good) {
            return std::unexpected(good.error());
        }
    }
    const auto covered = bytes.first(bytes.size() - kIcrcBytes - kVcrcBytes);
    if (load_be<std::uint32_t>(bytes.data() + covered.size()) != icrc(covered)) {
        return std::unexpected(PacketError::kIcrc);
    }
    if (const auto good = parse_transport(left.first(left.size() - kIcrcBytes), packet); !good) {
        return std::unexpected(good.error());
    }
    return packet;
}

std::expected<std::size_t, PacketError> emit_packet(const PacketHeaders& headers,
                                                    std::span<const std::uint8_t> payload,
                                                    std::span<std::uint8_t> out) {
    const auto info = opcode_info(headers.bth.opcode);
    if (!info) {
        return std::unexpected(PacketError::kOpcode);
    }
    if (payload.size() > kPayloadBytesMax || (!info->has_payload && !payload.empty())) {
        return std::unexpected(PacketError::kPayload);
    }
    const std::size_t pad = (kWordBytes - payload.size() % kWordBytes) % kWordBytes;
    const std::size_t behind_grh =
        Bth::kBytes + info->header_bytes() + payload.size() + pad + kIcrcBytes;
    const std::size_t before_vcrc = Lrh::kBytes + (headers.grh ? Grh::kBytes : 0) + behind_grh;
    if (out.size() < before_vcrc + kVcrcBytes) {
        return std::unexpected(PacketError::kTooShort);
    }
    std::span<std::uint8_t> left = out;
    Lrh lrh = headers.lrh;
    lrh.lver = 0;
    lrh.lnh = headers.grh ? LinkNextHeader::kGlobal : LinkNextHeader::kLocal;
    lrh.pkt_len = static_cast<std::uint16_t>(before_vcrc / kWordBytes);
    put(lrh, left);
    if (headers.grh) {
        Grh grh = *headers.grh;
        grh.ip_ver = kGrhIpVersion;
        grh.nxt_hdr = kGrhNextHeaderIba;
        grh.pay_len = static_cast<std::uint16_t>(behind_grh);
        put(grh, left);
    }
    Bth bth = headers.bth;
    bth.tver = 0;
    bth.pad_cnt = static_cast<std::uint8_t>(pad);
    put(bth, left);
    for_each_extended(headers, info->headers,
                      [&](std::string_view, const auto& header) { put(header, left); });
    if (payload.data() != left.data()) {
        std::ranges::copy(payload, left.begin());
    }
    std::ranges::fill(left.subspan(payload.size(), pad), std::uint8_t{0});
    store_be(&out[before_vcrc - kIcrcBytes], icrc(out.first(before_vcrc - kIcrcBytes)));
    store_be(&out[before_vcrc], vcrc(out.first(before_vcrc)));
    return before_vcrc + kVcrcBytes;
}

std::expected<FlowControlPacket, PacketError> parse_flow_control(
    std::span<const std::uint8_t> bytes) {
    if (bytes.size() != FlowControlPacket::kBytes) {
        return std::unexpected(bytes.size() < FlowControlPacket::kBytes ? PacketError::kTooShort
                                                                        : PacketError::kLength);
    }
    const auto packet = parse<FlowControlPacket>(bytes.first<FlowControlPacket::kBytes>());
    if (packet.lpcrc != vcrc(bytes.first(kWordBytes))) {
        return std::unexpected(PacketError::kVcrc);
    }
    return packet;
}

void emit_flow_control(FlowControlPacket packet,
                       std::span<std::uint8_t, FlowControlPacket::kBytes> out) {
    emit(packet, out);
    packet.lpcrc = vcrc(out.first(kWordBytes));
    emit(packet, out);
}

}  // namespace softib::wire
