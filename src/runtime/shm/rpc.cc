// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/rpc.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace softib::shm {

namespace {

void close_keeping_errno(int fd) {
    const int saved = errno;
    close(fd);
    errno = saved;
}

/// Writes "<dir>/softibd.sock" into a socket address. If the path is too long, it goes through a
/// descriptor of its directory, *dir_fd, which the caller must close after use. Returns false with
/// errno on failure.
bool socket_address(const char* fabric_dir, sockaddr_un& address, int* dir_fd) {
    *dir_fd = -1;
    address.sun_family = AF_UNIX;
    constexpr int kPathBytes = sizeof address.sun_path;
    int n = std::snprintf(address.sun_path, kPathBytes, "%s/%s", fabric_dir, kSocketName);
    if (n > 0 && n < kPathBytes) {
        return true;
    }
    *dir_fd = open(fabric_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*dir_fd < 0) {
        return false;
    }
    n = std::snprintf(address.sun_path, kPathBytes, "/proc/self/fd/%d/%s", *dir_fd, kSocketName);
    return n > 0 && n < kPathBytes;
}

int connect_retrying(int fd, const sockaddr_un& address) {
    int rc = 0;
    do {
        rc = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    } while (rc != 0 && errno == EINTR);
    return rc;
}

/// Takes the first descriptor out of the control data and closes any other.
int take_fd(msghdr& header) {
    int taken = -1;
    for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
            if (taken < 0) {
                taken = fd;
            } else {
                close(fd);
            }
        }
    }
    return taken;
}

}  // namespace

int rpc_connect(const char* fabric_dir) {
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    sockaddr_un address{};
    int dir_fd = -1;
    const bool connected =
        socket_address(fabric_dir, address, &dir_fd) && connect_retrying(fd, address) == 0;
    if (dir_fd >= 0) {
        close_keeping_errno(dir_fd);
    }
    if (!connected) {
        close_keeping_errno(fd);
        return -1;
    }
    return fd;
}

bool rpc_send(int fd, const Message& message, int passed_fd) {
    if (message.body_bytes > kBodyMax) {
        errno = EMSGSIZE;
        return false;
    }
    iovec part{const_cast<Message*>(&message), kMessageHeadBytes + message.body_bytes};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (passed_fd >= 0) {
        header.msg_control = control;
        header.msg_controllen = sizeof control;
        cmsghdr* c = CMSG_FIRSTHDR(&header);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(c), &passed_fd, sizeof passed_fd);
    }
    ssize_t n = 0;
    do {
        n = sendmsg(fd, &header, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n >= 0;
}

bool rpc_tell(int fd, const Message& message) {
    const std::size_t bytes = kMessageHeadBytes + message.body_bytes;
    return message.body_bytes <= kBodyMax &&
           send(fd, &message, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(bytes);
}

bool rpc_receive(int fd, Message& message, int* received_fd) {
    if (received_fd != nullptr) {
        *received_fd = -1;
    }
    message = Message{};
    iovec part{&message, sizeof message};
    alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))]{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    ssize_t n = 0;
    bool reset = false;
    do {
        n = recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
        // If the other side closed with something unread, its last messages come after the error.
    } while (n < 0 && (errno == EINTR || (errno == ECONNRESET && !std::exchange(reset, true))));
    if (n < 0) {
        return false;
    }
    const int taken = take_fd(header);
    const auto bytes = static_cast<std::size_t>(n);
    const bool cut = (header.msg_flags & MSG_TRUNC) != 0;
    const bool whole = !cut && bytes >= kMessageHeadBytes && message.version == kProtocolVersion &&
                       message.body_bytes == bytes - kMessageHeadBytes;
    if (whole && taken < 0 && (header.msg_flags & MSG_CTRUNC) != 0) {
        errno = EMFILE;  // A descriptor came, but this process may have no more.
        return false;
    }
    if (whole && received_fd != nullptr) {
        *received_fd = taken;
    } else if (taken >= 0) {
        close(taken);
    }
    if (!whole) {
        const bool other = !cut && bytes >= kMessageHeadBytes &&
                           message.version != kProtocolVersion && message.version != 0 &&
                           message.version <= kProtocolVersionMax;
        errno = bytes == 0 ? ECONNRESET : other ? EPROTONOSUPPORT : EPROTO;
    }
    return whole;
}

bool rpc_exchange(int fd, Message& message, int* received_fd) {
    if (received_fd != nullptr) {
        *received_fd = -1;
    }
    // A daemon that closed the connection at once may have sent its reason before.
    return (rpc_send(fd, message, -1) || errno == EPIPE || errno == ECONNRESET) &&
           rpc_receive(fd, message, received_fd);
}

}  // namespace softib::shm
