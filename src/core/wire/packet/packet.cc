// SPDX-License-Identifier: BSD-2-Clause
#include "core/wire/packet/packet.h"

#include "core/wire/format/bytes.h"
#include "core/wire/format/layout.h"
#include "core/wire/packet/crc.h"
#include "core/wire/packet/packet_body.h"

namespace softib::wire {

namespace {

/// The bytes of the shortest packet, without its VCRC.
constexpr std::size_t kBytesMin = Lrh::kBytes + Bth::kBytes + kIcrcBytes;

/// Makes the first checks of a receiving port (IBA vol. 1, 7.3). `bytes` is the length without
/// VCRC.
std::expected<void, PacketError> check_link(const Lrh& lrh, std::size_t bytes) {
    if (lrh.lver != 0) {
        return std::unexpected(PacketError::kLinkVersion);
    }
    if (bytes != lrh.pkt_len * kWordBytes) {
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
        case PacketError::kNotRoce:
            return "no RoCEv2";
        case PacketError::kIpChecksum:
            return "wrong IPv4 check sum";
        case PacketError::kUdpChecksum:
            return "wrong UDP check sum";
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
    if (bytes.size() < kBytesMin + kVcrcBytes) {
        return std::unexpected(PacketError::kTooShort);
    }
    const auto covered = bytes.first(bytes.size() - kVcrcBytes);
    if (load_be<std::uint16_t>(bytes.data() + covered.size()) != vcrc(covered)) {
        return std::unexpected(PacketError::kVcrc);
    }
    return parse_without_vcrc(covered);
}

std::expected<Packet, PacketError> parse_without_vcrc(std::span<const std::uint8_t> bytes) {
    if (bytes.size() < kBytesMin) {
        return std::unexpected(PacketError::kTooShort);
    }
    Packet packet;
    std::span<const std::uint8_t> left = bytes;
    packet.headers.lrh = take<Lrh>(left);
    if (const auto good = check_link(packet.headers.lrh, bytes.size()); !good) {
        return std::unexpected(good.error());
    }
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
    const auto covered = bytes.first(bytes.size() - kIcrcBytes);
    if (load_be<std::uint32_t>(bytes.data() + covered.size()) != icrc(covered)) {
        return std::unexpected(PacketError::kIcrc);
    }
    if (const auto good = parse_body(left.first(left.size() - kIcrcBytes), packet); !good) {
        return std::unexpected(good.error());
    }
    return packet;
}

std::expected<std::size_t, PacketError> emit_packet(const PacketHeaders& headers,
                                                    std::span<const std::uint8_t> payload,
                                                    std::span<std::uint8_t> out) {
    if (out.size() < kVcrcBytes) {
        return std::unexpected(PacketError::kTooShort);
    }
    const auto bytes = emit_without_vcrc(headers, payload, out.first(out.size() - kVcrcBytes));
    if (!bytes) {
        return bytes;
    }
    store_be(&out[*bytes], vcrc(out.first(*bytes)));
    return *bytes + kVcrcBytes;
}

std::expected<std::size_t, PacketError> emit_without_vcrc(const PacketHeaders& headers,
                                                          std::span<const std::uint8_t> payload,
                                                          std::span<std::uint8_t> out) {
    const auto body = body_bytes(headers, payload.size());
    if (!body) {
        return std::unexpected(body.error());
    }
    const std::size_t behind_grh = *body + kIcrcBytes;
    const std::size_t before_vcrc = Lrh::kBytes + (headers.grh ? Grh::kBytes : 0) + behind_grh;
    if (out.size() < before_vcrc) {
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
    emit_body(headers, payload, left.first(*body));
    store_be(&out[before_vcrc - kIcrcBytes], icrc(out.first(before_vcrc - kIcrcBytes)));
    return before_vcrc;
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
