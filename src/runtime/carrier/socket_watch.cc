// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/carrier/socket_watch.h"

#include <sys/epoll.h>

#include "runtime/shm/packet_queue.h"

namespace softib::carrier {

SocketWatch::SocketWatch(const shm::Arena& arena, int epoll_fd)
    : arena_(arena), epoll_fd_(epoll_fd), thread_([this] { look(); }) {}

void SocketWatch::arm() {
    if (armed_.exchange(1) == 0) {
        armed_.notify_one();
    }
}

void SocketWatch::look() {
    for (;;) {
        armed_.wait(0);
        epoll_event event{};
        if (epoll_wait(epoll_fd_, &event, 1, -1) <= 0) {
            continue;
        }
        armed_.store(0);
        shm::ring_carrier(arena_);
    }
}

}  // namespace softib::carrier
