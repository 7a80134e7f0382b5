// SPDX-License-Identifier: BSD-2-Clause
#include "core/agent/outbound.h"

#include <algorithm>

#include "core/wire/format/bytes.h"

namespace softib::agent {

namespace {

using wire::load_be;
using wire::store_be;

constexpr std::uint32_t kQpnMask = 0xFFFFFF;
constexpr std::size_t kMadAt = kOutboundBytes - wire::kMadBytes;

}  // namespace

std::array<std::uint8_t, kOutboundBytes> emit_outbound(const Outbound& outbound) {
    const mad::Packet& packet = outbound.packet;
    std::array<std::uint8_t, kOutboundBytes> out{};
    out[0] = outbound.by_lid ? 1 : 0;
    out[1] = packet.sl;
    store_be(&out[2], packet.slid.value);
    store_be(&out[4], packet.dlid.value);
    store_be(&out[6], packet.pkey.value);
    store_be(&out[8], packet.source.value);
    store_be(&out[12], packet.destination.value);
    store_be(&out[16], packet.qkey.value);
    std::ranges::copy(packet.mad, out.begin() + kMadAt);
    return out;
}

std::optional<Outbound> parse_outbound(std::span<const std::uint8_t> bytes, NodeId node) {
    if (bytes.size() != kOutboundBytes || bytes[0] > 1 || bytes[1] > 15) {
        return std::nullopt;
    }
    Outbound in{.node = node, .by_lid = bytes[0] == 1, .packet = {}};
    in.packet.sl = bytes[1];
    in.packet.slid = Lid{load_be<std::uint16_t>(&bytes[2])};
    in.packet.dlid = Lid{load_be<std::uint16_t>(&bytes[4])};
    in.packet.pkey = PKey{load_be<std::uint16_t>(&bytes[6])};
    in.packet.source = Qpn{load_be<std::uint32_t>(&bytes[8]) & kQpnMask};
    in.packet.destination = Qpn{load_be<std::uint32_t>(&bytes[12]) & kQpnMask};
    in.packet.qkey = QKey{load_be<std::uint32_t>(&bytes[16])};
    std::ranges::copy(bytes.subspan(kMadAt), in.packet.mad.begin());
    return in;
}

}  // namespace softib::agent
