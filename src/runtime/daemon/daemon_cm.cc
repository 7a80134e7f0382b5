// SPDX-License-Identifier: BSD-2-Clause
// The daemon's side of the CM: passes commands to CmClients, and events to programs.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "runtime/daemon/daemon.h"
#include "runtime/daemon/log.h"
#include "runtime/shm/clock.h"
#include "runtime/shm/naming.h"
#include "runtime/shm/rpc.h"

namespace softib::daemon {

/// A program on several hosts connects from the first of them.
int Daemon::handle(Connection& connection, const shm::request::CmOpen& request) {
    if (connection.owner != 0 || connection.uses_cm) {
        return EALREADY;
    }
    const std::uint32_t host = find_host(arena_, request.hosts.substr(0, request.hosts.find(',')));
    if (host == UINT32_MAX) {
        return ENOENT;
    }
    connection.uses_cm = true;
    cm_.change().open(connection.fd, host);
    watch_process(connection);
    return 0;
}

int Daemon::handle(Connection& connection, const shm::request::CmChannel& /*request*/,
                   Answer<shm::request::CmChannel>& answer) {
    if (connection.owner != 0 || connection.uses_cm) {
        return EALREADY;
    }
    connection.uses_cm = true;
    return answer({.channel = cm_.change().open_channel(connection.fd)});
}

int Daemon::handle(Connection& connection, const shm::request::Cm& request,
                   Answer<shm::request::Cm>& answer) {
    if (!cm_->is_open(connection.fd)) {
        return EINVAL;
    }
    return answer(
        {.reply = cm_.change().execute(connection.fd, request.command, shm::monotonic_ns())});
}

int Daemon::handle(Connection& connection, const shm::request::CmNext& /*request*/) {
    cm_.unmarked().taken(connection.fd);
    hand_out_cm_events();
    return 0;
}

int Daemon::handle(Connection& /*connection*/, const shm::request::CmDescribe& /*request*/,
                   Answer<shm::request::CmDescribe>& answer) {
    const std::string text = cm_->describe();
    const int fd = memfd_create("softib-cm", MFD_CLOEXEC);
    if (fd < 0 || pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
        const int error = errno;
        if (fd >= 0) {
            close(fd);
        }
        return error;
    }
    return answer({{}, fd});
}

void Daemon::hand_out_cm_events() {
    while (const auto out = cm_.unmarked().poll()) {
        const auto found = connections_.find(out->fd);
        if (found == connections_.end()) {
            continue;
        }
        shm::Message message;
        if (to_message(shm::request::CmEvent{.event = out->event}, message) &&
            !rpc_send(out->fd, message, -1) && errno == EAGAIN) {
            log_warning("lost an event for pid {}: its channel is full", found->second->pid);
        }
    }
}

}  // namespace softib::daemon
