// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The two ends of a conversation with softibd: one Message per packet of a SOCK_SEQPACKET socket,
// at most one file descriptor along. Linked into the shims: errors are errno values, nothing
// throws, no signal is raised.
//
// Thread rule: a socket belongs to one thread at a time; the caller holds the lock, if any.

#include <cerrno>

#include "runtime/shm/codec.h"
#include "runtime/shm/requests.h"

namespace softib::live {

/// Connects to the daemon of the fabric whose directory this is. Returns a close-on-exec
/// descriptor, or -1 with errno (ENOENT or ECONNREFUSED: no daemon is there).
int rpc_connect(const char* fabric_dir);

/// Sends a message; passed_fd < 0 passes none.
bool rpc_send(int fd, const Message& message, int passed_fd);

/// Sends a message as rpc_send does, but never waits: false where the other side does not read.
bool rpc_tell(int fd, const Message& message);

/// Waits for a message. *received_fd is the descriptor that came along or -1; with a null
/// received_fd a descriptor that came is closed. errno: EPROTO for anything that is not one whole
/// Message, EPROTONOSUPPORT for one of another version, EMFILE where a descriptor came that this
/// process has no room for, ECONNRESET when the other side has closed.
bool rpc_receive(int fd, Message& message, int* received_fd);

/// Sends `message` and replaces it by the reply. The caller looks at the reply's status.
bool rpc_exchange(int fd, Message& message, int* received_fd);

/// Makes a message of a request.
template <typename Request>
bool to_message(const Request& request, Message& message) {
    message = Message{};
    message.request = Request::kId;
    return encode(request, message);
}

/// Sends a request and waits for its reply. False with errno: there was none, or it was not one.
/// True with a status in the message: the daemon refuses. `reply` has texts of the message.
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

/// Does the same, and returns 0 or the errno value of whatever went wrong.
template <typename Request>
int rpc_ask(int fd, const Request& request, Message& message, typename Request::Reply& reply) {
    return rpc_call(fd, request, message, reply) ? message.status : errno;
}

/// Asks for something of which the status says all.
template <typename Request>
int rpc_ask(int fd, const Request& request) {
    Message message;
    typename Request::Reply reply;
    static_assert(std::is_same_v<typename Request::Reply, request::StatusOnly>);
    return rpc_ask(fd, request, message, reply);
}

}  // namespace softib::live
