// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Sends and receives the messages between programs and softibd: one Message in each packet of a
// SOCK_SEQPACKET socket, with at most one file descriptor. Linked into libraries that programs
// load: errors are errno values, nothing throws, no signal is raised.
//
// Thread rule: one thread at a time uses a socket. Callers with several threads lock it themselves.

#include <cerrno>

#include "runtime/shm/codec.h"
#include "runtime/shm/requests.h"

namespace softib::shm {

/// Connects to the daemon of the fabric whose directory this is. Returns a close-on-exec
/// descriptor, or -1 with errno (ENOENT or ECONNREFUSED: no daemon is there).
int rpc_connect(const char* fabric_dir);

/// Sends a message, with the descriptor `passed_fd` unless it is negative. Returns false with errno
/// on failure.
bool rpc_send(int fd, const Message& message, int passed_fd);

/// Sends a message without ever waiting. Returns false on failure, also if the other side does not
/// read.
bool rpc_tell(int fd, const Message& message);

/// Waits for a message. Sets *received_fd to the descriptor that came with it, or to -1; if
/// received_fd is null, such a descriptor is closed. Returns false with errno on failure: EPROTO if
/// what came is not one whole Message, EPROTONOSUPPORT if it has another version, EMFILE if a
/// descriptor came but this process may have no more, ECONNRESET if the other side has closed.
bool rpc_receive(int fd, Message& message, int* received_fd);

/// Sends `message` and replaces it by the reply. Returns false with errno if there is none. The
/// caller checks the reply's status.
bool rpc_exchange(int fd, Message& message, int* received_fd);

/// Makes a message of a request. Returns false with errno if it does not fit.
template <typename Request>
bool to_message(const Request& request, Message& message) {
    message = Message{};
    message.request = Request::kId;
    return encode(request, message);
}

/// Sends a request and waits for its reply. Returns false with errno if no valid reply came. If the
/// daemon refuses, returns true, with its errno value in message.status. Texts of `reply` are views
/// into `message`.
template <typename Request>
bool rpc_call(int fd, const Request& request, Message& message, typename Request::Reply& reply) {
    int file = -1;
    constexpr bool kWithFile = CarriesFile<typename Request::Reply>;
    if (!to_message(request, message) || !rpc_exchange(fd, message, kWithFile ? &file : nullptr)) {
        return false;
    }
    if constexpr (kWithFile) {
        reply.file = file;
    }
    if (message.status == 0 && !decode(message, reply)) {
        errno = EPROTO;
        return false;
    }
    return true;
}

/// Does the same as rpc_call(). Returns 0, or the errno value of the failure or of the refusal.
template <typename Request>
int rpc_ask(int fd, const Request& request, Message& message, typename Request::Reply& reply) {
    return rpc_call(fd, request, message, reply) ? message.status : errno;
}

/// Sends a request whose reply is a status only. Returns 0 or an errno value.
template <typename Request>
int rpc_ask(int fd, const Request& request) {
    Message message;
    typename Request::Reply reply;
    static_assert(std::is_same_v<typename Request::Reply, request::StatusOnly>);
    return rpc_ask(fd, request, message, reply);
}

}  // namespace softib::shm
