// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Addresses of the connection manager: which of them are special, the service ids that ports of IP
// become, the header that carries IP addresses in a REQ's private data, and multicast GIDs (IBA
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
/// The wildcard, of any family; also where there is no address.
bool is_any(const Address& address);
bool is_loopback(const Address& address);
bool is_multicast(const Address& address);
/// An IPv4 address in IPv6's clothes becomes what it is.
Address plain(const Address& address);
/// The same address, whatever the port.
bool same_host(const Address& a, const Address& b);
Address with_port(Address address, std::uint16_t port);
Address ip4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d);

/// "127.55.0.1", "fe80:...", whatever the family.
std::string to_string(const Address& address);
std::string_view name_of(PortSpace space);

/// The port, or what plays its part in a sockaddr_ib.
std::uint16_t port_of(const Address& address);
std::uint64_t service_id(PortSpace space, std::uint16_t port);
/// Returns the service ID of an address that has a port: an IP address, or one of the RDMA IB
/// service.
std::uint64_t service_id(PortSpace space, const Address& address);

struct IpHeader {
    Address source;       ///< With its port.
    Address destination;  ///< Its port is in the service id.
};
void write_ip_header(const IpHeader& header, std::span<std::uint8_t, kIpHeaderBytes> out);
std::optional<IpHeader> read_ip_header(std::span<const std::uint8_t, kIpHeaderBytes> bytes,
                                       std::uint64_t service_id);

/// The group that an IP multicast address names. All zero for the wildcard: the SA
/// chooses one.
Gid multicast_gid(const Address& address, PortSpace space, PKey pkey);

}  // namespace softib::cm
