// SPDX-License-Identifier: BSD-2-Clause
//
// Sockets of NETLINK_RDMA, by which programs ask Linux about HCAs. A program gets a connection to
// the daemon, which answers as the kernel would. The connection keeps the boundaries of messages,
// so poll, send and recv work as they are. This file handles only what differs between the two
// socket families: addresses and options.
//
// The connection is bound to an abstract name that contains the socket's netlink address. So the
// kernel says which descriptors are such sockets, even if they were duplicated, and no two have the
// same address.
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "abi/sysfs/ask_daemon.h"
#include "abi/sysfs/io_gate.h"
#include "abi/sysfs/next.h"
#include "abi/sysfs/redirect.h"
#include "runtime/shm/rpc.h"

namespace softib::sysfs {

namespace {

constexpr int kTypeMask = 0xF;  ///< The type in socket()'s second argument; the rest are flags.
constexpr int kNamesTried = 64;
constexpr int kAnswerTimeoutMs = 1000;
constexpr std::string_view kNamePrefix{"\0softib/netlink/", 16};

constinit Next<int(int, int, int)> next_socket{"socket"};
constinit Next<int(int, const sockaddr*, socklen_t)> next_bind{"bind"};
constinit Next<int(int, const sockaddr*, socklen_t)> next_connect{"connect"};
constinit Next<int(int, sockaddr*, socklen_t*)> next_getsockname{"getsockname"};
constinit Next<int(int, int, int, const void*, socklen_t)> next_setsockopt{"setsockopt"};
constinit Next<int(int, int, int, void*, socklen_t*)> next_getsockopt{"getsockopt"};
constinit Next<ssize_t(int, const void*, size_t, int)> next_send{"send"};
constinit Next<ssize_t(int, const void*, size_t, int, const sockaddr*, socklen_t)> next_sendto{
    "sendto"};
constinit Next<ssize_t(int, const msghdr*, int)> next_sendmsg{"sendmsg"};
constinit Next<ssize_t(int, msghdr*, int)> next_recvmsg{"recvmsg"};
constinit Next<ssize_t(int, void*, size_t, int, sockaddr*, socklen_t*)> next_recvfrom{"recvfrom"};

/// Looks up early what signal handlers and forked children may call.
__attribute__((constructor)) void find_early() {
    next_socket.get();
    next_bind.get();
    next_connect.get();
    next_getsockname.get();
    next_setsockopt.get();
    next_getsockopt.get();
    next_send.get();
    next_sendto.get();
    next_sendmsg.get();
    next_recvmsg.get();
    next_recvfrom.get();
}

/// Whether the program has opened a netlink socket. Until then, calls on other sockets cost nothing
/// more.
constinit std::atomic<bool> any_opened{false};

/// Returns the netlink address of a descriptor; std::nullopt if it is another socket.
std::optional<std::uint32_t> netlink_id(int fd) {
    if (!any_opened.load(std::memory_order_relaxed)) {
        return std::nullopt;
    }
    const int saved_errno = errno;
    sockaddr_un name{};
    socklen_t bytes = sizeof name;
    const long rc = syscall(SYS_getsockname, fd, &name, &bytes);
    errno = saved_errno;
    if (rc != 0 || name.sun_family != AF_UNIX || bytes > sizeof name ||
        bytes < offsetof(sockaddr_un, sun_path)) {
        return std::nullopt;
    }
    std::string_view text{name.sun_path, bytes - offsetof(sockaddr_un, sun_path)};
    if (!text.starts_with(kNamePrefix)) {
        return std::nullopt;
    }
    text.remove_prefix(kNamePrefix.size());
    std::uint32_t id = 0;
    std::from_chars(text.data(), text.data() + text.size(), id);
    return id;
}

bool take_name(int fd, std::uint32_t id) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, kNamePrefix.data(), kNamePrefix.size());
    char* const first = name.sun_path + kNamePrefix.size();
    const auto [end, error] = std::to_chars(first, std::end(name.sun_path), id);
    const auto bytes = static_cast<socklen_t>(end - reinterpret_cast<char*>(&name));
    return error == std::errc{} &&
           next_bind(fd, reinterpret_cast<const sockaddr*>(&name), bytes) == 0;
}

/// Binds a socket to a free netlink address, as Linux does: the pid, or else a number that is no
/// pid. Returns 0 if none was free.
std::uint32_t take_any_name(int fd) {
    auto id = static_cast<std::uint32_t>(getpid());
    for (int tries = 0; tries < kNamesTried; ++tries) {
        if (take_name(fd, id)) {
            return id;
        }
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        id = (static_cast<std::uint32_t>(now.tv_nsec) * 2654435761U) | 0x80000000U;
    }
    return 0;
}

/// Opens a socket with this netlink address, or with any if it is 0. The socket is close-on-exec.
/// Returns -1, with errno set, if that fails.
int open_netlink(std::uint32_t wanted_id) {
    const int fd = connect_in_time();
    if (fd < 0) {
        errno = EPROTONOSUPPORT;
        return -1;
    }
    const std::uint32_t port_id = wanted_id != 0 && take_name(fd, wanted_id) ? wanted_id
                                  : wanted_id == 0                           ? take_any_name(fd)
                                                                             : 0;
    int error = EADDRINUSE;
    if (port_id != 0) {
        const shm::request::NetlinkOpen request{.hosts = settings().host, .port_id = port_id};
        error = shm::rpc_ask(fd, request) == 0 ? 0 : EPROTONOSUPPORT;
    }
    if (error != 0) {
        close(fd);
        errno = error;
        return -1;
    }
    const timeval forever{};
    constexpr socklen_t kBytes = sizeof forever;
    next_setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &forever, kBytes);
    next_setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &forever, kBytes);
    any_opened.store(true, std::memory_order_relaxed);
    return fd;
}

int socket_common(int type) {
    const int saved_errno = errno;
    const int fd = open_netlink(0);
    if (fd < 0) {
        return -1;
    }
    if ((type & SOCK_CLOEXEC) == 0) {
        fcntl(fd, F_SETFD, 0);
    }
    if ((type & SOCK_NONBLOCK) != 0) {
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    }
    errno = saved_errno;
    return fd;
}

/// Binds a netlink socket. If the program wants another address than the socket has, replaces the
/// socket by a new one.
int bind_common(int fd, std::uint32_t has, const sockaddr* address, socklen_t bytes) {
    sockaddr_nl wanted{};
    if (address == nullptr || bytes < sizeof wanted) {
        errno = EINVAL;
        return -1;
    }
    std::memcpy(&wanted, address, sizeof wanted);
    if (wanted.nl_family != AF_NETLINK) {
        errno = EINVAL;
        return -1;
    }
    if (wanted.nl_pid == 0 || wanted.nl_pid == has) {
        return 0;
    }
    const int other = open_netlink(wanted.nl_pid);
    if (other < 0) {
        return -1;
    }
    fcntl(other, F_SETFL, fcntl(fd, F_GETFL));
    const int rc = dup3(other, fd, (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
    close(other);
    return rc < 0 ? -1 : 0;
}

/// Writes an address as the kernel does: as much as fits, and the full length.
void fill_address(std::uint32_t id, sockaddr* to, socklen_t* bytes) {
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_pid = id;
    if (to != nullptr) {
        std::memcpy(to, &address, std::min<std::size_t>(*bytes, sizeof address));
    }
    *bytes = sizeof address;
}

int option_of_netlink(int option) {
    switch (option) {
        case SO_DOMAIN:
            return AF_NETLINK;
        case SO_PROTOCOL:
            return NETLINK_RDMA;
        case SO_TYPE:
            return SOCK_RAW;
        default:
            return -1;
    }
}

/// Returns whether bytes that were sent begin with a netlink request. If not, the name of the
/// socket need not be read.
bool may_be_request(ssize_t sent, const void* data, size_t bytes) {
    nlmsghdr head{};
    if (sent < static_cast<ssize_t>(sizeof head) || bytes < sizeof head) {
        return false;
    }
    std::memcpy(&head, data, sizeof head);
    return head.nlmsg_len >= sizeof head && head.nlmsg_len <= static_cast<size_t>(sent) &&
           head.nlmsg_type >= NLMSG_MIN_TYPE && (head.nlmsg_flags & NLM_F_REQUEST) != 0;
}

/// Waits until the answer to a request that was sent has come. In Linux, the answer is there when
/// the sending call returns, and programs rely on that: they receive without waiting. Every request
/// is answered, if only by an error.
void await_answer(int fd, ssize_t sent, const void* data, size_t bytes) {
    if (!any_opened.load(std::memory_order_relaxed) || !may_be_request(sent, data, bytes) ||
        !netlink_id(fd)) {
        return;
    }
    const int saved_errno = errno;
    pollfd answer{fd, POLLIN, 0};
    poll(&answer, 1, kAnswerTimeoutMs);
    errno = saved_errno;
}

ssize_t recvfrom_common(int fd, void* to, size_t size, int flags, sockaddr* from,
                        socklen_t* bytes) {
    const socklen_t room = from != nullptr && bytes != nullptr ? *bytes : 0;
    const ssize_t n = [&] {
        const IoPass pass(to, size);
        return next_recvfrom(fd, to, size, flags, from, bytes);
    }();
    if (n >= 0 && room != 0 && netlink_id(fd)) {
        *bytes = room;
        fill_address(0, from, bytes);
    }
    return n;
}

}  // namespace

extern "C" {

int fs_socket(int domain, int type, int protocol) SOFTIB_FS_EXPORT("socket");
int fs_bind(int fd, const sockaddr* address, socklen_t bytes) SOFTIB_FS_EXPORT("bind");
int fs_connect(int fd, const sockaddr* address, socklen_t bytes) SOFTIB_FS_EXPORT("connect");
int fs_getsockname(int fd, sockaddr* address, socklen_t* bytes) SOFTIB_FS_EXPORT("getsockname");
int fs_setsockopt(int fd, int level, int option, const void* value, socklen_t bytes)
    SOFTIB_FS_EXPORT("setsockopt");
int fs_getsockopt(int fd, int level, int option, void* value, socklen_t* bytes)
    SOFTIB_FS_EXPORT("getsockopt");
ssize_t fs_send(int fd, const void* data, size_t size, int flags) SOFTIB_FS_EXPORT("send");
ssize_t fs_sendto(int fd, const void* data, size_t size, int flags, const sockaddr* to,
                  socklen_t bytes) SOFTIB_FS_EXPORT("sendto");
ssize_t fs_sendmsg(int fd, const msghdr* message, int flags) SOFTIB_FS_EXPORT("sendmsg");
ssize_t fs_recvmsg(int fd, msghdr* message, int flags) SOFTIB_FS_EXPORT("recvmsg");
ssize_t fs_recvfrom(int fd, void* to, size_t size, int flags, sockaddr* from, socklen_t* bytes)
    SOFTIB_FS_EXPORT("recvfrom");
ssize_t fs_recvfrom_chk(int fd, void* to, size_t size, size_t room, int flags, sockaddr* from,
                        socklen_t* bytes) SOFTIB_FS_EXPORT("__recvfrom_chk");

int fs_socket(int domain, int type, int protocol) {
    const bool wanted = domain == AF_NETLINK && protocol == NETLINK_RDMA && settings().enabled &&
                        ((type & kTypeMask) == SOCK_RAW || (type & kTypeMask) == SOCK_DGRAM);
    return wanted ? socket_common(type) : next_socket(domain, type, protocol);
}

int fs_bind(int fd, const sockaddr* address, socklen_t bytes) {
    const auto id = netlink_id(fd);
    return id ? bind_common(fd, *id, address, bytes) : next_bind(fd, address, bytes);
}

int fs_connect(int fd, const sockaddr* address, socklen_t bytes) {
    return netlink_id(fd) ? 0 : next_connect(fd, address, bytes);
}

int fs_getsockname(int fd, sockaddr* address, socklen_t* bytes) {
    const auto id = netlink_id(fd);
    if (!id || address == nullptr || bytes == nullptr) {
        return next_getsockname(fd, address, bytes);
    }
    fill_address(*id, address, bytes);
    return 0;
}

int fs_setsockopt(int fd, int level, int option, const void* value, socklen_t bytes) {
    // Options of netlink sockets (groups, kinds of acknowledgement) do not change the answers.
    return level == SOL_NETLINK && netlink_id(fd)
               ? 0
               : next_setsockopt(fd, level, option, value, bytes);
}

int fs_getsockopt(int fd, int level, int option, void* value, socklen_t* bytes) {
    const int rc = next_getsockopt(fd, level, option, value, bytes);
    const int ours = level == SOL_SOCKET ? option_of_netlink(option) : -1;
    if (rc == 0 && ours >= 0 && netlink_id(fd)) {
        std::memcpy(value, &ours, std::min<std::size_t>(*bytes, sizeof ours));
    }
    return rc;
}

ssize_t fs_send(int fd, const void* data, size_t size, int flags) {
    const ssize_t n = [&] {
        const IoPass pass(data, size);
        return next_send(fd, data, size, flags);
    }();
    await_answer(fd, n, data, size);
    return n;
}

ssize_t fs_sendto(int fd, const void* data, size_t size, int flags, const sockaddr* to,
                  socklen_t bytes) {
    const ssize_t n = [&] {
        const IoPass pass(data, size);
        return next_sendto(fd, data, size, flags, to, bytes);
    }();
    await_answer(fd, n, data, size);
    return n;
}

ssize_t fs_sendmsg(int fd, const msghdr* message, int flags) {
    const ssize_t n = [&] {
        const IoPass pass(message);
        return next_sendmsg(fd, message, flags);
    }();
    if (n >= 0 && message->msg_iovlen != 0) {
        await_answer(fd, n, message->msg_iov[0].iov_base, message->msg_iov[0].iov_len);
    }
    return n;
}

ssize_t fs_recvmsg(int fd, msghdr* message, int flags) {
    const socklen_t room =
        message != nullptr && message->msg_name != nullptr ? message->msg_namelen : 0;
    const ssize_t n = [&] {
        const IoPass pass(message);
        return next_recvmsg(fd, message, flags);
    }();
    if (n >= 0 && room != 0 && netlink_id(fd)) {
        message->msg_namelen = room;
        fill_address(0, static_cast<sockaddr*>(message->msg_name), &message->msg_namelen);
    }
    return n;
}

ssize_t fs_recvfrom(int fd, void* to, size_t size, int flags, sockaddr* from, socklen_t* bytes) {
    return recvfrom_common(fd, to, size, flags, from, bytes);
}

ssize_t fs_recvfrom_chk(int fd, void* to, size_t size, size_t room, int flags, sockaddr* from,
                        socklen_t* bytes) {
    if (room < size) {
        std::abort();
    }
    return recvfrom_common(fd, to, size, flags, from, bytes);
}

}  // extern "C"

}  // namespace softib::sysfs
