// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/trunk_socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/base/check.h"

namespace softib::daemon {

namespace {

constexpr int kBufferBytes = 8 << 20;
constexpr std::size_t kDatagramsAtOnce = 8;
constexpr int kIpAndUdpBytes = 48;  // Headers of IPv6 and UDP; those of IPv4 are shorter.

struct Address {
    sockaddr_storage storage{};
    socklen_t bytes = 0;
};

/// Returns an address. The caller has checked that `ip` is valid.
Address address_of(const std::string& ip, unsigned port) {
    Address out;
    if (ip.find(':') == std::string::npos) {
        sockaddr_in v4{};
        v4.sin_family = AF_INET;
        v4.sin_port = htons(static_cast<std::uint16_t>(port));
        inet_pton(AF_INET, ip.c_str(), &v4.sin_addr);
        std::memcpy(&out.storage, &v4, sizeof v4);
        out.bytes = sizeof v4;
    } else {
        sockaddr_in6 v6{};
        v6.sin6_family = AF_INET6;
        v6.sin6_port = htons(static_cast<std::uint16_t>(port));
        inet_pton(AF_INET6, ip.c_str(), &v6.sin6_addr);
        std::memcpy(&out.storage, &v6, sizeof v6);
        out.bytes = sizeof v6;
    }
    return out;
}

int option(int fd, int level, int name) {
    int value = 0;
    socklen_t bytes = sizeof value;
    return getsockopt(fd, level, name, &value, &bytes) == 0 ? value : 0;
}

void grow_buffers(int fd) {
    // The kernel cuts the size to the system's limit, which privileged processes may exceed.
    for (const int name : {SO_RCVBUF, SO_RCVBUFFORCE, SO_SNDBUF, SO_SNDBUFFORCE}) {
        setsockopt(fd, SOL_SOCKET, name, &kBufferBytes, sizeof kBufferBytes);
    }
}

/// Returns how many bytes may be on their way to the peer, whose receive buffer is taken to be like
/// ours. The kernel counts its own records of a datagram too, so that not much more than half of a
/// buffer holds data.
std::uint64_t window_of(int fd) {
    const auto room = static_cast<std::uint64_t>(option(fd, SOL_SOCKET, SO_RCVBUF));
    return std::clamp<std::uint64_t>(room / 4, 64 << 10, 2 << 20);
}

std::size_t datagram_bytes_of(int fd) {
    const int v4 = option(fd, IPPROTO_IP, IP_MTU);
    const int mtu = v4 != 0 ? v4 : option(fd, IPPROTO_IPV6, IPV6_MTU);
    return std::min(static_cast<std::size_t>(std::max(mtu, 1280) - kIpAndUdpBytes),
                    trunk::kDatagramBytesMax);
}

std::uint64_t new_number() {
    std::uint64_t number = 0;
    while (number == 0) {
        SOFTIB_CHECK(getrandom(&number, sizeof number, 0) == sizeof number);
    }
    return number;
}

}  // namespace

struct TrunkSocket::Inbox {
    std::array<std::array<std::uint8_t, trunk::kDatagramBytesMax + 1>, kDatagramsAtOnce> rooms;
    std::array<iovec, kDatagramsAtOnce> parts{};
    std::array<mmsghdr, kDatagramsAtOnce> messages{};

    Inbox() {
        for (std::size_t i = 0; i < kDatagramsAtOnce; ++i) {
            parts[i] = {rooms[i].data(), rooms[i].size()};
            messages[i].msg_hdr.msg_iov = &parts[i];
            messages[i].msg_hdr.msg_iovlen = 1;
        }
    }
};

TrunkSocket::TrunkSocket(int fd, const SipKey& key)
    : fd_(fd),
      datagram_bytes_(datagram_bytes_of(fd)),
      session_(key, new_number(), window_of(fd)),
      inbox_(std::make_unique<Inbox>()) {}

TrunkSocket::~TrunkSocket() {
    close(fd_);
}

std::expected<std::unique_ptr<TrunkSocket>, std::string> TrunkSocket::open(
    const spec::TrunkPlan& plan, const SipKey& key, Channel channel) {
    const Address local = address_of(plan.local_ip, plan.local_port + unsigned{channel});
    const Address peer = address_of(plan.peer_ip, plan.peer_port + unsigned{channel});
    const int fd = socket(local.storage.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        grow_buffers(fd);
    }
    if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&local.storage), local.bytes) != 0 ||
        connect(fd, reinterpret_cast<const sockaddr*>(&peer.storage), peer.bytes) != 0) {
        const int error = errno;
        if (fd >= 0) {
            close(fd);
        }
        return std::unexpected(fmt::format(
            "cannot open the trunk of {} from UDP port {} of {} to {}: {}", plan.at_switch,
            plan.local_port + unsigned{channel}, plan.local_ip, plan.peer_ip,
            error == EADDRINUSE ? "the port is taken, perhaps by another fabric"
                                : std::strerror(error)));
    }
    return std::unique_ptr<TrunkSocket>(new TrunkSocket(fd, key));
}

bool TrunkSocket::receive(std::uint64_t now_ns, const Taker& take) {
    const int count = recvmmsg(fd_, inbox_->messages.data(), kDatagramsAtOnce, 0, nullptr);
    for (int i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const auto body = session_.handle_datagram(
            std::span(inbox_->rooms[at]).first(inbox_->messages[at].msg_len), now_ns);
        if (body) {
            take(*body);
        }
    }
    return count > 0;
}

void TrunkSocket::send(std::span<std::uint8_t> datagram) {
    session_.seal(datagram);
    static_cast<void>(::send(fd_, datagram.data(), datagram.size(), 0));
}

std::uint64_t TrunkSocket::run(std::uint64_t now_ns) {
    session_.handle_timeout(now_ns);
    std::array<std::uint8_t, trunk::kHeaderBytes> hello;
    while (session_.poll_hello(hello, now_ns)) {
        static_cast<void>(::send(fd_, hello.data(), hello.size(), 0));
    }
    return session_.next_timeout_ns();
}

}  // namespace softib::daemon
