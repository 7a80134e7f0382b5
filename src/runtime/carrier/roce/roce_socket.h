// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The UDP sockets of HCAs on Ethernet, one for each HCA, bound to its address and RoCEv2's port.
// The ICRC of a packet covers fields of its IP header, which a socket does not show, so the sender
// must predict them. Therefore a socket is not connected and forbids fragments: Linux then sends
// Identification 0, and counts up from there when it cuts a batch into datagrams.

#include <sys/socket.h>

#include <cstdint>
#include <expected>
#include <span>
#include <string>

#include "core/base/ids.h"
#include "spec/ethernet_ports.h"

namespace softib::carrier {

/// Opens a socket that does not block. The text of an error is for the user.
std::expected<int, std::string> open_roce_socket(const Gid& address);

/// Checks that sockets for all ports can be opened, before the carrier starts: the user sees the
/// error only then.
std::expected<void, std::string> check_roce_ports(std::span<const spec::EthernetPort> ports);

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t bytes = 0;
};
/// Returns the address of a GID's IP address, with RoCEv2's port.
SocketAddress roce_address(const Gid& gid);

struct GidAndPort {
    Gid gid{};
    std::uint16_t port = 0;
};
GidAndPort from_socket_address(const sockaddr_storage& address);

}  // namespace softib::carrier
