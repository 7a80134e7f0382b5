// SPDX-License-Identifier: BSD-2-Clause
// Creating, binding, connecting and closing sockets.
#include "abi/rdmacm/rsocket.h"

#include <fcntl.h>
#include <rdma/rsocket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "abi/rdmacm/convert.h"
#include "abi/rdmacm/id.h"
#include "abi/rdmacm/rsocket_datagram.h"

namespace softib::abi::rdmacm {

namespace {

/// Makes a non-blocking event channel. The socket itself waits, if its program wants it to.
rdma_event_channel* make_channel() {
    rdma_event_channel* const channel = rdma_create_event_channel();
    if (channel != nullptr && fcntl(channel->fd, F_SETFL, O_NONBLOCK) != 0) {
        rdma_destroy_event_channel(channel);
        return nullptr;
    }
    return channel;
}

void destroy(Rsocket* socket) {
    release(*socket);
    delete socket;
}

bool has_unsent(const Rsocket& socket) {
    if (socket.datagrams != nullptr) {
        return std::ranges::any_of(socket.datagrams->ports, is_sending) ||
               std::ranges::any_of(socket.datagrams->destinations,
                                   [](const auto& each) { return !each.second.waiting.empty(); });
    }
    // If the peer sees the end of the connection before it is established, it takes that as a
    // refusal.
    return socket.state == SocketState::kConnected &&
           (socket.sends_under_way > 0 || !socket.established);
}

int copy_out(const sockaddr& from, sockaddr* addr, socklen_t* addrlen) {
    const socklen_t bytes = address_bytes(&from);
    std::memcpy(addr, &from, std::min(*addrlen, bytes));
    *addrlen = bytes;
    return 0;
}

/// Makes a socket of the connection request that a listener has. Returns nullptr, with errno set,
/// if that fails.
Rsocket* take_request(Rsocket& listener) {
    rdma_cm_event* const event = std::exchange(listener.request, nullptr);
    auto* const socket = new (std::nothrow) Rsocket;
    rdma_cm_id* const id = event->id;
    rdma_ack_cm_event(event);
    if (socket == nullptr) {
        rdma_destroy_id(id);
        errno = ENOMEM;
        return nullptr;
    }
    socket->type = listener.type;
    socket->id = id;
    socket->channel = make_channel();
    rdma_conn_param parameters{};
    parameters.retry_count = 7;
    parameters.rnr_retry_count = 7;
    if (socket->channel == nullptr || rdma_migrate_id(id, socket->channel) != 0 ||
        prepare(*socket) != 0 || rdma_accept(id, &parameters) != 0) {
        const int error = errno;
        destroy(socket);
        errno = error;
        return nullptr;
    }
    socket->state = SocketState::kConnected;
    return socket;
}

}  // namespace

}  // namespace softib::abi::rdmacm

using namespace softib::abi::rdmacm;

extern "C" {

int rsocket(int domain, int type, int protocol) {
    if (domain != AF_INET && domain != AF_INET6 && domain != AF_IB) {
        return fail(EAFNOSUPPORT);
    }
    const int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
    const bool is_stream = kind == SOCK_STREAM;
    if ((!is_stream && kind != SOCK_DGRAM) ||
        (protocol != 0 && protocol != (is_stream ? IPPROTO_TCP : IPPROTO_UDP))) {
        return fail(EPROTONOSUPPORT);
    }
    auto* const socket = new (std::nothrow) Rsocket;
    if (socket == nullptr) {
        return fail(ENOMEM);
    }
    socket->type = kind;
    socket->nonblocking = (type & SOCK_NONBLOCK) != 0;
    socket->channel = make_channel();
    if (!is_stream) {
        socket->datagrams = make_datagrams();
    }
    if (socket->channel == nullptr || (!is_stream && socket->datagrams == nullptr) ||
        rdma_create_id(socket->channel, &socket->id, nullptr,
                       is_stream ? RDMA_PS_TCP : RDMA_PS_UDP) != 0) {
        const int error = errno;
        destroy(socket);
        return fail(error);
    }
    const int number = add_socket(socket);
    if (number < 0) {
        const int error = errno;
        destroy(socket);
        return fail(error);
    }
    return number;
}

int rbind(int number, const sockaddr* addr, socklen_t) {
    const SocketUse socket(number);
    if (!socket) {
        return -1;
    }
    const std::lock_guard guard(socket->mutex);
    if (socket->state != SocketState::kNew) {
        return fail(EINVAL);
    }
    if (socket->datagrams != nullptr) {
        return bind_datagrams(*socket, addr);
    }
    sockaddr_storage copy{};
    std::memcpy(&copy, addr, address_bytes(addr));
    if (rdma_bind_addr(socket->id, reinterpret_cast<sockaddr*>(&copy)) != 0) {
        return -1;
    }
    socket->state = SocketState::kBound;
    return 0;
}

int rlisten(int number, int backlog) {
    const SocketUse socket(number);
    if (!socket) {
        return -1;
    }
    const std::lock_guard guard(socket->mutex);
    if (socket->datagrams != nullptr) {
        return fail(EOPNOTSUPP);
    }
    if (socket->state == SocketState::kListening) {
        return 0;
    }
    if (rdma_listen(socket->id, backlog) != 0) {
        return -1;
    }
    socket->state = SocketState::kListening;
    return 0;
}

int raccept(int number, sockaddr* addr, socklen_t* addrlen) {
    const SocketUse socket(number);
    if (!socket) {
        return -1;
    }
    std::unique_lock lock(socket->mutex);
    if (socket->state != SocketState::kListening) {
        return fail(EINVAL);
    }
    progress(*socket);
    while (socket->request == nullptr) {
        if (socket->nonblocking) {
            return fail(EAGAIN);
        }
        wait(*socket, lock);
    }
    Rsocket* const made = take_request(*socket);
    if (made == nullptr) {
        return -1;
    }
    if (addr != nullptr && addrlen != nullptr) {
        copy_out(*rdma_get_peer_addr(made->id), addr, addrlen);
    }
    const int made_number = add_socket(made);
    if (made_number < 0) {
        destroy(made);
        return fail(EMFILE);
    }
    return made_number;
}

int rconnect(int number, const sockaddr* addr, socklen_t) {
    const SocketUse socket(number);
    if (!socket) {
        return -1;
    }
    std::unique_lock lock(socket->mutex);
    if (socket->datagrams != nullptr) {
        return connect_datagrams(*socket, addr);
    }
    if (socket->state == SocketState::kNew || socket->state == SocketState::kBound) {
        sockaddr_storage copy{};
        std::memcpy(&copy, addr, address_bytes(addr));
        if (rdma_resolve_addr(socket->id, nullptr, reinterpret_cast<sockaddr*>(&copy),
                              kResolveTimeoutMs) != 0) {
            return -1;
        }
        socket->state = SocketState::kConnecting;
    } else if (socket->state == SocketState::kConnected) {
        return fail(EISCONN);
    }
    progress(*socket);
    while (socket->state == SocketState::kConnecting) {
        if (socket->nonblocking) {
            return fail(EINPROGRESS);
        }
        wait(*socket, lock);
    }
    if (socket->state == SocketState::kFailed) {
        return fail(std::exchange(socket->error, ECONNREFUSED));
    }
    return 0;
}

int rshutdown(int number, int how) {
    const SocketUse socket(number);
    if (!socket) {
        return -1;
    }
    std::unique_lock lock(socket->mutex);
    if (socket->state != SocketState::kConnected && socket->state != SocketState::kClosed) {
        return fail(ENOTCONN);
    }
    if (how == SHUT_RD || how == SHUT_RDWR) {
        socket->reads_no_more = true;
    }
    if ((how == SHUT_WR || how == SHUT_RDWR) && !socket->sent_end) {
        socket->sent_end = true;
        if (socket->state == SocketState::kConnected && socket->datagrams == nullptr) {
            send_control(*socket, true);
        }
    }
    socket->changed.notify_all();
    return 0;
}

int rclose(int number) {
    Rsocket* const socket = remove_socket(number);
    if (socket == nullptr) {
        return -1;
    }
    {
        // Everything that was sent must arrive before the connection ends.
        std::unique_lock lock(socket->mutex);
        progress(*socket);
        while (has_unsent(*socket)) {
            wait(*socket, lock);
        }
        if (socket->state == SocketState::kConnected && socket->datagrams == nullptr) {
            rdma_disconnect(socket->id);
        }
    }
    destroy(socket);
    return 0;
}

int rgetpeername(int number, sockaddr* addr, socklen_t* addrlen) {
    const SocketUse socket(number);
    if (!socket) {
        return -1;
    }
    const std::lock_guard guard(socket->mutex);
    if (socket->state != SocketState::kConnected) {
        return fail(ENOTCONN);
    }
    if (socket->datagrams != nullptr) {
        sockaddr_storage peer{};
        to_sockaddr(socket->datagrams->peer, peer);
        return copy_out(reinterpret_cast<const sockaddr&>(peer), addr, addrlen);
    }
    return copy_out(*rdma_get_peer_addr(socket->id), addr, addrlen);
}

int rgetsockname(int number, sockaddr* addr, socklen_t* addrlen) {
    const SocketUse socket(number);
    if (!socket) {
        return -1;
    }
    const std::lock_guard guard(socket->mutex);
    return copy_out(*rdma_get_local_addr(socket->id), addr, addrlen);
}

}  // extern "C"
