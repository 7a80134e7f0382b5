// SPDX-License-Identifier: BSD-2-Clause
// Creating, binding, connecting and closing sockets.
#include <fcntl.h>
#include <linux/close_range.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "abi/rspreload/epoll.h"
#include "abi/rspreload/table.h"

namespace softib::rspreload {

namespace {

constexpr unsigned kDescriptorsMax = 65535;

constinit Next<int(int, int, int)> next_socket{"socket"};
constinit Next<int(int, const sockaddr*, socklen_t)> next_bind{"bind"};
constinit Next<int(int, int)> next_listen{"listen"};
constinit Next<int(int, sockaddr*, socklen_t*, int)> next_accept4{"accept4"};
constinit Next<int(int, const sockaddr*, socklen_t)> next_connect{"connect"};
constinit Next<int(int, int)> next_shutdown{"shutdown"};
constinit Next<int(int)> next_close{"close"};
constinit Next<int(FILE*)> next_fclose{"fclose"};
constinit Next<int(unsigned, unsigned, int)> next_close_range{"close_range"};
constinit Next<int(int)> next_dup{"dup"};
constinit Next<int(int, int)> next_dup2{"dup2"};
constinit Next<int(int, int, int)> next_dup3{"dup3"};
constinit Next<int(int, sockaddr*, socklen_t*)> next_getpeername{"getpeername"};
constinit Next<int(int, sockaddr*, socklen_t*)> next_getsockname{"getsockname"};

bool is_nonblocking(int fd) {
    return (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;
}

/// Closes the socket over RDMA of a descriptor, which is an ordinary socket from now on.
void give_up(int fd) {
    const int error = errno;
    int number = -1;
    if (forget(fd, number)) {
        const Inside inside;
        rclose(number);
    }
    errno = error;
}

void closing(int fd) {
    if (find(fd).phase != Phase::kOrdinary) {
        give_up(fd);
        forget_watches(fd);
    } else {
        forget_epoll(fd);
    }
}

in_port_t& port_in(sockaddr_storage& address) {
    return address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                         : reinterpret_cast<sockaddr_in&>(address).sin_port;
}

bool is_internet(const sockaddr* address, socklen_t bytes) {
    return address != nullptr &&
           ((address->sa_family == AF_INET && bytes >= sizeof(sockaddr_in)) ||
            (address->sa_family == AF_INET6 && bytes >= sizeof(sockaddr_in6)));
}

/// Makes a descriptor for a connection that was accepted over the fabric. Returns -1, with errno
/// set, if that fails.
int adopt(int number, int flags) {
    sockaddr_storage local{};
    socklen_t bytes = sizeof local;
    rgetsockname(number, reinterpret_cast<sockaddr*>(&local), &bytes);
    const int fd =
        next_socket(local.ss_family == AF_INET6 ? AF_INET6 : AF_INET, SOCK_STREAM | flags, 0);
    if (fd < 0) {
        const int error = errno;
        rclose(number);
        errno = error;
        return -1;
    }
    if ((flags & SOCK_NONBLOCK) != 0) {
        rfcntl(number, F_SETFL, O_NONBLOCK);
    }
    give_up(fd);
    remember(fd, {.phase = Phase::kConnected, .ordinary_bound = false, .number = number});
    return fd;
}

}  // namespace

int shim_socket(int domain, int type, int protocol) SOFTIB_FS_EXPORT("socket");
int shim_socket(int domain, int type, int protocol) {
    const int fd = next_socket(domain, type, protocol);
    const int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 || (domain != AF_INET && domain != AF_INET6) || kind != SOCK_STREAM ||
        (protocol != 0 && protocol != IPPROTO_TCP) || is_inside()) {
        return fd;
    }
    give_up(fd);  // A socket that had this descriptor before was closed without our notice.
    const Inside inside;
    const int error = errno;
    const int number = rsocket(domain, type, 0);
    errno = error;
    if (number >= 0) {
        remember(fd, {.phase = Phase::kUndecided, .number = number});
    }
    return fd;
}

int shim_bind(int fd, const sockaddr* address, socklen_t bytes) SOFTIB_FS_EXPORT("bind");
int shim_bind(int fd, const sockaddr* address, socklen_t bytes) {
    Entry entry = find(fd);
    if (entry.phase != Phase::kUndecided || !is_internet(address, bytes) ||
        bytes > sizeof(sockaddr_storage)) {
        return next_bind(fd, address, bytes);
    }
    sockaddr_storage wanted{};
    std::memcpy(&wanted, address, bytes);
    {
        const Inside inside;
        if (rbind(entry.number, address, bytes) != 0) {
            if (errno == EADDRINUSE) {
                return -1;
            }
            give_up(fd);
            return next_bind(fd, address, bytes);
        }
        if (port_in(wanted) == 0) {
            sockaddr_storage given{};
            socklen_t given_bytes = sizeof given;
            rgetsockname(entry.number, reinterpret_cast<sockaddr*>(&given), &given_bytes);
            port_in(wanted) = port_in(given);
        }
    }
    // May fail: all hosts of the fabric share the machine's addresses, and another host may have
    // this port already.
    entry.ordinary_bound = next_bind(fd, reinterpret_cast<sockaddr*>(&wanted), bytes) == 0;
    remember(fd, entry);
    return 0;
}

int shim_listen(int fd, int backlog) SOFTIB_FS_EXPORT("listen");
int shim_listen(int fd, int backlog) {
    Entry entry = find(fd);
    if (entry.phase != Phase::kUndecided) {
        return next_listen(fd, backlog);
    }
    const Inside inside;
    if (rlisten(entry.number, backlog) != 0) {
        give_up(fd);
        return next_listen(fd, backlog);
    }
    rfcntl(entry.number, F_SETFL, O_NONBLOCK);
    if (entry.ordinary_bound) {
        entry.ordinary_bound = next_listen(fd, backlog) == 0;
    }
    entry.phase = Phase::kListening;
    remember(fd, entry);
    return 0;
}

int shim_accept4(int fd, sockaddr* address, socklen_t* bytes, int flags)
    SOFTIB_FS_EXPORT("accept4");
int shim_accept4(int fd, sockaddr* address, socklen_t* bytes, int flags) {
    const Entry entry = find(fd);
    if (entry.phase != Phase::kListening) {
        return next_accept4(fd, address, bytes, flags);
    }
    const Inside inside;
    const bool waits = !is_nonblocking(fd);
    while (true) {
        const int number = raccept(entry.number, address, bytes);
        if (number >= 0) {
            return adopt(number, flags);
        }
        if (errno != EAGAIN) {
            return -1;
        }
        pollfd both[] = {{.fd = entry.number, .events = POLLIN, .revents = 0},
                         {.fd = entry.ordinary_bound ? fd : -1, .events = POLLIN, .revents = 0}};
        if (rpoll(both, 2, waits ? -1 : 0) < 0) {
            return -1;
        }
        if (both[1].revents != 0) {
            return next_accept4(fd, address, bytes, flags);
        }
        if (both[0].revents == 0) {
            errno = EAGAIN;
            return -1;
        }
    }
}

int shim_accept(int fd, sockaddr* address, socklen_t* bytes) SOFTIB_FS_EXPORT("accept");
int shim_accept(int fd, sockaddr* address, socklen_t* bytes) {
    return shim_accept4(fd, address, bytes, 0);
}

/// Connects over the fabric, or else has the kernel connect the ordinary socket. The fabric answers
/// at once whether it has the address and a server listens there, so that even a non-blocking
/// socket is connected when this returns.
int shim_connect(int fd, const sockaddr* address, socklen_t bytes) SOFTIB_FS_EXPORT("connect");
int shim_connect(int fd, const sockaddr* address, socklen_t bytes) {
    Entry entry = find(fd);
    if (entry.phase == Phase::kConnected) {
        errno = EISCONN;
        return -1;
    }
    if (entry.phase != Phase::kUndecided || !is_internet(address, bytes)) {
        return next_connect(fd, address, bytes);
    }
    {
        const Inside inside;
        rfcntl(entry.number, F_SETFL, 0);
        if (rconnect(entry.number, address, bytes) == 0) {
            rfcntl(entry.number, F_SETFL, is_nonblocking(fd) ? O_NONBLOCK : 0);
            entry.phase = Phase::kConnected;
            entry.ordinary_bound = false;
            remember(fd, entry);
            return 0;
        }
    }
    give_up(fd);
    hand_over_watches(fd);
    return next_connect(fd, address, bytes);
}

int shim_shutdown(int fd, int how) SOFTIB_FS_EXPORT("shutdown");
int shim_shutdown(int fd, int how) {
    const Entry entry = find(fd);
    if (entry.phase == Phase::kConnected) {
        const Inside inside;
        return rshutdown(entry.number, how);
    }
    return next_shutdown(fd, how);
}

int shim_close(int fd) SOFTIB_FS_EXPORT("close");
int shim_close(int fd) {
    if (owns_table()) {
        closing(fd);
    }
    return next_close(fd);
}

// fclose() is replaced too, because the C library does not call our close().
int shim_fclose(FILE* file) SOFTIB_FS_EXPORT("fclose");
int shim_fclose(FILE* file) {
    if (file != nullptr && owns_table()) {
        closing(fileno(file));
    }
    return next_fclose(file);
}

int shim_close_range(unsigned first, unsigned last, int flags) SOFTIB_FS_EXPORT("close_range");
int shim_close_range(unsigned first, unsigned last, int flags) {
    if ((flags & static_cast<int>(CLOSE_RANGE_CLOEXEC)) == 0 && owns_table()) {
        for (unsigned fd = first; fd <= std::min(last, kDescriptorsMax); ++fd) {
            closing(static_cast<int>(fd));
        }
    }
    return next_close_range(first, last, flags);
}

int shim_dup(int fd) SOFTIB_FS_EXPORT("dup");
int shim_dup(int fd) {
    const int made = next_dup(fd);
    remember_duplicate(made, fd);
    return made;
}

int shim_dup3(int fd, int wanted, int flags) SOFTIB_FS_EXPORT("dup3");
int shim_dup3(int fd, int wanted, int flags) {
    const int made = next_dup3(fd, wanted, flags);
    if (made >= 0) {
        give_up(wanted);
        remember_duplicate(made, fd);
    }
    return made;
}

int shim_dup2(int fd, int wanted) SOFTIB_FS_EXPORT("dup2");
int shim_dup2(int fd, int wanted) {
    const int made = next_dup2(fd, wanted);
    if (made >= 0 && fd != wanted) {
        give_up(wanted);
        remember_duplicate(made, fd);
    }
    return made;
}

int shim_getpeername(int fd, sockaddr* address, socklen_t* bytes) SOFTIB_FS_EXPORT("getpeername");
int shim_getpeername(int fd, sockaddr* address, socklen_t* bytes) {
    int number = -1;
    if (is_connected(fd, number)) {
        const Inside inside;
        return rgetpeername(number, address, bytes);
    }
    return next_getpeername(fd, address, bytes);
}

int shim_getsockname(int fd, sockaddr* address, socklen_t* bytes) SOFTIB_FS_EXPORT("getsockname");
int shim_getsockname(int fd, sockaddr* address, socklen_t* bytes) {
    const Entry entry = find(fd);
    if (entry.phase != Phase::kOrdinary && !entry.ordinary_bound) {
        const Inside inside;
        return rgetsockname(entry.number, address, bytes);
    }
    return next_getsockname(fd, address, bytes);
}

}  // namespace softib::rspreload
