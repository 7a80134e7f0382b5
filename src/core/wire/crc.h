// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The two check sums of a packet (IBA vol. 1, 7.8). Each is the number that its bytes make on the
// wire, the first byte uppermost, so that store_be writes it.

#include <cstdint>
#include <optional>
#include <span>

namespace softib::wire {

/// Of an IBA packet, given from the LRH to its padding. What changes on the way counts as ones: VL
/// and the BTH's byte of FECN and BECN; with a GRH the whole LRH, TClass, FlowLabel and HopLmt.
/// Of bytes too few for these headers: as far as they go.
std::uint32_t icrc(std::span<const std::uint8_t> packet);

/// Of a RoCEv2 packet, given from its IPv4 or IPv6 header to its padding (annex A17): eight bytes
/// of ones take the LRH's place. Nothing where there are no IP, UDP and base transport headers.
std::optional<std::uint32_t> icrc_of_datagram(std::span<const std::uint8_t> datagram);

/// The same, of a packet whose IP and UDP headers stand elsewhere than the rest, as with a socket.
/// Who calls has seen that they are whole, and that the rest begins with a BTH.
std::uint32_t icrc_of_datagram(std::span<const std::uint8_t> ip_and_udp,
                               std::span<const std::uint8_t> from_bth);

/// Of everything from the LRH to the ICRC; also the LPCRC of a flow control packet's four bytes.
std::uint16_t vcrc(std::span<const std::uint8_t> bytes);

}  // namespace softib::wire
