// SPDX-License-Identifier: BSD-2-Clause
// Reading and writing. Calls on a socket that is connected over the fabric go to its socket over
// RDMA.
#include <rdma/rsocket.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "abi/rspreload/table.h"

namespace softib::rspreload {

namespace {

constinit Next<ssize_t(int, void*, size_t)> next_read{"read"};
constinit Next<ssize_t(int, const void*, size_t)> next_write{"write"};
constinit Next<ssize_t(int, const iovec*, int)> next_readv{"readv"};
constinit Next<ssize_t(int, const iovec*, int)> next_writev{"writev"};
constinit Next<ssize_t(int, void*, size_t, int)> next_recv{"recv"};
constinit Next<ssize_t(int, const void*, size_t, int)> next_send{"send"};
constinit Next<ssize_t(int, void*, size_t, int, sockaddr*, socklen_t*)> next_recvfrom{"recvfrom"};
constinit Next<ssize_t(int, const void*, size_t, int, const sockaddr*, socklen_t)> next_sendto{
    "sendto"};
constinit Next<ssize_t(int, msghdr*, int)> next_recvmsg{"recvmsg"};
constinit Next<ssize_t(int, const msghdr*, int)> next_sendmsg{"sendmsg"};
constinit Next<ssize_t(int, int, off_t*, size_t)> next_sendfile{"sendfile"};

/// Calls `instead` if the descriptor is connected by a socket over RDMA, otherwise the C library's
/// function.
template <typename NextCall, typename Instead, typename... Args>
auto either(NextCall& next, Instead instead, int fd, Args... args) {
    int number = -1;
    if (!is_connected(fd, number)) {
        return next(fd, args...);
    }
    const Inside inside;
    return instead(number, args...);
}

/// Returns a message without its control data, which sockets over RDMA cannot carry.
msghdr without_control(const msghdr& message) {
    msghdr plain = message;
    plain.msg_control = nullptr;
    plain.msg_controllen = 0;
    return plain;
}

ssize_t receive_message(int number, msghdr* message, int flags) {
    msghdr plain = without_control(*message);
    const ssize_t n = rrecvmsg(number, &plain, flags);
    message->msg_namelen = plain.msg_namelen;
    message->msg_controllen = 0;
    message->msg_flags = plain.msg_flags;
    return n;
}

ssize_t send_message(int number, const msghdr* message, int flags) {
    const msghdr plain = without_control(*message);
    return rsendmsg(number, &plain, flags);
}

/// Sends a piece of a file. Like sendfile(), it may send less than `count` bytes.
ssize_t send_file(int number, int file, off_t* offset, size_t count) {
    char piece[65536];
    const size_t wanted = std::min(count, sizeof piece);
    const off_t from = offset != nullptr ? *offset : lseek(file, 0, SEEK_CUR);
    const ssize_t n = from < 0 ? -1 : pread(file, piece, wanted, from);
    if (n <= 0) {
        return n;
    }
    const ssize_t sent = rsend(number, piece, static_cast<size_t>(n), 0);
    if (sent > 0 && offset != nullptr) {
        *offset += sent;
    } else if (sent > 0) {
        lseek(file, from + sent, SEEK_SET);
    }
    return sent;
}

__attribute__((constructor)) void find_early() {
    next_read.get();
    next_write.get();
}

}  // namespace

ssize_t shim_read(int fd, void* to, size_t bytes) SOFTIB_FS_EXPORT("read");
ssize_t shim_read(int fd, void* to, size_t bytes) {
    return either(next_read, rread, fd, to, bytes);
}

ssize_t shim_read_chk(int fd, void* to, size_t bytes, size_t) SOFTIB_FS_EXPORT("__read_chk");
ssize_t shim_read_chk(int fd, void* to, size_t bytes, size_t) {
    return shim_read(fd, to, bytes);
}

ssize_t shim_write(int fd, const void* from, size_t bytes) SOFTIB_FS_EXPORT("write");
ssize_t shim_write(int fd, const void* from, size_t bytes) {
    return either(next_write, rwrite, fd, from, bytes);
}

ssize_t shim_readv(int fd, const iovec* parts, int count) SOFTIB_FS_EXPORT("readv");
ssize_t shim_readv(int fd, const iovec* parts, int count) {
    return either(next_readv, rreadv, fd, parts, count);
}

ssize_t shim_writev(int fd, const iovec* parts, int count) SOFTIB_FS_EXPORT("writev");
ssize_t shim_writev(int fd, const iovec* parts, int count) {
    return either(next_writev, rwritev, fd, parts, count);
}

ssize_t shim_recv(int fd, void* to, size_t bytes, int flags) SOFTIB_FS_EXPORT("recv");
ssize_t shim_recv(int fd, void* to, size_t bytes, int flags) {
    return either(next_recv, rrecv, fd, to, bytes, flags);
}

ssize_t shim_recv_chk(int fd, void* to, size_t bytes, size_t, int flags)
    SOFTIB_FS_EXPORT("__recv_chk");
ssize_t shim_recv_chk(int fd, void* to, size_t bytes, size_t, int flags) {
    return shim_recv(fd, to, bytes, flags);
}

ssize_t shim_send(int fd, const void* from, size_t bytes, int flags) SOFTIB_FS_EXPORT("send");
ssize_t shim_send(int fd, const void* from, size_t bytes, int flags) {
    return either(next_send, rsend, fd, from, bytes, flags);
}

ssize_t shim_recvfrom(int fd, void* to, size_t bytes, int flags, sockaddr* source,
                      socklen_t* source_bytes) SOFTIB_FS_EXPORT("recvfrom");
ssize_t shim_recvfrom(int fd, void* to, size_t bytes, int flags, sockaddr* source,
                      socklen_t* source_bytes) {
    return either(next_recvfrom, rrecvfrom, fd, to, bytes, flags, source, source_bytes);
}

ssize_t shim_recvfrom_chk(int fd, void* to, size_t bytes, size_t, int flags, sockaddr* source,
                          socklen_t* source_bytes) SOFTIB_FS_EXPORT("__recvfrom_chk");
ssize_t shim_recvfrom_chk(int fd, void* to, size_t bytes, size_t, int flags, sockaddr* source,
                          socklen_t* source_bytes) {
    return shim_recvfrom(fd, to, bytes, flags, source, source_bytes);
}

ssize_t shim_sendto(int fd, const void* from, size_t bytes, int flags, const sockaddr* to,
                    socklen_t to_bytes) SOFTIB_FS_EXPORT("sendto");
ssize_t shim_sendto(int fd, const void* from, size_t bytes, int flags, const sockaddr* to,
                    socklen_t to_bytes) {
    return either(next_sendto, rsendto, fd, from, bytes, flags, to, to_bytes);
}

ssize_t shim_recvmsg(int fd, msghdr* message, int flags) SOFTIB_FS_EXPORT("recvmsg");
ssize_t shim_recvmsg(int fd, msghdr* message, int flags) {
    return either(next_recvmsg, receive_message, fd, message, flags);
}

ssize_t shim_sendmsg(int fd, const msghdr* message, int flags) SOFTIB_FS_EXPORT("sendmsg");
ssize_t shim_sendmsg(int fd, const msghdr* message, int flags) {
    return either(next_sendmsg, send_message, fd, message, flags);
}

ssize_t shim_sendfile(int to, int from, off_t* offset, size_t count) SOFTIB_FS_EXPORT("sendfile");
ssize_t shim_sendfile(int to, int from, off_t* offset, size_t count) {
    return either(next_sendfile, send_file, to, from, offset, count);
}

ssize_t shim_sendfile64(int to, int from, off_t* offset, size_t count)
    SOFTIB_FS_EXPORT("sendfile64");
ssize_t shim_sendfile64(int to, int from, off_t* offset, size_t count) {
    return shim_sendfile(to, from, offset, count);
}

}  // namespace softib::rspreload
