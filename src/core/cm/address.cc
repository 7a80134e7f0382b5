// SPDX-License-Identifier: BSD-2-Clause
#include "core/cm/address.h"

#include <algorithm>
#include <ranges>

#include "core/wire/format/bytes.h"

namespace softib::cm {

namespace {

constexpr std::size_t kMappedPrefixBytes = 12;  // ::ffff:0:0/96
constexpr std::uint64_t kPortMask = 0xFFFF;
constexpr std::uint8_t kIp4Version = 4;
constexpr std::uint8_t kIp6Version = 6;
constexpr std::uint16_t kIpoibSignature4 = 0x401B;
constexpr std::uint16_t kIpoibSignature6 = 0x601B;
constexpr std::uint8_t kRdmaSignature = 0x01;  // Replaces the second byte of the signature.
constexpr std::uint8_t kLinkLocalScope = 0x12;

bool is_mapped(const Gid& bytes) {
    return std::ranges::all_of(bytes.bytes | std::views::take(10),
                               [](std::uint8_t b) { return b == 0; }) &&
           bytes.bytes[10] == 0xFF && bytes.bytes[11] == 0xFF;
}

}  // namespace

bool is_ip(const Address& address) {
    return address.family == Family::kIp4 || address.family == Family::kIp6;
}

bool is_any(const Address& address) {
    return address.bytes == Gid{};
}

bool is_loopback(const Address& address) {
    if (address.family == Family::kIp4) {
        return address.bytes.bytes[0] == 127;
    }
    Gid one;
    one.bytes[15] = 1;
    return address.bytes == one;
}

bool is_multicast(const Address& address) {
    return address.family == Family::kIp4 ? (address.bytes.bytes[0] & 0xF0) == 0xE0
                                          : address.bytes.is_multicast();
}

Address plain(const Address& address) {
    if (address.family != Family::kIp6 || !is_mapped(address.bytes)) {
        return address;
    }
    Address out;
    out.family = Family::kIp4;
    out.port = address.port;
    std::copy_n(address.bytes.bytes.begin() + kMappedPrefixBytes, 4, out.bytes.bytes.begin());
    return out;
}

bool same_host(const Address& a, const Address& b) {
    const Address x = plain(a);
    const Address y = plain(b);
    return x.family == y.family && x.bytes == y.bytes;
}

Address with_port(Address address, std::uint16_t port) {
    if (address.family == Family::kIb) {
        address.service_id = (address.service_id & ~kPortMask) | port;
        address.service_mask = ~std::uint64_t{0};
    } else {
        address.port = port;
    }
    return address;
}

Address ip4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
    Address address;
    address.family = Family::kIp4;
    address.bytes.bytes = {a, b, c, d};
    return address;
}

std::string to_string(const Address& address) {
    if (address.family != Family::kIp4) {
        return softib::to_string(address.bytes);
    }
    std::string text;
    for (std::size_t i = 0; i < 4; ++i) {
        text += (i == 0 ? "" : ".") + std::to_string(address.bytes.bytes[i]);
    }
    return text;
}

std::string_view name_of(PortSpace space) {
    switch (space) {
        case PortSpace::kIpoib:
            return "ipoib";
        case PortSpace::kTcp:
            return "tcp";
        case PortSpace::kUdp:
            return "udp";
        case PortSpace::kIb:
            return "ib";
    }
    return "?";
}

std::uint16_t port_of(const Address& address) {
    return address.family == Family::kIb
               ? static_cast<std::uint16_t>(address.service_id & address.service_mask)
               : address.port;
}

std::uint64_t service_id(PortSpace space, std::uint16_t port) {
    return std::uint64_t{static_cast<std::uint16_t>(space)} << 16 | port;
}

std::uint64_t service_id(PortSpace space, const Address& address) {
    return address.family == Family::kIb ? address.service_id : service_id(space, address.port);
}

void write_ip_header(const IpHeader& header, std::span<std::uint8_t, kIpHeaderBytes> out) {
    std::ranges::fill(out, std::uint8_t{0});
    const bool is_ip4 = header.source.family == Family::kIp4;
    out[1] = static_cast<std::uint8_t>((is_ip4 ? kIp4Version : kIp6Version) << 4);
    wire::store_be(out.data() + 2, header.source.port);
    // An IPv4 address is the last four of its sixteen bytes.
    const std::size_t at = is_ip4 ? 12 : 0;
    std::copy_n(header.source.bytes.bytes.begin(), 16 - at, out.begin() + 4 + static_cast<int>(at));
    std::copy_n(header.destination.bytes.bytes.begin(), 16 - at,
                out.begin() + 20 + static_cast<int>(at));
}

std::optional<IpHeader> read_ip_header(std::span<const std::uint8_t, kIpHeaderBytes> bytes,
                                       std::uint64_t service_id) {
    const unsigned version = bytes[1] >> 4;
    if (bytes[0] != 0 || (version != kIp4Version && version != kIp6Version)) {
        return std::nullopt;
    }
    IpHeader header;
    const std::size_t at = version == kIp4Version ? 12 : 0;
    header.source.family = version == kIp4Version ? Family::kIp4 : Family::kIp6;
    header.destination.family = header.source.family;
    header.source.port = wire::load_be<std::uint16_t>(bytes.data() + 2);
    header.destination.port = static_cast<std::uint16_t>(service_id & kPortMask);
    std::copy_n(bytes.begin() + 4 + static_cast<int>(at), 16 - at,
                header.source.bytes.bytes.begin());
    std::copy_n(bytes.begin() + 20 + static_cast<int>(at), 16 - at,
                header.destination.bytes.bytes.begin());
    return header;
}

Gid multicast_gid(const Address& address, PortSpace space, PKey pkey) {
    if (is_any(address) || address.family == Family::kIb) {
        return address.bytes;
    }
    // ff10:a01b: this is an MGID that the SA chose.
    const auto& ip = address.bytes.bytes;
    if (address.family == Family::kIp6 &&
        (wire::load_be<std::uint32_t>(ip.data()) & 0xFFF0FFFF) == 0xFF10A01B) {
        return address.bytes;
    }
    Gid gid;
    auto& out = gid.bytes;
    out[0] = 0xFF;
    out[1] = kLinkLocalScope;
    wire::store_be(out.data() + 2,
                   address.family == Family::kIp4 ? kIpoibSignature4 : kIpoibSignature6);
    if (space == PortSpace::kUdp) {
        out[3] = kRdmaSignature;
    }
    wire::store_be(out.data() + 4, static_cast<std::uint16_t>(pkey.value | 0x8000));
    if (address.family == Family::kIp4) {
        std::copy_n(ip.begin(), 4, out.begin() + 12);
        out[12] &= 0x0F;
    } else {
        std::copy_n(ip.begin() + 6, 10, out.begin() + 6);
    }
    return gid;
}

}  // namespace softib::cm
