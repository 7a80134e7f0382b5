// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The two CRCs of a packet (IBA vol. 1, 7.8). A CRC is returned as a number to be written in
// network byte order (store_be).

#include <cstdint>
#include <optional>
#include <span>

namespace softib::wire {

/// Returns the ICRC of an IBA packet; `packet` is its bytes from the LRH to the padding. Fields
/// that may change on the way count as ones: VL and the BTH's byte of FECN and BECN; with a GRH the
/// whole LRH, TClass, FlowLabel and HopLmt. The packet may be too short for them.
std::uint32_t icrc(std::span<const std::uint8_t> packet);

/// Returns the ICRC of a RoCEv2 packet (annex A17), in which eight bytes of ones take the place of
/// the LRH; `datagram` is its bytes from the IPv4 or IPv6 header to the padding. Returns
/// std::nullopt if the IP header, the UDP header or the BTH is missing.
std::optional<std::uint32_t> icrc_of_datagram(std::span<const std::uint8_t> datagram);

/// Returns the ICRC of a RoCEv2 packet whose IP and UDP headers are stored apart from the rest, as
/// with a socket. The caller has checked that they are complete, and that the rest has a whole BTH.
std::uint32_t icrc_of_datagram(std::span<const std::uint8_t> ip_and_udp,
                               std::span<const std::uint8_t> from_bth);

/// Returns the VCRC of a packet's bytes from the LRH to the ICRC, or the LPCRC of the first four
/// bytes of a flow control packet.
std::uint16_t vcrc(std::span<const std::uint8_t> bytes);

}  // namespace softib::wire
