// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The UDP sockets of HCAs on Ethernet, one for each, bound to its address and RoCEv2's port. The
// sender must know what the ICRC of a packet covers, and a socket does not show its IP headers. So
// a socket is not connected and forbids fragments: Linux then sends Identification 0, and counts up
// from there when it cuts a batch into datagrams.

#include <sys/socket.h>

#include <cstdint>
#include <expected>
#include <span>
#include <string>

#include "core/base/ids.h"
#include "spec/ethernet_ports.h"

namespace softib::carrier {

/// A socket that does not block. The text of an error is for the user.
std::expected<int, std::string> open_roce_socket(const Gid& address);

/// Whether such sockets can be had: tried where a user still hears of it.
std::expected<void, std::string> check_roce_ports(std::span<const spec::EthernetPort> ports);

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t bytes = 0;
};
SocketAddress roce_address(const Gid& gid);

struct GidAndPort {
    Gid gid{};
    std::uint16_t port = 0;
};
GidAndPort from_socket_address(const sockaddr_storage& address);

}  // namespace softib::carrier
