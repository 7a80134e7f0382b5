// SPDX-License-Identifier: BSD-2-Clause
// The daemon's side of SHARP: passes requests to SharpClients.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "runtime/daemon/daemon.h"
#include "runtime/shm/clock.h"

namespace softib::daemon {

namespace {

/// Returns a descriptor of a memory file with a text, or -1 with errno.
int make_text_file(const std::string& text) {
    const int fd = memfd_create("softib-sharp-text", MFD_CLOEXEC);
    if (fd >= 0 && pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
        const int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

}  // namespace

int Daemon::handle(Connection& connection, const shm::request::Sharp& request,
                   Answer<shm::request::Sharp>& answer) {
    if (connection.owner != 0 || connection.uses_cm || connection.mad_hca != UINT32_MAX) {
        return EALREADY;
    }
    connection.uses_sharp = true;
    watch_process(connection);
    shm::request::Sharp::Reply reply;
    reply.reply =
        sharp_.change().execute(connection.fd, request.command, reply.file, shm::monotonic_ns());
    return answer(reply);
}

int Daemon::handle(Connection& /*connection*/, const shm::request::SharpDescribe& /*request*/,
                   Answer<shm::request::SharpDescribe>& answer) {
    const int fd = make_text_file(sharp_->describe());
    return fd < 0 ? errno : answer({{}, fd});
}

int Daemon::handle(Connection& /*connection*/, const shm::request::SharpPlane& /*request*/,
                   Answer<shm::request::SharpPlane>& answer) {
    const int fd = make_text_file(emit_plane(sharp_->plane()));
    return fd < 0 ? errno : answer({{}, fd});
}

int Daemon::handle(Connection& /*connection*/, const shm::request::SharpMemory& request,
                   Answer<shm::request::SharpMemory>& answer) {
    const int fd = sharp_->share_memory(request.job, request.group);
    return fd < 0 ? ENOENT : answer({{}, fd});
}

}  // namespace softib::daemon
