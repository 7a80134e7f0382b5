// SPDX-License-Identifier: BSD-2-Clause
#include "abi/rdmacm/daemon.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "runtime/shm/program_place.h"
#include "runtime/shm/rpc.h"

namespace softib::abi::rdmacm {

namespace {

std::mutex g_daemon_mutex;
int g_fd = -1;
pid_t g_pid = 0;  ///< The process that opened g_fd: a forked child opens its own connection.

int connect_daemon() {
    const char* const dir = fabric_dir();
    if (dir == nullptr) {
        errno = ENODEV;
        return -1;
    }
    return shm::rpc_connect(dir);
}

/// Connects to the daemon, if this process is not connected yet. The caller holds g_daemon_mutex.
bool connected() {
    if (g_fd >= 0 && g_pid == getpid()) {
        return true;
    }
    const char* const hosts = host_names();
    if (hosts == nullptr) {
        errno = ENODEV;
        return false;
    }
    const int fd = connect_daemon();
    if (fd < 0) {
        return false;
    }
    if (const int error = shm::rpc_ask(fd, shm::request::CmOpen{.hosts = hosts}); error != 0) {
        close(fd);
        errno = error;
        return false;
    }
    g_fd = fd;
    g_pid = getpid();
    return true;
}

bool parse_event(const shm::Message& message, cm::Event& event) {
    shm::request::CmEvent body;
    if (message.request != shm::request::CmEvent::kId || !shm::decode(message, body)) {
        errno = EPROTO;
        return false;
    }
    event = body.event;
    return true;
}

}  // namespace

const char* fabric_dir() {
    return shm::program_place().dir;
}

const char* host_names() {
    return shm::program_place().hosts;
}

bool execute(const cm::Command& command, cm::Reply& reply) {
    shm::Message message;
    shm::request::Cm::Reply body;
    {
        const std::lock_guard guard(g_daemon_mutex);
        if (!connected() ||
            !shm::rpc_call(g_fd, shm::request::Cm{.command = command}, message, body)) {
            return false;
        }
    }
    if (message.status != 0) {
        errno = message.status;
        return false;
    }
    reply = body.reply;
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
    shm::Message message;
    shm::request::CmChannel::Reply reply;
    const int error = shm::rpc_ask(fd, shm::request::CmChannel{}, message, reply);
    if (error != 0) {
        close(fd);
        errno = error;
        return -1;
    }
    name = reply.channel;
    return fd;
}

bool take_event(int fd, cm::Event& event) {
    shm::Message message;
    if (!shm::rpc_receive(fd, message, nullptr)) {
        return false;
    }
    shm::Message next;
    shm::to_message(shm::request::CmNext{}, next);
    shm::rpc_tell(fd, next);
    return parse_event(message, event);
}

void put_back_event(int fd, std::uint32_t channel, cm::IdHandle id) {
    cm::Event event;
    if (!peek_event(fd, event) ||
        (event.type == cm::EventType::kConnectRequest ? event.listener : event.id) != id) {
        return;
    }
    // If another thread has taken the event meanwhile, this gets the next one, which the manager
    // takes back just as well.
    shm::Message message;
    if (recv(fd, &message, sizeof message, MSG_DONTWAIT) <= 0) {
        return;
    }
    cm::Command command = command_of(cm::Operation::kPutBack, id);
    command.channel = channel;
    cm::Reply ignored;
    execute(command, ignored);
}

bool peek_event(int fd, cm::Event& event) {
    shm::Message message;
    const ssize_t n = recv(fd, &message, sizeof message, MSG_PEEK | MSG_DONTWAIT);
    return n >= static_cast<ssize_t>(shm::kMessageHeadBytes) &&
           n == static_cast<ssize_t>(shm::kMessageHeadBytes + message.body_bytes) &&
           parse_event(message, event);
}

}  // namespace softib::abi::rdmacm
