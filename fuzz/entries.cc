// SPDX-License-Identifier: BSD-2-Clause
#include "entries.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/wire/any_format.h"
#include "core/wire/cc/cc.h"
#include "core/wire/format/bytes.h"
#include "core/wire/packet/crc.h"
#include "core/wire/packet/packet.h"
#include "core/wire/packet/roce.h"
#include "core/wire/sa/multi_path_record.h"
#include "core/wire/sa/sa.h"
#include "core/wire/sm/smp.h"
#include "http_entries.h"
#include "management_entries.h"
#include "sharp_entries.h"
#include "transport_entries.h"
#include "trunk_entries.h"

namespace softib::fuzz {

namespace {

using namespace softib::wire;
using Input = std::span<const std::uint8_t>;

/// Parses an attribute. Returns whether input that is too short is refused; otherwise whether the
/// value is the same after emit and parse, the bytes are the same except for reserved bits, and the
/// value can be printed and compared.
bool format_holds(const AnyFormat& format, Input input) {
    if (!format.parses(input)) {
        return input.size() < format.bytes;
    }
    std::vector<std::uint8_t> emitted(input.begin(), input.end());
    format.copy(input, emitted);
    for (std::size_t i = 0; i < input.size(); ++i) {
        const std::uint8_t mask = i < format.bytes ? format.mask[i] : 0xFF;
        if (emitted[i] != (input[i] & mask)) {
            return false;
        }
    }
    return format.same(emitted, input) && !format.text(input).empty() &&
           format.matches(input, input, ~std::uint64_t{0});
}

/// Returns whether a view opens on 256 bytes and on no other size, and writes back what it read.
bool views_hold(Input input) {
    std::vector<std::uint8_t> bytes(input.begin(), input.end());
    const auto mad = Mad<std::uint8_t>::checked(bytes);
    const auto smp = Smp<std::uint8_t>::checked(bytes);
    const auto sa = Sa<std::uint8_t>::checked(bytes);
    const auto cc = Cc<std::uint8_t>::checked(bytes);
    if (!mad || !smp || !sa || !cc) {
        return bytes.size() != kMadBytes && !mad && !smp && !sa && !cc;
    }
    const auto repr = MadRepr::parse(*Mad<const std::uint8_t>::checked(input));
    repr.emit(*mad);
    smp->set_direction(smp->direction());
    smp->set_status(smp->status());
    smp->set_mkey(smp->mkey());
    smp->set_dr_slid(smp->dr_slid());
    smp->set_dr_dlid(smp->dr_dlid());
    cc->set_cc_key(cc->cc_key());
    const auto rmpp = sa->rmpp();
    sa->set_rmpp(rmpp);
    return !to_string(repr).empty() && std::ranges::equal(bytes, input) && sa->rmpp() == rmpp;
}

bool multi_path_gids_hold(Input input) {
    const auto record = parse<MultiPathRecord>(input);
    if (!record) {
        return true;
    }
    const std::size_t count = std::size_t{record->sgid_count} + record->dgid_count;
    const auto gids = parse_multi_path_gids(*record, input);
    const bool enough = input.size() >= MultiPathRecord::kBytes + 16 * count;
    return gids ? enough && gids->size() == count : !enough;
}

/// Parses a packet. Returns whether a packet that parses has its payload inside the input, and is
/// the same after emit and parse.
bool parsed_packet_holds(Input input) {
    const auto packet = parse_packet(input);
    if (!packet) {
        return to_string(packet.error()) != "?";
    }
    std::vector<std::uint8_t> emitted(input.size());
    if (emit_packet(packet->headers, packet->payload, emitted) != input.size()) {
        return false;
    }
    const auto again = parse_packet(emitted);
    return again && again->headers == packet->headers &&
           std::ranges::equal(again->payload, packet->payload) &&
           !to_string(packet->headers).empty();
}

/// Parses the input as a packet: unchanged, and with valid lengths, versions and CRCs, which random
/// bytes never have.
bool packets_hold(Input input) {
    const auto flow_control = parse_flow_control(input);
    const bool holds = parsed_packet_holds(input) && (!flow_control || input.size() == 6) &&
                       icrc_of_datagram(input).has_value() <= (input.size() >= 40);
    std::vector<std::uint8_t> bytes(input.begin(), input.end());
    bytes.resize(bytes.size() - bytes.size() % 4 + kVcrcBytes);
    constexpr std::size_t kLeast = Lrh::kBytes + Bth::kBytes + kIcrcBytes + kVcrcBytes;
    if (!holds || bytes.size() < kLeast) {
        return holds && parsed_packet_holds(bytes);
    }
    std::size_t bth = Lrh::kBytes;
    bytes[0] &= 0xF0;
    store_be(&bytes[4], static_cast<std::uint16_t>(bytes.size() / 4 & 0x7FF));
    if ((bytes[1] & 3) == 3 && bytes.size() >= kLeast + Grh::kBytes) {
        bytes[8] = static_cast<std::uint8_t>(0x60 | (bytes[8] & 0x0F));
        store_be(&bytes[12], static_cast<std::uint16_t>(bytes.size() - 50));
        bytes[14] = kGrhNextHeaderIba;
        bth += Grh::kBytes;
    }
    bytes[bth + 1] &= 0xF0;
    const std::size_t end = bytes.size() - kVcrcBytes - kIcrcBytes;
    store_be(&bytes[end], icrc(std::span(bytes).first(end)));
    store_be(&bytes[end + kIcrcBytes], vcrc(std::span(bytes).first(end + kIcrcBytes)));
    return parsed_packet_holds(bytes);
}

/// Parses a RoCEv2 frame. Returns whether a frame that parses is the same after emit and parse,
/// except for padding and the UDP checksum, which are not kept.
bool parsed_frame_holds(Input input) {
    const auto frame = parse_roce_frame(input);
    if (!frame) {
        return to_string(frame.error()) != "?";
    }
    std::vector<std::uint8_t> emitted(input.size());
    const auto size = emit_roce_frame(*frame, emitted);
    if (!size) {
        return false;
    }
    const auto again = parse_roce_frame(std::span(emitted).first(*size));
    return again && again->ethernet == frame->ethernet && again->vlan == frame->vlan &&
           again->roce.fields == frame->roce.fields &&
           again->roce.packet.headers == frame->roce.packet.headers &&
           std::ranges::equal(again->roce.packet.payload, frame->roce.packet.payload);
}

/// Parses the input as RoCEv2: unchanged; as the payload of a socket, from random addresses; and
/// with valid types, lengths and checksums, which random bytes never have. The first byte chooses
/// IPv4 or IPv6.
bool roce_holds(Input input) {
    const auto route = parse<Grh>(input);
    if (!parsed_frame_holds(input) || !route) {
        return parsed_frame_holds(input);
    }
    const auto packet = parse_roce_payload(input.subspan(Grh::kBytes), *route, {}, CheckIcrc::kNo);
    if (packet && packet->headers.grh->dgid != route->dgid) {
        return false;
    }
    const bool ipv4 = input[0] % 2 == 0;
    const std::size_t ip_bytes = ipv4 ? Ipv4Header::kBytes : Grh::kBytes;
    const std::size_t bth = EthernetHeader::kBytes + ip_bytes + UdpHeader::kBytes;
    std::vector<std::uint8_t> bytes(input.begin(), input.end());
    bytes.resize(bth + std::max<std::size_t>(bytes.size() / 4 * 4, Bth::kBytes + kIcrcBytes));
    const auto udp_payload = std::span(bytes).subspan(bth);
    bytes[bth + 1] &= 0xF0;
    RoceFrame frame;
    frame.roce.fields.source_port = input[1];
    Grh& grh = frame.roce.packet.headers.grh.emplace(*route);
    grh.sgid = ipv4 ? ipv4_gid(load_be<std::uint32_t>(&input[8])) : grh.sgid;
    grh.dgid = ipv4 ? ipv4_gid(load_be<std::uint32_t>(&input[12])) : grh.dgid;
    // Headers for a packet of this length are written; the bytes behind them stay the input's.
    frame.roce.packet.headers.bth.opcode = opcode(Transport::kRc, Operation::kSendOnly);
    const auto body = udp_payload.first(udp_payload.size() - kIcrcBytes);
    std::vector<std::uint8_t> tail(body.begin(), body.end());
    frame.roce.packet.payload = body.subspan(Bth::kBytes);
    if (emit_roce_frame(frame, bytes) != bytes.size()) {
        return is_ipv4(grh.sgid) != is_ipv4(grh.dgid) || body.size() > kPayloadBytesMax;
    }
    std::ranges::copy(tail, body.begin());
    const auto datagram = std::span(bytes).subspan(EthernetHeader::kBytes);
    const auto icrc = icrc_of_datagram(datagram.first(datagram.size() - kIcrcBytes));
    store_be(&bytes[bytes.size() - kIcrcBytes], icrc.value_or(0));
    return icrc && parsed_frame_holds(bytes);
}

std::vector<Entry> all_entries() {
    std::vector<Entry> all = {
        {"Packets", packets_hold},
        {"Roce", roce_holds},
        {"MadViews", views_hold},
        {"MultiPathGids", multi_path_gids_hold},
        {"RmppEndpoint", rmpp_endpoint_holds},
        {"SubnetAdmin", subnet_admin_holds},
        {"NodeAgents", node_agents_hold},
        {"Netlist", netlist_holds},
        {"Transport", transport_holds},
        {"Trunk", trunk_holds},
        {"Http", http_holds},
        {"SharpNode", sharp_holds},
    };
    for (const AnyFormat& format : all_formats()) {
        all.push_back({format.name, std::bind_front(format_holds, format)});
    }
    return all;
}

}  // namespace

std::span<const Entry> entries() {
    static const std::vector<Entry> kAll = all_entries();
    return kAll;
}

}  // namespace softib::fuzz
