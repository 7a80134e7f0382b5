// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The two CRCs of a packet (IBA vol. 1, 7.8). Each is the number that its bytes make on the wire,
// the first byte uppermost, so that store_be writes it.

#include <cstdint>
#include <optional>
#include <span>

namespace softib::wire {

/// Returns the ICRC of an IBA packet, given from the LRH to its padding. Fields that change on the
/// way count as ones: VL and the BTH's byte of FECN and BECN; with a GRH the whole LRH, TClass,
/// FlowLabel and HopLmt. A packet too short for these headers is summed as far as it goes.
std::uint32_t icrc(std::span<const std::uint8_t> packet);

/// Returns the ICRC of a RoCEv2 packet, given from its IPv4 or IPv6 header to its padding (annex
/// A17): eight bytes of ones take the LRH's place. Returns std::nullopt if the IP, UDP or base
/// transport header is missing.
std::optional<std::uint32_t> icrc_of_datagram(std::span<const std::uint8_t> datagram);

/// The same for a packet whose IP and UDP headers are stored apart from the rest, as with a socket.
/// The caller has checked that they are whole, and that the rest begins with a BTH.
std::uint32_t icrc_of_datagram(std::span<const std::uint8_t> ip_and_udp,
                               std::span<const std::uint8_t> from_bth);

/// Returns the VCRC of everything from the LRH to the ICRC; also the LPCRC of a flow control
/// packet's four bytes.
std::uint16_t vcrc(std::span<const std::uint8_t> bytes);

}  // namespace softib::wire
