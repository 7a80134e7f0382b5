// SPDX-License-Identifier: BSD-2-Clause
#include "abi/rdmacm/daemon.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "runtime/shm/protocol.h"
#include "runtime/shm/rpc.h"

namespace softib::abi::rdmacm {

namespace {

std::mutex g_daemon_mutex;
int g_fd = -1;
pid_t g_pid = 0;  ///< The process that opened it: a forked child needs its own.

int connect_daemon() {
    const char* const dir = fabric_dir();
    if (dir == nullptr) {
        errno = ENODEV;
        return -1;
    }
    return live::rpc_connect(dir);
}

/// Under g_daemon_mutex.
bool connected() {
    if (g_fd >= 0 && g_pid == getpid()) {
        return true;
    }
    const char* const hosts = host_names();
    if (hosts == nullptr || std::strlen(hosts) > live::kTextMax) {
        errno = ENODEV;
        return false;
    }
    const int fd = connect_daemon();
    if (fd < 0) {
        return false;
    }
    live::Message message;
    message.request = live::Request::kCmOpen;
    message.text_bytes = static_cast<std::uint32_t>(std::strlen(hosts));
    std::memcpy(message.text, hosts, message.text_bytes);
    if (!live::rpc_call(fd, message, nullptr) || message.status != 0) {
        const int error = message.status != 0 ? message.status : errno;
        close(fd);
        errno = error;
        return false;
    }
    g_fd = fd;
    g_pid = getpid();
    return true;
}

bool parse_event(const live::Message& message, cm::Event& event) {
    if (message.request != live::Request::kCmEvent || message.text_bytes != sizeof event) {
        errno = EPROTO;
        return false;
    }
    std::memcpy(&event, message.text, sizeof event);
    return true;
}

}  // namespace

const char* fabric_dir() {
    return std::getenv("SOFTIB_DIR");
}

const char* host_names() {
    return std::getenv("SOFTIB_HOST");
}

bool execute(const cm::Command& command, cm::Reply& reply) {
    live::Message message;
    message.request = live::Request::kCm;
    message.text_bytes = sizeof command;
    std::memcpy(message.text, &command, sizeof command);
    {
        const std::lock_guard guard(g_daemon_mutex);
        if (!connected() || !live::rpc_call(g_fd, message, nullptr)) {
            return false;
        }
    }
    if (message.status != 0 || message.text_bytes != sizeof reply) {
        errno = message.status != 0 ? message.status : EPROTO;
        return false;
    }
    std::memcpy(&reply, message.text, sizeof reply);
    if (reply.status != 0) {
        errno = reply.status;
        return false;
    }
    return true;
}

int open_channel(std::uint32_t& name) {
    const int fd = connect_daemon();
    if (fd < 0) {
        return -1;
    }
    live::Message message;
    message.request = live::Request::kCmChannel;
    if (!live::rpc_call(fd, message, nullptr) || message.status != 0) {
        const int error = message.status != 0 ? message.status : errno;
        close(fd);
        errno = error;
        return -1;
    }
    name = message.index;
    return fd;
}

bool take_event(int fd, cm::Event& event) {
    live::Message message;
    if (!live::rpc_receive(fd, message, nullptr)) {
        return false;
    }
    live::Message next;
    next.request = live::Request::kCmNext;
    live::rpc_tell(fd, next);
    return parse_event(message, event);
}

void put_back_event(int fd, std::uint32_t channel, cm::IdHandle id) {
    cm::Event event;
    if (!peek_event(fd, event) ||
        (event.type == cm::EventType::kConnectRequest ? event.listener : event.id) != id) {
        return;
    }
    // Another thread may be quicker, and this then gets another event; it is put back all the same.
    live::Message message;
    if (recv(fd, &message, sizeof message, MSG_DONTWAIT) <= 0) {
        return;
    }
    cm::Command command = command_of(cm::Operation::kPutBack, id);
    command.channel = channel;
    cm::Reply ignored;
    execute(command, ignored);
}

bool peek_event(int fd, cm::Event& event) {
    live::Message message;
    const ssize_t n = recv(fd, &message, sizeof message, MSG_PEEK | MSG_DONTWAIT);
    return n == static_cast<ssize_t>(offsetof(live::Message, text) + sizeof event) &&
           parse_event(message, event);
}

}  // namespace softib::abi::rdmacm
