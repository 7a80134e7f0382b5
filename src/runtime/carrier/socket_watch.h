// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Wakes the carrier when a datagram arrives while it sleeps. The carrier sleeps on a word in the
// arena, which a socket cannot write, so a thread waits for the sockets meanwhile. It waits only
// once each time it is armed, so that it does not disturb a carrier at work.

#include <atomic>
#include <cstdint>
#include <thread>

#include "runtime/shm/arena.h"

namespace softib::carrier {

class SocketWatch {
  public:
    /// `epoll_fd` has all sockets. Both arguments must outlive the watch, which lives as long as
    /// the process.
    SocketWatch(const shm::Arena& arena, int epoll_fd);

    /// Lets the next datagram, or one that waits already, wake the carrier.
    void arm();

  private:
    [[noreturn]] void look();

    const shm::Arena& arena_;
    int epoll_fd_;
    std::atomic<std::uint32_t> armed_{0};
    std::jthread thread_;
};

}  // namespace softib::carrier
