// SPDX-License-Identifier: BSD-2-Clause
// The daemon's side of SHARP: from connections to SharpClients and back.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "runtime/daemon/daemon.h"
#include "runtime/shm/clock.h"

namespace softib::live {

int Daemon::handle(Connection& connection, const request::Sharp& request,
                   Answer<request::Sharp>& answer) {
    if (connection.owner != 0 || connection.uses_cm || connection.mad_hca != UINT32_MAX) {
        return EALREADY;
    }
    connection.uses_sharp = true;
    watch_process(connection);
    request::Sharp::Reply reply;
    reply.reply =
        sharp_.change().execute(connection.fd, request.command, reply.file, monotonic_ns());
    return answer(reply);
}

int Daemon::handle(Connection& /*connection*/, const request::SharpDescribe& /*request*/,
                   Answer<request::SharpDescribe>& answer) {
    const std::string text = sharp_->describe();
    const int fd = memfd_create("softib-sharp-text", MFD_CLOEXEC);
    if (fd < 0 || pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
        const int error = errno;
        if (fd >= 0) {
            close(fd);
        }
        return error;
    }
    return answer({{}, fd});
}

}  // namespace softib::live
