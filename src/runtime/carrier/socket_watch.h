// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Wakes the carrier when a datagram arrives while it sleeps. The carrier sleeps on a word in the
// arena, which a socket cannot write: a thread looks at the sockets meanwhile. It looks once each
// time it is told to, so that it does not disturb a carrier at work.

#include <atomic>
#include <cstdint>
#include <thread>

#include "runtime/shm/arena.h"

namespace softib::carrier {

class SocketWatch {
  public:
    /// `epoll_fd` has all sockets; both outlive the watch, which lives as long as the process.
    SocketWatch(const live::Arena& arena, int epoll_fd);

    /// The next datagram, or one that waits already, wakes the carrier.
    void arm();

  private:
    [[noreturn]] void look();

    const live::Arena& arena_;
    int epoll_fd_;
    std::atomic<std::uint32_t> armed_{0};
    std::jthread thread_;
};

}  // namespace softib::carrier
