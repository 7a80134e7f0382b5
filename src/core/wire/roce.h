// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// RoCEv2 (annex A17): a packet from its BTH to its ICRC, in a UDP datagram to port 4791. There is
// no LRH, and no VCRC; the IP header stands for the GRH, and we use the GRH's struct for both: its
// GIDs are the IP addresses, ::ffff:a.b.c.d is IPv4's a.b.c.d, TClass and HopLmt are TOS and TTL
// there.
//
// Three forms: the Ethernet frame, as captures have it; the IP datagram; and its UDP payload alone,
// which is what a UDP socket sends and gets. The ICRC covers the IP and UDP headers, so in the last
// form we must know them: over IPv6 all is known, over IPv4 a socket does not show Identification
// and DF. Linux sends 0 and DF from a socket that is not connected and has IP_PMTUDISC_DO.

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>

#include "core/wire/ethernet.h"
#include "core/wire/ip.h"
#include "core/wire/packet.h"

namespace softib::wire {

inline constexpr std::uint16_t kRocePort = 4791;
inline constexpr std::size_t kRoceBytesMax = EthernetHeader::kBytes + VlanTag::kBytes +
                                             UdpHeader::kBytes + kPacketBytesMax - Lrh::kBytes -
                                             kVcrcBytes;

/// What the two headers say besides the GRH's fields and the lengths.
struct RoceFields {
    std::uint16_t source_port = 0xC000;  ///< Flows differ in it: routers choose paths by it.
    std::uint16_t ipv4_id = 0;
    bool ipv4_dont_fragment = true;

    friend bool operator==(const RoceFields&, const RoceFields&) = default;
};

struct RocePacket {
    Packet packet;  ///< With a GRH, as the same packet has it on InfiniBand, and an empty LRH.
    RoceFields fields;
};

struct RoceFrame {
    EthernetHeader ethernet;
    std::optional<VlanTag> vlan;
    RocePacket roce;
};

/// kAnyIpv4Id: over IPv4 the Identification may be another than the fields say, if that explains
/// the ICRC. Half of its bits still tell a broken packet.
enum class CheckIcrc : std::uint8_t { kNo, kYes, kAnyIpv4Id };

/// Whether it is ::ffff:a.b.c.d.
bool is_ipv4(const Gid& gid);
Gid ipv4_gid(std::uint32_t address);

/// The network header of a packet as a datagram's receiver sees it, in the place of a GRH: an IPv6
/// header, or zeros and an IPv4 header. `route.pay_len` is what parse_roce_payload() made it.
std::array<std::uint8_t, Grh::kBytes> roce_network_header(const Grh& route);

/// What kind of packet it was, as completions of datagrams say it in the place of a service level
/// (annex A17, 17.4.5.1, leaves the coding open; this is the one of mlx5): by IPv4 or IPv6, over
/// UDP.
std::uint8_t roce_packet_kind(const Grh& route);

/// Parses exactly the payload of a UDP datagram. `route` has the addresses, `fields` whatever else
/// the ICRC covers.
std::expected<Packet, PacketError> parse_roce_payload(std::span<const std::uint8_t> bytes,
                                                      const Grh& route, const RoceFields& fields,
                                                      CheckIcrc check = CheckIcrc::kYes);

/// From the IP header on. All check sums must be right; a UDP check sum may be absent.
std::expected<RocePacket, PacketError> parse_roce_datagram(std::span<const std::uint8_t> bytes);

/// Without the frame check sequence; what pads a short frame is left out.
std::expected<RoceFrame, PacketError> parse_roce_frame(std::span<const std::uint8_t> bytes);

/// Each writes the packet and says how many bytes it took. Its GRH must be there, with both
/// addresses of one family; its LRH is not looked at. What follows from the rest, whatever is
/// given: as with emit_packet. The UDP check sum is 0, as annex A17 wants it.
std::expected<std::size_t, PacketError> emit_roce_payload(const PacketHeaders& headers,
                                                          const RoceFields& fields,
                                                          std::span<const std::uint8_t> payload,
                                                          std::span<std::uint8_t> out);
std::expected<std::size_t, PacketError> emit_roce_datagram(const PacketHeaders& headers,
                                                           const RoceFields& fields,
                                                           std::span<const std::uint8_t> payload,
                                                           std::span<std::uint8_t> out);
/// With the types that belong to it, whatever the headers say.
std::expected<std::size_t, PacketError> emit_roce_frame(const RoceFrame& frame,
                                                        std::span<std::uint8_t> out);

}  // namespace softib::wire
