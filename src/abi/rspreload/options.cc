// SPDX-License-Identifier: BSD-2-Clause
// Options and flags. They are set for both sockets; the ordinary one keeps those that sockets over
// RDMA do not know.
#include <fcntl.h>
#include <rdma/rsocket.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdarg>

#include "abi/rspreload/table.h"

namespace softib::rspreload {

namespace {

constinit Next<int(int, int, int, const void*, socklen_t)> next_setsockopt{"setsockopt"};
constinit Next<int(int, int, int, void*, socklen_t*)> next_getsockopt{"getsockopt"};
constinit Next<int(int, int, ...)> next_fcntl{"fcntl"};
constinit Next<int(int, int, ...)> next_fcntl64{"fcntl64"};
constinit Next<int(int, unsigned long, ...)> next_ioctl{"ioctl"};

void set_waiting(const Entry& entry, bool waits) {
    // A listener's socket over RDMA stays non-blocking: our accept() waits, for both sockets.
    if (entry.phase == Phase::kUndecided || entry.phase == Phase::kConnected) {
        const Inside inside;
        rfcntl(entry.number, F_SETFL, waits ? 0L : long{O_NONBLOCK});
    }
}

template <typename NextFcntl>
int common_fcntl(NextFcntl& next, int fd, int command, void* argument) {
    const int result = next(fd, command, argument);
    if (result < 0) {
        return result;
    }
    if (command == F_SETFL) {
        set_waiting(find(fd), (reinterpret_cast<std::uintptr_t>(argument) & O_NONBLOCK) == 0);
    } else if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {
        remember_duplicate(result, fd);
    }
    return result;
}

/// Returns the number of bytes that can be read, at most 65,536.
int readable_bytes(int number) {
    char ignored[65536];
    const ssize_t n = rrecv(number, ignored, sizeof ignored, MSG_PEEK | MSG_DONTWAIT);
    return n < 0 ? 0 : static_cast<int>(n);
}

}  // namespace

int shim_setsockopt(int fd, int level, int name, const void* value, socklen_t bytes)
    SOFTIB_FS_EXPORT("setsockopt");
int shim_setsockopt(int fd, int level, int name, const void* value, socklen_t bytes) {
    const Entry entry = find(fd);
    if (entry.phase != Phase::kOrdinary && value != nullptr) {
        const Inside inside;
        rsetsockopt(entry.number, level, name, value, bytes);
    }
    return next_setsockopt(fd, level, name, value, bytes);
}

int shim_getsockopt(int fd, int level, int name, void* value, socklen_t* bytes)
    SOFTIB_FS_EXPORT("getsockopt");
int shim_getsockopt(int fd, int level, int name, void* value, socklen_t* bytes) {
    const Entry entry = find(fd);
    const bool is_state = level == SOL_SOCKET && (name == SO_ERROR || name == SO_ACCEPTCONN);
    if (is_state && (entry.phase == Phase::kConnected || entry.phase == Phase::kListening)) {
        const Inside inside;
        return rgetsockopt(entry.number, level, name, value, bytes);
    }
    return next_getsockopt(fd, level, name, value, bytes);
}

int shim_fcntl(int fd, int command, ...) SOFTIB_FS_EXPORT("fcntl");
int shim_fcntl(int fd, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void* const argument = va_arg(arguments, void*);
    va_end(arguments);
    return common_fcntl(next_fcntl, fd, command, argument);
}

int shim_fcntl64(int fd, int command, ...) SOFTIB_FS_EXPORT("fcntl64");
int shim_fcntl64(int fd, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void* const argument = va_arg(arguments, void*);
    va_end(arguments);
    return common_fcntl(next_fcntl64, fd, command, argument);
}

int shim_ioctl(int fd, unsigned long request, ...) SOFTIB_FS_EXPORT("ioctl");
int shim_ioctl(int fd, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    void* const argument = va_arg(arguments, void*);
    va_end(arguments);
    const Entry entry = find(fd);
    if (entry.phase == Phase::kConnected && request == FIONREAD) {
        const Inside inside;
        *static_cast<int*>(argument) = readable_bytes(entry.number);
        return 0;
    }
    const int result = next_ioctl(fd, request, argument);
    if (result == 0 && request == FIONBIO) {
        set_waiting(entry, *static_cast<const int*>(argument) == 0);
    }
    return result;
}

}  // namespace softib::rspreload
