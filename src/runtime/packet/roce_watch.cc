// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/packet/roce_watch.h"

#include <sys/epoll.h>

#include "runtime/live/packet_queue.h"

namespace softib::packet {

RoceWatch::RoceWatch(const live::Arena& arena, int epoll_fd)
    : arena_(arena), epoll_fd_(epoll_fd), thread_([this] { look(); }) {}

void RoceWatch::arm() {
    if (armed_.exchange(1) == 0) {
        armed_.notify_one();
    }
}

void RoceWatch::look() {
    for (;;) {
        armed_.wait(0);
        epoll_event event{};
        if (epoll_wait(epoll_fd_, &event, 1, -1) <= 0) {
            continue;
        }
        armed_.store(0);
        live::ring_carrier(arena_);
    }
}

}  // namespace softib::packet
