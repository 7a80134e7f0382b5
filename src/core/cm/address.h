// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Addresses of the connection manager: which of them are special, the service IDs of IP port
// numbers, the header that carries IP addresses in a REQ's private data, and multicast GIDs (IBA
// vol. 1, annex A11: the RDMA IP CM service).

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/cm/commands.h"

namespace softib::cm {

inline constexpr std::size_t kIpHeaderBytes = 36;

bool is_ip(const Address& address);
/// Returns whether an address is the wildcard of its family, or no address at all.
bool is_any(const Address& address);
bool is_loopback(const Address& address);
bool is_multicast(const Address& address);
/// Returns an IPv4-mapped IPv6 address as the IPv4 address; any other address unchanged.
Address plain(const Address& address);
/// Returns whether two addresses are equal but for their port numbers.
bool same_host(const Address& a, const Address& b);
Address with_port(Address address, std::uint16_t port);
Address ip4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d);

/// Returns the address without its port number: "127.55.0.1", "fe80:...".
std::string to_string(const Address& address);
std::string_view name_of(PortSpace space);

/// Returns the port number of an IP address, or the bits of a sockaddr_ib's service ID that stand
/// for one.
std::uint16_t port_of(const Address& address);
/// Returns the service ID of an IP port number.
std::uint64_t service_id(PortSpace space, std::uint16_t port);
/// Returns the service ID of an address: of the port number of an IP address, or the one in a
/// sockaddr_ib.
std::uint64_t service_id(PortSpace space, const Address& address);

/// The header at the start of a REQ's private data that names both ends by IP addresses.
struct IpHeader {
    Address source;       ///< Source address with its port number.
    Address destination;  ///< Destination address. The service ID, not the header, has its port.
};
void write_ip_header(const IpHeader& header, std::span<std::uint8_t, kIpHeaderBytes> out);
/// Returns the header that private data begins with; std::nullopt if it begins with none.
std::optional<IpHeader> read_ip_header(std::span<const std::uint8_t, kIpHeaderBytes> bytes,
                                       std::uint64_t service_id);

/// Returns the MGID of the group that an IP multicast address names; all zero for the wildcard,
/// with which the SA chooses an MGID.
Gid multicast_gid(const Address& address, PortSpace space, PKey pkey);

}  // namespace softib::cm
