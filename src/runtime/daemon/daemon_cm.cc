// SPDX-License-Identifier: BSD-2-Clause
// The daemon's side of connection management: from connections to CmClients and back.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "runtime/daemon/daemon.h"
#include "runtime/daemon/log.h"
#include "runtime/shm/clock.h"
#include "runtime/shm/naming.h"
#include "runtime/shm/rpc.h"

namespace softib::live {

static_assert(sizeof(cm::Command) <= kTextMax && sizeof(cm::Reply) <= kTextMax &&
              sizeof(cm::Event) <= kTextMax);

/// A program on several hosts connects from the first of them.
void Daemon::handle_cm_open(Connection& connection, Message& message) {
    const std::string_view hosts(message.text, message.text_bytes);
    const std::uint32_t host = find_host(arena_, hosts.substr(0, hosts.find(',')));
    message.text_bytes = 0;
    if (connection.owner != 0 || connection.uses_cm) {
        message.status = EALREADY;
        return;
    }
    if (host == UINT32_MAX) {
        message.status = ENOENT;
        return;
    }
    connection.uses_cm = true;
    cm_.open(connection.fd, host);
    watch_process(connection);
    message.status = 0;
}

void Daemon::handle_cm_channel(Connection& connection, Message& message) {
    message.text_bytes = 0;
    if (connection.owner != 0 || connection.uses_cm) {
        message.status = EALREADY;
        return;
    }
    connection.uses_cm = true;
    message.index = cm_.open_channel(connection.fd);
    message.status = 0;
}

void Daemon::handle_cm(const Connection& connection, Message& message) {
    cm::Command command;
    if (!cm_.is_open(connection.fd) || message.text_bytes != sizeof command) {
        message.status = EINVAL;
        message.text_bytes = 0;
        return;
    }
    std::memcpy(&command, message.text, sizeof command);
    const cm::Reply reply = cm_.execute(connection.fd, command, monotonic_ns());
    hand_out_mads();
    message.status = 0;
    message.text_bytes = sizeof reply;
    std::memcpy(message.text, &reply, sizeof reply);
}

int Daemon::handle_cm_describe(Message& message) const {
    const std::string text = cm_.describe();
    message.text_bytes = 0;
    message.status = 0;
    const int fd = memfd_create("softib-cm", MFD_CLOEXEC);
    if (fd < 0 || pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
        message.status = errno;
    }
    return fd;
}

void Daemon::hand_out_cm_events() {
    while (const auto out = cm_.poll()) {
        const auto found = connections_.find(out->fd);
        if (found == connections_.end()) {
            continue;
        }
        Message message;
        message.request = Request::kCmEvent;
        message.text_bytes = sizeof out->event;
        std::memcpy(message.text, &out->event, sizeof out->event);
        if (!rpc_send(out->fd, message, -1) && errno == EAGAIN) {
            log_warning("lost an event for pid {}: its channel is full", found->second->pid);
        }
    }
}

}  // namespace softib::live
