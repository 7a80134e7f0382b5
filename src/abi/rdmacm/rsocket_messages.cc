// SPDX-License-Identifier: BSD-2-Clause
// The other ways to send and receive, by rsend and rrecv; and memory of the other side, which these
// sockets do not map.
#include <rdma/rsocket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "abi/rdmacm/id.h"
#include "abi/rdmacm/rsocket.h"

using namespace softib::abi::rdmacm;

namespace {

/// Part by part, until one is not whole.
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

/// Once something came, more is taken only if it is there.
ssize_t receive_parts(int number, const iovec* iov, std::size_t count, int flags) {
    return each_part(iov, count, [&](void* out, std::size_t bytes, bool has_some) {
        const bool wait = !has_some || (flags & MSG_WAITALL) != 0;
        return rrecv(number, out, bytes, wait ? flags : flags | MSG_DONTWAIT);
    });
}

}  // namespace

extern "C" {

ssize_t rrecvfrom(int number, void* buf, size_t len, int flags, sockaddr* src_addr,
                  socklen_t* addrlen) {
    const ssize_t n = rrecv(number, buf, len, flags);
    if (n >= 0 && src_addr != nullptr && addrlen != nullptr) {
        rgetpeername(number, src_addr, addrlen);
    }
    return n;
}

ssize_t rsendto(int number, const void* buf, size_t len, int flags, const sockaddr*, socklen_t) {
    return rsend(number, buf, len, flags);
}

ssize_t rrecvmsg(int number, msghdr* msg, int flags) {
    if (msg->msg_control != nullptr && msg->msg_controllen != 0) {
        return fail(ENOTSUP);
    }
    return receive_parts(number, msg->msg_iov, msg->msg_iovlen, flags);
}

ssize_t rsendmsg(int number, const msghdr* msg, int flags) {
    if (msg->msg_control != nullptr && msg->msg_controllen != 0) {
        return fail(ENOTSUP);
    }
    return send_parts(number, msg->msg_iov, msg->msg_iovlen, flags);
}

ssize_t rread(int number, void* buf, size_t count) {
    return rrecv(number, buf, count, 0);
}

ssize_t rreadv(int number, const iovec* iov, int iovcnt) {
    return receive_parts(number, iov, static_cast<std::size_t>(std::max(iovcnt, 0)), 0);
}

ssize_t rwrite(int number, const void* buf, size_t count) {
    return rsend(number, buf, count, 0);
}

ssize_t rwritev(int number, const iovec* iov, int iovcnt) {
    return send_parts(number, iov, static_cast<std::size_t>(std::max(iovcnt, 0)), 0);
}

off_t riomap(int, void*, size_t, int, int, off_t) {
    return fail(ENOTSUP);
}

int riounmap(int, void*, size_t) {
    return fail(ENOTSUP);
}

size_t riowrite(int, const void*, size_t, off_t, int) {
    errno = ENOTSUP;
    return static_cast<size_t>(-1);
}

}  // extern "C"
