// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A connection to the daemon of a fabric for a few requests. Each waits at most ten seconds.

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <string>

#include "runtime/shm/rpc.h"

namespace softib::server {

class Connection {
  public:
    explicit Connection(const std::string& dir) : fd_(shm::rpc_connect(dir.c_str())) {
        if (fd_ >= 0) {
            constexpr timeval kPatience{10, 0};
            setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
            setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
        }
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() {
        if (fd_ >= 0) {
            close(fd_);
        }
    }
    /// Returns the socket; -1 if the connection failed (errno said why after construction).
    int fd() const { return fd_; }

  private:
    int fd_;
};

}  // namespace softib::server
