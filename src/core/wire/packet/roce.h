// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// RoCEv2 (annex A17): a packet from its BTH to its ICRC, in a UDP datagram to port 4791. There is
// no LRH and no VCRC. The IP header takes the place of the GRH, and is stored in a Grh here: its
// GIDs are the IP addresses, where ::ffff:a.b.c.d is the IPv4 address a.b.c.d; with IPv4, TClass
// and HopLmt are TOS and TTL.
//
// A packet has three forms: the Ethernet frame, as in captures; the IP datagram; and the UDP
// payload alone, as a UDP socket sends and receives it. The ICRC covers the IP and UDP headers, so
// they must be known in the last form too. A socket knows all of them over IPv6; over IPv4 it does
// not know Identification and DF. Linux sends Identification 0 and DF from a socket that is not
// connected and has IP_PMTUDISC_DO.

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>

#include "core/wire/packet/ethernet.h"
#include "core/wire/packet/ip.h"
#include "core/wire/packet/packet.h"

namespace softib::wire {

inline constexpr std::uint16_t kRocePort = 4791;
inline constexpr std::size_t kRoceBytesMax = EthernetHeader::kBytes + VlanTag::kBytes +
                                             UdpHeader::kBytes + kPacketBytesMax - Lrh::kBytes -
                                             kVcrcBytes;

/// The fields of the IP and UDP headers that are not in the Grh and are no lengths.
struct RoceFields {
    /// The UDP source port, which differs between flows: routers choose paths by it.
    std::uint16_t source_port = 0xC000;
    std::uint16_t ipv4_id = 0;
    bool ipv4_dont_fragment = true;

    friend bool operator==(const RoceFields&, const RoceFields&) = default;
};

struct RocePacket {
    Packet packet;  ///< It has a GRH, as on InfiniBand, and an empty LRH.
    RoceFields fields;
};

struct RoceFrame {
    EthernetHeader ethernet;
    std::optional<VlanTag> vlan;
    RocePacket roce;
};

/// How a parser checks the ICRC. kAnyIpv4Id: over IPv4 the ICRC may be that of the packet with any
/// Identification; half of its bits still detect a broken packet.
enum class CheckIcrc : std::uint8_t { kNo, kYes, kAnyIpv4Id };

/// Returns whether a GID is an IPv4 address, ::ffff:a.b.c.d.
bool is_ipv4(const Gid& gid);
Gid ipv4_gid(std::uint32_t address);

/// Returns the network header of a packet in the form that the receiver of a datagram sees in place
/// of a GRH: an IPv6 header, or zeros and an IPv4 header. `route.pay_len` must be as
/// parse_roce_payload() has set it.
std::array<std::uint8_t, Grh::kBytes> roce_network_header(const Grh& route);

/// Returns the kind of a packet, IPv4 or IPv6 over UDP, which completions of datagrams have in
/// place of a service level. Annex A17, 17.4.5.1 leaves the coding open; this is that of mlx5.
std::uint8_t roce_packet_kind(const Grh& route);

/// Parses exactly the payload of a UDP datagram. `route` has the addresses, `fields` the other
/// fields that the ICRC covers.
std::expected<Packet, PacketError> parse_roce_payload(std::span<const std::uint8_t> bytes,
                                                      const Grh& route, const RoceFields& fields,
                                                      CheckIcrc check = CheckIcrc::kYes);

/// Parses a packet from the IP header on. All check sums must be right; there may be no UDP check
/// sum.
std::expected<RocePacket, PacketError> parse_roce_datagram(std::span<const std::uint8_t> bytes);

/// Parses an Ethernet frame without its frame check sequence. Padding of a short frame is ignored.
std::expected<RoceFrame, PacketError> parse_roce_frame(std::span<const std::uint8_t> bytes);

/// Writes a packet as the payload of a UDP datagram and returns its number of bytes. It must have a
/// GRH with two addresses of one family; its LRH is ignored. Lengths, versions and the ICRC are
/// computed, as by emit_packet().
std::expected<std::size_t, PacketError> emit_roce_payload(const PacketHeaders& headers,
                                                          const RoceFields& fields,
                                                          std::span<const std::uint8_t> payload,
                                                          std::span<std::uint8_t> out);
/// Writes a packet from the IP header on, otherwise like emit_roce_payload(). The UDP check sum is
/// 0, as annex A17 requires.
std::expected<std::size_t, PacketError> emit_roce_datagram(const PacketHeaders& headers,
                                                           const RoceFields& fields,
                                                           std::span<const std::uint8_t> payload,
                                                           std::span<std::uint8_t> out);
/// Writes a packet as an Ethernet frame, otherwise like emit_roce_datagram(). The EtherTypes are
/// computed, whatever the headers have for them.
std::expected<std::size_t, PacketError> emit_roce_frame(const RoceFrame& frame,
                                                        std::span<std::uint8_t> out);

}  // namespace softib::wire
