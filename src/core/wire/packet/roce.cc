// SPDX-License-Identifier: BSD-2-Clause
#include "core/wire/packet/roce.h"

#include <algorithm>
#include <array>

#include "core/wire/format/bytes.h"
#include "core/wire/format/layout.h"
#include "core/wire/packet/crc.h"
#include "core/wire/packet/crc_shift.h"
#include "core/wire/packet/packet_body.h"

namespace softib::wire {

namespace {

constexpr std::size_t kIpv4At = 12;  // The place of an IPv4 address in its GID.
constexpr std::size_t kIpv4ChecksumAt = 10;
constexpr std::size_t kBodyBytesMin = Bth::kBytes + kIcrcBytes;

/// The Internet checksum of RFC 1071, before its final complement.
class InternetSum {
  public:
    void add(std::span<const std::uint8_t> bytes) {
        for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
            add(load_be<std::uint16_t>(&bytes[i]));
        }
        if (bytes.size() % 2 != 0) {
            add(static_cast<std::uint16_t>(bytes.back() << 8));
        }
    }
    void add(std::uint16_t word) { sum_ += word; }
    std::uint16_t folded() const {
        std::uint64_t sum = sum_;
        while (sum > 0xFFFF) {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        return static_cast<std::uint16_t>(sum);
    }

  private:
    std::uint64_t sum_ = 0;
};

constexpr std::uint16_t kSumIsRight = 0xFFFF;

std::uint32_t ipv4_of(const Gid& gid) {
    return load_be<std::uint32_t>(&gid.bytes[kIpv4At]);
}

/// The IP and UDP headers of a packet.
struct Outer {
    std::array<std::uint8_t, Grh::kBytes + UdpHeader::kBytes> buffer{};
    std::size_t size = 0;

    std::span<const std::uint8_t> bytes() const { return std::span(buffer).first(size); }
};

/// Whether to compute the IPv4 checksum, which the ICRC does not cover.
enum class IpCheckSum : std::uint8_t { kNo, kYes };

/// Returns the IP and UDP headers of a datagram with `udp_payload` bytes of payload; std::nullopt
/// if the two addresses are of different families.
std::optional<Outer> outer_headers(const Grh& route, const RoceFields& fields,
                                   std::size_t udp_payload, IpCheckSum check_sum) {
    if (is_ipv4(route.sgid) != is_ipv4(route.dgid)) {
        return std::nullopt;
    }
    Outer outer;
    std::span<std::uint8_t> left = outer.buffer;
    const UdpHeader udp{.source_port = fields.source_port,
                        .destination_port = kRocePort,
                        .bytes = static_cast<std::uint16_t>(UdpHeader::kBytes + udp_payload)};
    if (is_ipv4(route.sgid)) {
        const Ipv4Header ip{
            .tos = route.tclass,
            .total_bytes = static_cast<std::uint16_t>(Ipv4Header::kBytes + udp.bytes),
            .id = fields.ipv4_id,
            .dont_fragment = fields.ipv4_dont_fragment,
            .ttl = route.hop_lmt,
            .source = ipv4_of(route.sgid),
            .destination = ipv4_of(route.dgid)};
        put(ip, left);
        if (check_sum == IpCheckSum::kYes) {
            InternetSum sum;
            sum.add(std::span(outer.buffer).first<Ipv4Header::kBytes>());
            store_be(&outer.buffer[kIpv4ChecksumAt], static_cast<std::uint16_t>(~sum.folded()));
        }
    } else {
        Grh ip = route;
        ip.ip_ver = kGrhIpVersion;
        ip.pay_len = udp.bytes;
        ip.nxt_hdr = kIpProtocolUdp;
        put(ip, left);
    }
    put(udp, left);
    outer.size = outer.buffer.size() - left.size();
    return outer;
}

/// Removes the IPv4 header from `left` and returns it as a GRH.
std::expected<Grh, PacketError> take_ipv4(std::span<const std::uint8_t>& left, RoceFields& fields) {
    if (left.size() < Ipv4Header::kBytes) {
        return std::unexpected(PacketError::kTooShort);
    }
    InternetSum sum;
    sum.add(left.first<Ipv4Header::kBytes>());
    const std::size_t size = left.size();
    const auto ip = take<Ipv4Header>(left);
    if (ip.header_words * kWordBytes != Ipv4Header::kBytes || ip.protocol != kIpProtocolUdp ||
        ip.more_fragments || ip.fragment_offset != 0) {
        return std::unexpected(PacketError::kNotRoce);
    }
    if (sum.folded() != kSumIsRight) {
        return std::unexpected(PacketError::kIpChecksum);
    }
    if (ip.total_bytes != size) {
        return std::unexpected(PacketError::kLength);
    }
    fields.ipv4_id = ip.id;
    fields.ipv4_dont_fragment = ip.dont_fragment;
    return Grh{.tclass = ip.tos,
               .hop_lmt = ip.ttl,
               .sgid = ipv4_gid(ip.source),
               .dgid = ipv4_gid(ip.destination)};
}

std::expected<Grh, PacketError> take_ipv6(std::span<const std::uint8_t>& left) {
    if (left.size() < Grh::kBytes) {
        return std::unexpected(PacketError::kTooShort);
    }
    const auto ip = take<Grh>(left);
    // An IPv4-mapped address must not be in an IPv6 header (RFC 4291, 2.5.5.2).
    if (ip.nxt_hdr != kIpProtocolUdp || is_ipv4(ip.sgid) || is_ipv4(ip.dgid)) {
        return std::unexpected(PacketError::kNotRoce);
    }
    if (ip.pay_len != left.size()) {
        return std::unexpected(PacketError::kLength);
    }
    return ip;
}

/// Returns whether an ICRC is wrong only because the IPv4 header had another Identification.
/// `bytes` is the number of bytes from that header to the ICRC.
bool is_explained_by_id(std::uint32_t difference, std::size_t bytes) {
    constexpr std::size_t kIdAt = 4;
    return icrc_cause(difference, bytes - kIdAt) >> 16 == 0;
}

/// Checks the UDP checksum, which also covers a pseudo header of addresses, protocol and length
/// (RFC 768; RFC 8200, 8.1).
bool udp_checksum_is_right(const Grh& route, std::span<const std::uint8_t> udp_datagram) {
    InternetSum sum;
    sum.add(is_ipv4(route.sgid) ? std::span(route.sgid.bytes).subspan(kIpv4At)
                                : std::span(route.sgid.bytes));
    sum.add(is_ipv4(route.dgid) ? std::span(route.dgid.bytes).subspan(kIpv4At)
                                : std::span(route.dgid.bytes));
    sum.add(kIpProtocolUdp);
    sum.add(static_cast<std::uint16_t>(udp_datagram.size()));
    sum.add(udp_datagram);
    return sum.folded() == kSumIsRight;
}

}  // namespace

bool is_ipv4(const Gid& gid) {
    return std::ranges::all_of(std::span(gid.bytes).first(10), [](auto b) { return b == 0; }) &&
           gid.bytes[10] == 0xFF && gid.bytes[11] == 0xFF;
}

Gid ipv4_gid(std::uint32_t address) {
    Gid gid{};
    gid.bytes[10] = 0xFF;
    gid.bytes[11] = 0xFF;
    store_be(&gid.bytes[kIpv4At], address);
    return gid;
}

std::array<std::uint8_t, Grh::kBytes> roce_network_header(const Grh& route) {
    std::array<std::uint8_t, Grh::kBytes> header{};
    if (const auto outer = outer_headers(route, {}, route.pay_len, IpCheckSum::kYes)) {
        const auto ip = outer->bytes().first(outer->size - UdpHeader::kBytes);
        std::ranges::copy(ip, header.end() - static_cast<std::ptrdiff_t>(ip.size()));
    }
    return header;
}

std::uint8_t roce_packet_kind(const Grh& route) {
    constexpr std::uint8_t kOverUdp = 8;
    constexpr std::uint8_t kIpv6 = 1;
    constexpr std::uint8_t kIpv4 = 2;
    return kOverUdp | (is_ipv4(route.dgid) ? kIpv4 : kIpv6);
}

std::expected<Packet, PacketError> parse_roce_payload(std::span<const std::uint8_t> bytes,
                                                      const Grh& route, const RoceFields& fields,
                                                      CheckIcrc check) {
    if (bytes.size() < kBodyBytesMin) {
        return std::unexpected(PacketError::kTooShort);
    }
    if (bytes.size() % kWordBytes != 0 || bytes.size() > kRoceBytesMax) {
        return std::unexpected(PacketError::kLength);
    }
    const auto body = bytes.first(bytes.size() - kIcrcBytes);
    if (check != CheckIcrc::kNo) {
        const auto outer = outer_headers(route, fields, bytes.size(), IpCheckSum::kNo);
        if (!outer) {
            return std::unexpected(PacketError::kNotRoce);
        }
        const std::uint32_t wrong =
            load_be<std::uint32_t>(&bytes[body.size()]) ^ icrc_of_datagram(outer->bytes(), body);
        const bool excused = wrong != 0 && check == CheckIcrc::kAnyIpv4Id && is_ipv4(route.sgid) &&
                             is_explained_by_id(wrong, outer->size + body.size());
        if (wrong != 0 && !excused) {
            return std::unexpected(PacketError::kIcrc);
        }
    }
    Packet packet;
    if (const auto good = parse_body(body, packet); !good) {
        return std::unexpected(good.error());
    }
    Grh& grh = packet.headers.grh.emplace(route);
    grh.ip_ver = kGrhIpVersion;
    grh.nxt_hdr = kGrhNextHeaderIba;
    grh.pay_len = static_cast<std::uint16_t>(bytes.size());
    return packet;
}

std::expected<RocePacket, PacketError> parse_roce_datagram(std::span<const std::uint8_t> bytes) {
    if (bytes.empty()) {
        return std::unexpected(PacketError::kTooShort);
    }
    const int version = bytes[0] >> 4;
    if (version != 4 && version != 6) {
        return std::unexpected(PacketError::kNotRoce);
    }
    RocePacket roce;
    std::span<const std::uint8_t> left = bytes;
    const auto route = version == 4 ? take_ipv4(left, roce.fields) : take_ipv6(left);
    if (!route) {
        return std::unexpected(route.error());
    }
    if (left.size() < UdpHeader::kBytes) {
        return std::unexpected(PacketError::kTooShort);
    }
    const auto udp_datagram = left;
    const auto udp = take<UdpHeader>(left);
    if (udp.destination_port != kRocePort) {
        return std::unexpected(PacketError::kNotRoce);
    }
    if (udp.bytes != udp_datagram.size()) {
        return std::unexpected(PacketError::kLength);
    }
    if (udp.checksum != 0 && !udp_checksum_is_right(*route, udp_datagram)) {
        return std::unexpected(PacketError::kUdpChecksum);
    }
    roce.fields.source_port = udp.source_port;
    const auto packet = parse_roce_payload(left, *route, roce.fields);
    if (!packet) {
        return std::unexpected(packet.error());
    }
    roce.packet = *packet;
    return roce;
}

std::expected<RoceFrame, PacketError> parse_roce_frame(std::span<const std::uint8_t> bytes) {
    if (bytes.size() < EthernetHeader::kBytes) {
        return std::unexpected(PacketError::kTooShort);
    }
    RoceFrame frame;
    std::span<const std::uint8_t> left = bytes;
    frame.ethernet = take<EthernetHeader>(left);
    std::uint16_t type = frame.ethernet.type;
    if (type == ether_type::kVlan) {
        if (left.size() < VlanTag::kBytes) {
            return std::unexpected(PacketError::kTooShort);
        }
        frame.vlan = take<VlanTag>(left);
        type = frame.vlan->type;
    }
    if (left.size() < Ipv4Header::kBytes) {
        return std::unexpected(PacketError::kTooShort);
    }
    const bool ipv4 = type == ether_type::kIpv4;
    if ((!ipv4 && type != ether_type::kIpv6) || left[0] >> 4 != (ipv4 ? 4 : 6)) {
        return std::unexpected(PacketError::kNotRoce);
    }
    const std::size_t said =
        ipv4 ? load_be<std::uint16_t>(&left[2]) : Grh::kBytes + load_be<std::uint16_t>(&left[4]);
    const auto roce = parse_roce_datagram(left.first(std::min(said, left.size())));
    if (!roce) {
        return std::unexpected(roce.error());
    }
    frame.roce = *roce;
    return frame;
}

std::expected<std::size_t, PacketError> emit_roce_payload(const PacketHeaders& headers,
                                                          const RoceFields& fields,
                                                          std::span<const std::uint8_t> payload,
                                                          std::span<std::uint8_t> out) {
    const auto body = body_bytes(headers, payload.size());
    if (!body) {
        return std::unexpected(body.error());
    }
    if (out.size() < *body + kIcrcBytes) {
        return std::unexpected(PacketError::kTooShort);
    }
    const auto outer =
        headers.grh ? outer_headers(*headers.grh, fields, *body + kIcrcBytes, IpCheckSum::kNo)
                    : std::optional<Outer>();
    if (!outer) {
        return std::unexpected(PacketError::kNotRoce);
    }
    emit_body(headers, payload, out.first(*body));
    store_be(&out[*body], icrc_of_datagram(outer->bytes(), out.first(*body)));
    return *body + kIcrcBytes;
}

std::expected<std::size_t, PacketError> emit_roce_datagram(const PacketHeaders& headers,
                                                           const RoceFields& fields,
                                                           std::span<const std::uint8_t> payload,
                                                           std::span<std::uint8_t> out) {
    const bool ipv4 = headers.grh && is_ipv4(headers.grh->sgid);
    const std::size_t outer_bytes = (ipv4 ? Ipv4Header::kBytes : Grh::kBytes) + UdpHeader::kBytes;
    if (out.size() < outer_bytes) {
        return std::unexpected(PacketError::kTooShort);
    }
    const auto size = emit_roce_payload(headers, fields, payload, out.subspan(outer_bytes));
    if (!size) {
        return size;
    }
    const auto outer = outer_headers(*headers.grh, fields, *size, IpCheckSum::kYes);
    std::ranges::copy(outer->bytes(), out.begin());
    return outer_bytes + *size;
}

std::expected<std::size_t, PacketError> emit_roce_frame(const RoceFrame& frame,
                                                        std::span<std::uint8_t> out) {
    const PacketHeaders& headers = frame.roce.packet.headers;
    const std::size_t ethernet_bytes =
        EthernetHeader::kBytes + (frame.vlan ? VlanTag::kBytes : std::size_t{0});
    if (out.size() < ethernet_bytes) {
        return std::unexpected(PacketError::kTooShort);
    }
    const auto size = emit_roce_datagram(headers, frame.roce.fields, frame.roce.packet.payload,
                                         out.subspan(ethernet_bytes));
    if (!size) {
        return size;
    }
    const std::uint16_t type = is_ipv4(headers.grh->sgid) ? ether_type::kIpv4 : ether_type::kIpv6;
    EthernetHeader ethernet = frame.ethernet;
    ethernet.type = frame.vlan ? ether_type::kVlan : type;
    put(ethernet, out);
    if (frame.vlan) {
        VlanTag tag = *frame.vlan;
        tag.type = type;
        put(tag, out);
    }
    return ethernet_bytes + *size;
}

}  // namespace softib::wire
