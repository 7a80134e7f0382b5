// SPDX-License-Identifier: BSD-2-Clause
// Options of sockets. Sizes of buffers and similar options are accepted and have no effect.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdma/rsocket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <utility>

#include "abi/rdmacm/id.h"
#include "abi/rdmacm/rsocket.h"

using namespace softib::abi::rdmacm;

namespace {

constexpr long kTimeoutMaxMs = 0x7FFFFFFF;

bool is_known(int level, int optname) {
    switch (level) {
        case SOL_SOCKET:
            return optname == SO_REUSEADDR || optname == SO_RCVBUF || optname == SO_SNDBUF ||
                   optname == SO_LINGER || optname == SO_KEEPALIVE || optname == SO_OOBINLINE ||
                   optname == SO_RCVTIMEO || optname == SO_SNDTIMEO;
        case IPPROTO_TCP:
            return optname == TCP_NODELAY || optname == TCP_MAXSEG || optname == TCP_KEEPIDLE ||
                   optname == TCP_KEEPINTVL || optname == TCP_KEEPCNT;
        case IPPROTO_IPV6:
            return optname == IPV6_V6ONLY;
        case SOL_RDMA:
            return optname == RDMA_SQSIZE || optname == RDMA_RQSIZE || optname == RDMA_INLINE ||
                   optname == RDMA_IOMAPSIZE;
        default:
            return false;
    }
}

/// Returns the field of a timeout option; nullptr if it is another option.
int* timeout_of(Rsocket& socket, int level, int optname) {
    if (level != SOL_SOCKET || (optname != SO_RCVTIMEO && optname != SO_SNDTIMEO)) {
        return nullptr;
    }
    return optname == SO_RCVTIMEO ? &socket.receive_timeout_ms : &socket.send_timeout_ms;
}

int set_timeout(int& timeout_ms, const void* optval, socklen_t optlen) {
    timeval time{};
    if (optlen < sizeof time) {
        return fail(EINVAL);
    }
    std::memcpy(&time, optval, sizeof time);
    const long ms = time.tv_sec * 1000 + (time.tv_usec + 999) / 1000;
    timeout_ms = ms == 0 ? -1 : static_cast<int>(std::min<long>(ms, kTimeoutMaxMs));
    return 0;
}

int get_timeout(int timeout_ms, void* optval, socklen_t* optlen) {
    const int ms = timeout_ms < 0 ? 0 : timeout_ms;
    const timeval time{.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    if (*optlen < sizeof time) {
        return fail(EINVAL);
    }
    std::memcpy(optval, &time, sizeof time);
    *optlen = sizeof time;
    return 0;
}

int value_of(Rsocket& socket, int level, int optname) {
    if (level == SOL_SOCKET) {
        switch (optname) {
            case SO_ERROR:
                return std::exchange(socket.error, 0);
            case SO_TYPE:
                return socket.type;
            case SO_ACCEPTCONN:
                return socket.state == SocketState::kListening ? 1 : 0;
            case SO_RCVBUF:
            case SO_SNDBUF:
                return static_cast<int>(kSlots * kSlotBytes);
            default:
                return 0;
        }
    }
    if (level == IPPROTO_TCP && optname == TCP_NODELAY) {
        return 1;
    }
    if (level == IPPROTO_TCP && optname == TCP_MAXSEG) {
        return static_cast<int>(kSlotBytes);
    }
    return level == SOL_RDMA && optname != RDMA_INLINE ? static_cast<int>(kSlots) : 0;
}

}  // namespace

extern "C" {

int rsetsockopt(int number, int level, int optname, const void* optval, socklen_t optlen) {
    const SocketUse socket(number);
    if (!socket) {
        return -1;
    }
    if (!is_known(level, optname)) {
        return fail(ENOTSUP);
    }
    const std::lock_guard guard(socket->mutex);
    if (int* const timeout_ms = timeout_of(*socket, level, optname); timeout_ms != nullptr) {
        return set_timeout(*timeout_ms, optval, optlen);
    }
    int value = 0;
    std::memcpy(&value, optval, optlen < sizeof value ? optlen : sizeof value);
    if (level == SOL_SOCKET && optname == SO_REUSEADDR) {
        return rdma_set_option(socket->id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &value,
                               sizeof value);
    }
    if (level == IPPROTO_IPV6 && optname == IPV6_V6ONLY) {
        return rdma_set_option(socket->id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &value,
                               sizeof value);
    }
    return 0;
}

int rgetsockopt(int number, int level, int optname, void* optval, socklen_t* optlen) {
    const SocketUse socket(number);
    if (!socket) {
        return -1;
    }
    const bool is_state = level == SOL_SOCKET &&
                          (optname == SO_ERROR || optname == SO_TYPE || optname == SO_ACCEPTCONN);
    if (!is_state && !is_known(level, optname)) {
        return fail(ENOTSUP);
    }
    if (*optlen < sizeof(int)) {
        return fail(EINVAL);
    }
    const std::lock_guard guard(socket->mutex);
    if (const int* const timeout_ms = timeout_of(*socket, level, optname); timeout_ms != nullptr) {
        return get_timeout(*timeout_ms, optval, optlen);
    }
    const int value = value_of(*socket, level, optname);
    std::memcpy(optval, &value, sizeof value);
    *optlen = sizeof value;
    return 0;
}

int rfcntl(int number, int cmd, ...) {
    const SocketUse socket(number);
    if (!socket) {
        return -1;
    }
    va_list arguments;
    va_start(arguments, cmd);
    const long argument = va_arg(arguments, long);
    va_end(arguments);
    const std::lock_guard guard(socket->mutex);
    if (cmd == F_GETFL) {
        return socket->nonblocking ? O_RDWR | O_NONBLOCK : O_RDWR;
    }
    if (cmd == F_SETFL) {
        socket->nonblocking = (argument & O_NONBLOCK) != 0;
        return 0;
    }
    return fail(ENOTSUP);
}

}  // extern "C"
