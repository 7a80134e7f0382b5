// SPDX-License-Identifier: BSD-2-Clause
// The other calls that send and receive; they are made of rsend and rrecv.
#include <rdma/rsocket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

#include "abi/rdmacm/convert.h"
#include "abi/rdmacm/id.h"
#include "abi/rdmacm/rsocket_datagram.h"

using namespace softib::abi::rdmacm;

namespace {

/// Calls `move` for each part, until one is moved incompletely. Returns the bytes of all parts, or
/// -1 if the first failed.
template <typename Move>
ssize_t each_part(const iovec* iov, std::size_t count, Move move) {
    ssize_t done = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const ssize_t n = move(iov[i].iov_base, iov[i].iov_len, done > 0);
        if (n < 0) {
            return done > 0 ? done : n;
        }
        done += n;
        if (static_cast<std::size_t>(n) < iov[i].iov_len) {
            break;
        }
    }
    return done;
}

ssize_t send_parts(int number, const iovec* iov, std::size_t count, int flags) {
    return each_part(iov, count, [&](const void* data, std::size_t bytes, bool) {
        return rsend(number, data, bytes, flags);
    });
}

/// Receives into several buffers. Waits only until something has come, unless MSG_WAITALL is set.
ssize_t receive_parts(int number, const iovec* iov, std::size_t count, int flags) {
    return each_part(iov, count, [&](void* out, std::size_t bytes, bool has_some) {
        const bool wait = !has_some || (flags & MSG_WAITALL) != 0;
        return rrecv(number, out, bytes, wait ? flags : flags | MSG_DONTWAIT);
    });
}

bool is_datagram(int number) {
    const SocketUse socket(number);
    return socket && socket->datagrams != nullptr;
}

std::vector<std::uint8_t> gathered(std::span<const iovec> parts) {
    std::vector<std::uint8_t> whole;
    for (const iovec& part : parts) {
        const auto* const data = static_cast<const std::uint8_t*>(part.iov_base);
        whole.insert(whole.end(), data, data + part.iov_len);
    }
    return whole;
}

ssize_t send_to(Rsocket& socket, std::span<const std::uint8_t> data, int flags,
                const sockaddr* to) {
    std::unique_lock lock(socket.mutex);
    const Name name = name_of(to);
    if (name == Name{}) {
        return fail(EAFNOSUPPORT);
    }
    return bind_anywhere(socket, to->sa_family) == 0
               ? send_datagram(socket, lock, data, flags, name)
               : -1;
}

ssize_t receive_from(Rsocket& socket, msghdr& message, int flags) {
    std::unique_lock lock(socket.mutex);
    sockaddr_storage from{};
    const std::span<const iovec> parts{message.msg_iov, message.msg_iovlen};
    std::size_t room = 0;
    for (const iovec& part : parts) {
        room += part.iov_len;
    }
    const ssize_t n = receive_datagram(socket, lock, parts, flags | MSG_TRUNC, &from);
    if (n < 0) {
        return n;
    }
    if (message.msg_name != nullptr) {
        const auto* const name = reinterpret_cast<const sockaddr*>(&from);
        const socklen_t bytes = address_bytes(name);
        std::memcpy(message.msg_name, &from, std::min(message.msg_namelen, bytes));
        message.msg_namelen = bytes;
    }
    const bool is_cut = static_cast<std::size_t>(n) > room;
    message.msg_flags = is_cut ? MSG_TRUNC : 0;
    return is_cut && (flags & MSG_TRUNC) == 0 ? static_cast<ssize_t>(room) : n;
}

}  // namespace

extern "C" {

ssize_t rrecvfrom(int number, void* buf, size_t len, int flags, sockaddr* src_addr,
                  socklen_t* addrlen) {
    iovec part{.iov_base = buf, .iov_len = len};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const bool wants_source = src_addr != nullptr && addrlen != nullptr;
    message.msg_name = wants_source ? src_addr : nullptr;
    message.msg_namelen = wants_source ? *addrlen : 0;
    const ssize_t n = rrecvmsg(number, &message, flags);
    if (n >= 0 && wants_source) {
        *addrlen = message.msg_namelen;
    }
    return n;
}

ssize_t rsendto(int number, const void* buf, size_t len, int flags, const sockaddr* dest_addr,
                socklen_t) {
    if (!is_datagram(number) || dest_addr == nullptr) {
        return rsend(number, buf, len, flags);
    }
    const SocketUse socket(number);
    return socket ? send_to(*socket, {static_cast<const std::uint8_t*>(buf), len}, flags, dest_addr)
                  : -1;
}

ssize_t rrecvmsg(int number, msghdr* msg, int flags) {
    if (msg->msg_control != nullptr && msg->msg_controllen != 0) {
        return fail(ENOTSUP);
    }
    msg->msg_flags = 0;
    if (is_datagram(number)) {
        const SocketUse socket(number);
        return socket ? receive_from(*socket, *msg, flags) : -1;
    }
    const ssize_t n = receive_parts(number, msg->msg_iov, msg->msg_iovlen, flags);
    if (n >= 0 && msg->msg_name != nullptr) {
        rgetpeername(number, static_cast<sockaddr*>(msg->msg_name), &msg->msg_namelen);
    }
    return n;
}

ssize_t rsendmsg(int number, const msghdr* msg, int flags) {
    if (msg->msg_control != nullptr && msg->msg_controllen != 0) {
        return fail(ENOTSUP);
    }
    if (is_datagram(number)) {
        const std::vector<std::uint8_t> whole = gathered({msg->msg_iov, msg->msg_iovlen});
        return rsendto(number, whole.data(), whole.size(), flags,
                       static_cast<const sockaddr*>(msg->msg_name), msg->msg_namelen);
    }
    return send_parts(number, msg->msg_iov, msg->msg_iovlen, flags);
}

ssize_t rread(int number, void* buf, size_t count) {
    return rrecv(number, buf, count, 0);
}

ssize_t rreadv(int number, const iovec* iov, int iovcnt) {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(iov);
    message.msg_iovlen = static_cast<std::size_t>(std::max(iovcnt, 0));
    return rrecvmsg(number, &message, 0);
}

ssize_t rwrite(int number, const void* buf, size_t count) {
    return rsend(number, buf, count, 0);
}

ssize_t rwritev(int number, const iovec* iov, int iovcnt) {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(iov);
    message.msg_iovlen = static_cast<std::size_t>(std::max(iovcnt, 0));
    return rsendmsg(number, &message, 0);
}

}  // extern "C"
