// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/carrier/roce/roce_socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/wire/packet/roce.h"

namespace softib::carrier {

namespace {

constexpr int kReceiveBytes = 8 << 20;
constexpr std::size_t kIpv4At = 12;

void set_option(int fd, int level, int name, int value) {
    setsockopt(fd, level, name, &value, sizeof value);
}

std::string why_not_bound(const Gid& gid, int error) {
    if (error == EADDRINUSE) {
        return fmt::format(
            "UDP port {} of {} is taken, perhaps by another fabric: choose other addresses with "
            "--roce-address-base or --roce-addresses",
            wire::kRocePort, spec::ip_text(gid));
    }
    return fmt::format("cannot bind UDP port {} of {}: {}", wire::kRocePort, spec::ip_text(gid),
                       std::strerror(error));
}

}  // namespace

SocketAddress roce_address(const Gid& gid) {
    SocketAddress out;
    if (wire::is_ipv4(gid)) {
        sockaddr_in v4{};
        v4.sin_family = AF_INET;
        v4.sin_port = htons(wire::kRocePort);
        std::memcpy(&v4.sin_addr, &gid.bytes[kIpv4At], sizeof v4.sin_addr);
        std::memcpy(&out.storage, &v4, sizeof v4);
        out.bytes = sizeof v4;
    } else {
        sockaddr_in6 v6{};
        v6.sin6_family = AF_INET6;
        v6.sin6_port = htons(wire::kRocePort);
        std::memcpy(&v6.sin6_addr, gid.bytes.data(), sizeof v6.sin6_addr);
        std::memcpy(&out.storage, &v6, sizeof v6);
        out.bytes = sizeof v6;
    }
    return out;
}

GidAndPort from_socket_address(const sockaddr_storage& address) {
    GidAndPort out;
    if (address.ss_family == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, &address, sizeof v4);
        out.gid = wire::ipv4_gid(ntohl(v4.sin_addr.s_addr));
        out.port = ntohs(v4.sin_port);
    } else {
        sockaddr_in6 v6{};
        std::memcpy(&v6, &address, sizeof v6);
        std::memcpy(out.gid.bytes.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
        out.port = ntohs(v6.sin6_port);
    }
    return out;
}

std::expected<int, std::string> open_roce_socket(const Gid& address) {
    const bool v4 = wire::is_ipv4(address);
    const int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return std::unexpected(
            fmt::format("cannot open a UDP socket for RoCE: {}", std::strerror(errno)));
    }
    // A datagram that would need fragments must not be sent: its ICRC would be wrong.
    if (v4) {
        set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
    } else {
        set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
        set_option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
        // Senders may leave the UDP checksum out (annex A17); over IPv6 the kernel accepts such
        // datagrams only on request.
        set_option(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
    }
    set_option(fd, IPPROTO_UDP, UDP_GRO, 1);
    // The kernel cuts SO_RCVBUF to the system's limit; SO_RCVBUFFORCE passes it, with privileges.
    set_option(fd, SOL_SOCKET, SO_RCVBUF, kReceiveBytes);
    set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, kReceiveBytes);
    const SocketAddress at = roce_address(address);
    if (bind(fd, reinterpret_cast<const sockaddr*>(&at.storage), at.bytes) != 0) {
        const int error = errno;
        close(fd);
        return std::unexpected(why_not_bound(address, error));
    }
    return fd;
}

std::expected<void, std::string> check_roce_ports(std::span<const spec::EthernetPort> ports) {
    for (const spec::EthernetPort& port : ports) {
        const auto fd = open_roce_socket(port.gid);
        if (!fd) {
            return std::unexpected(fd.error());
        }
        close(*fd);
    }
    return {};
}

}  // namespace softib::carrier
