// SPDX-License-Identifier: BSD-2-Clause
#include "core/wire/packet/packet_body.h"

#include <algorithm>
#include <cstring>

#include "core/wire/format/layout.h"

namespace softib::wire {

namespace {

std::size_t padding(std::size_t payload_bytes) {
    return (kWordBytes - payload_bytes % kWordBytes) % kWordBytes;
}

}  // namespace

std::expected<void, PacketError> parse_body(std::span<const std::uint8_t> left, Packet& packet) {
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

std::expected<std::size_t, PacketError> body_bytes(const PacketHeaders& headers,
                                                   std::size_t payload_bytes) {
    const auto info = opcode_info(headers.bth.opcode);
    if (!info) {
        return std::unexpected(PacketError::kOpcode);
    }
    if (payload_bytes > kPayloadBytesMax || (!info->has_payload && payload_bytes != 0)) {
        return std::unexpected(PacketError::kPayload);
    }
    return Bth::kBytes + info->header_bytes() + payload_bytes + padding(payload_bytes);
}

void emit_body(const PacketHeaders& headers, std::span<const std::uint8_t> payload,
               std::span<std::uint8_t> out) {
    Bth bth = headers.bth;
    bth.tver = 0;
    bth.pad_cnt = static_cast<std::uint8_t>(padding(payload.size()));
    put(bth, out);
    for_each_extended(headers, opcode_info(bth.opcode)->headers,
                      [&](std::string_view, const auto& header) { put(header, out); });
    if (payload.data() != out.data() && !payload.empty()) {
        std::memmove(out.data(), payload.data(), payload.size());  // Faster than a loop over bytes.
    }
    std::ranges::fill(out.subspan(payload.size(), bth.pad_cnt), std::uint8_t{0});
}

}  // namespace softib::wire
