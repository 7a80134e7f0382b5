// SPDX-License-Identifier: BSD-2-Clause
// Passes a message of a connection to the handler of its request, and sends the reply.
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <type_traits>
#include <variant>

#include "runtime/daemon/daemon.h"
#include "runtime/daemon/log.h"
#include "runtime/shm/any_request.h"
#include "runtime/shm/rpc.h"

namespace softib::daemon {

namespace {

std::string errno_text(int error) {
    return std::generic_category().message(error);
}

}  // namespace

void Daemon::serve(Connection& connection) {
    if (connection.netlink != nullptr) {
        serve_netlink(connection);
        return;
    }
    shm::Message message;
    int passed = -1;
    if (!rpc_receive(connection.fd, message, &passed)) {
        drop_unread(connection, message, errno);
        return;
    }
    if (connection.refusal != 0) {
        refuse(connection, message.request, connection.refusal);
        drop(connection.fd);
    } else if (auto request = decode_request(message); !request) {
        log_warning("refused request {} of pid {}: {}", static_cast<unsigned>(message.request),
                    connection.pid,
                    request.error() == ENOSYS ? "this version of softibd has no such request"
                                              : "its fields are missing or have the wrong size");
        if (is_answered(message.request)) {
            refuse(connection, message.request, request.error());
        }
    } else {
        std::visit(
            [&](auto& each) {
                if constexpr (shm::CarriesFile<std::remove_cvref_t<decltype(each)>>) {
                    each.file = passed;
                }
                serve(connection, each);
            },
            *request);
    }
    if (passed >= 0) {
        close(passed);
    }
}

void Daemon::drop_unread(Connection& connection, const shm::Message& message, int error) {
    if (error == EAGAIN) {
        return;
    }
    if (error == EPROTONOSUPPORT) {
        log_warning("closed the connection of pid {}: it is of another version (protocol {})",
                    connection.pid, message.version);
        refuse(connection, shm::RequestId::kNone, error);
    } else if (error != ECONNRESET) {
        log_warning("closed the connection of pid {}: {}", connection.pid,
                    error == EPROTO ? "it sent something that is no message" : errno_text(error));
    }
    drop(connection.fd);
}

template <typename Request>
void Daemon::serve(Connection& connection, const Request& request) {
    using Reply = typename Request::Reply;
    shm::Message message;
    message.request = Request::kId;
    if constexpr (std::is_same_v<Reply, shm::request::NoReply>) {
        handle(connection, request);
    } else if constexpr (std::is_same_v<Reply, shm::request::Later>) {
        if (const int error = handle(connection, request); error != 0) {
            refuse(connection, Request::kId, error);
        }
    } else if constexpr (std::is_same_v<Reply, shm::request::StatusOnly>) {
        message.status = handle(connection, request);
        settle();
        send_reply(connection, message, -1);
    } else {
        Answer<Request> answer(message);
        message.status = handle(connection, request, answer);
        if (message.status != 0) {
            message.body_bytes = 0;
        }
        settle();
        send_reply(connection, message, answer.file());
    }
}

/// Sends a reply, and closes the descriptor that it passes unless that is the arena's.
void Daemon::send_reply(Connection& connection, const shm::Message& message, int passed_fd) {
    const bool sent = rpc_send(connection.fd, message, passed_fd);
    const int error = errno;
    if (passed_fd >= 0 && passed_fd != arena_.fd) {
        close(passed_fd);
    }
    if (sent) {
        return;
    }
    if (error != EPIPE && error != ECONNRESET) {
        log_warning("closed the connection of pid {}: the program does not read its replies ({})",
                    connection.pid, errno_text(error));
    }
    drop(connection.fd);
}

/// Answers with an error only. If the client does not read it, only this answer is lost.
void Daemon::refuse(Connection& connection, shm::RequestId request, int error) {
    shm::Message message;
    message.request = request;
    message.status = error;
    rpc_send(connection.fd, message, -1);
}

void Daemon::settle() {
    if (std::exchange(changed_, false)) {
        hand_out_mads();
    }
}

}  // namespace softib::daemon
