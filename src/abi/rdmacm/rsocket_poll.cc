// SPDX-License-Identifier: BSD-2-Clause
// Waiting for several descriptors, ordinary ones and sockets over RDMA. This library knows whether
// a socket over RDMA is ready; until it is, the kernel waits for two descriptors of that socket.
#include <poll.h>
#include <rdma/rsocket.h>
#include <sys/select.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "abi/rdmacm/id.h"
#include "abi/rdmacm/rsocket.h"

namespace softib::abi::rdmacm {

namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

std::int64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

Patience::Patience(int ms) : end_ns_(ms < 0 ? -1 : now_ns() + ms * kNsPerMs) {}

int Patience::left_ms() const {
    if (end_ns_ < 0) {
        return -1;
    }
    const std::int64_t left_ns = end_ns_ - now_ns();
    return left_ns <= 0 ? 0 : static_cast<int>((left_ns + kNsPerMs - 1) / kNsPerMs);
}

}  // namespace softib::abi::rdmacm

using namespace softib::abi::rdmacm;

namespace {

short ready_events(const Rsocket& socket, short wanted) {
    short out = 0;
    if (is_readable(socket)) {
        out |= POLLIN;
    }
    if (is_writable(socket)) {
        out |= POLLOUT;
    }
    out = static_cast<short>(out & wanted);
    if (socket.state == SocketState::kFailed) {
        out |= POLLERR;
    }
    // The hang-up is reported after everything that came before it was read.
    if (socket.queue_count == 0 &&
        (socket.state == SocketState::kClosed || socket.state == SocketState::kFailed)) {
        out |= POLLHUP;
    }
    return out;
}

/// Fills in `revents` of sockets over RDMA, and returns how many are ready. Writes what the kernel
/// must wait for to `kernel`: two descriptors for each of `fds`.
int look(pollfd* fds, nfds_t nfds, pollfd* kernel) {
    int ready = 0;
    for (nfds_t i = 0; i < nfds; ++i) {
        pollfd* const own = kernel + 2 * i;
        own[0] = fds[i];
        own[1] = {.fd = -1, .events = 0, .revents = 0};
        const SocketUse socket(fds[i].fd);
        if (!socket) {
            continue;
        }
        const std::lock_guard guard(socket->mutex);
        progress_transfer(*socket);
        fds[i].revents = ready_events(*socket, fds[i].events);
        if (fds[i].revents == 0) {
            progress(*socket);
            if (!arm(*socket)) {
                progress(*socket);
            }
            fds[i].revents = ready_events(*socket, fds[i].events);
        }
        ready += fds[i].revents != 0 ? 1 : 0;
        own[0].events = POLLIN;
        own[1] = {.fd = completion_fd(*socket), .events = POLLIN, .revents = 0};
    }
    return ready;
}

/// Copies the kernel's results for ordinary descriptors. Returns how many are ready.
int take_ordinary(pollfd* fds, nfds_t nfds, const pollfd* kernel) {
    int ready = 0;
    for (nfds_t i = 0; i < nfds; ++i) {
        if (!is_socket(fds[i].fd)) {
            fds[i].revents = kernel[2 * i].revents;
            ready += fds[i].revents != 0 ? 1 : 0;
        }
    }
    return ready;
}

}  // namespace

extern "C" {

int rpoll(pollfd* fds, nfds_t nfds, int timeout) {
    if (std::none_of(fds, fds + nfds, [](const pollfd& each) { return is_socket(each.fd); })) {
        return poll(fds, nfds, timeout);
    }
    auto* const kernel = new (std::nothrow) pollfd[2 * nfds];
    if (kernel == nullptr) {
        return fail(ENOMEM);
    }
    const Patience patience(timeout);
    int result = 0;
    while (true) {
        const int sockets = look(fds, nfds, kernel);
        const int left_ms = patience.left_ms();
        const int polled = poll(kernel, 2 * nfds, sockets > 0 ? 0 : left_ms);
        if (polled < 0) {
            result = -1;
            break;
        }
        result = sockets + take_ordinary(fds, nfds, kernel);
        if (result > 0 || (polled == 0 && left_ms == 0)) {
            break;
        }
    }
    delete[] kernel;
    return result;
}

int rselect(int nfds, fd_set* readfds, fd_set* writefds, fd_set* exceptfds, timeval* timeout) {
    pollfd fds[FD_SETSIZE];
    nfds_t count = 0;
    const auto has = [](const fd_set* set, int fd) { return set != nullptr && FD_ISSET(fd, set); };
    for (int fd = 0; fd < nfds && fd < FD_SETSIZE; ++fd) {
        const int events = (has(readfds, fd) ? POLLIN : 0) | (has(writefds, fd) ? POLLOUT : 0);
        if (events != 0 || has(exceptfds, fd)) {
            fds[count++] = {.fd = fd, .events = static_cast<short>(events), .revents = 0};
        }
    }
    const int timeout_ms =
        timeout == nullptr
            ? -1
            : static_cast<int>(timeout->tv_sec * 1000 + (timeout->tv_usec + 999) / 1000);
    if (rpoll(fds, count, timeout_ms) < 0) {
        return -1;
    }
    int bits = 0;
    for (nfds_t i = 0; i < count; ++i) {
        const auto settle = [&](fd_set* set, int events) {
            if (!has(set, fds[i].fd)) {
                return;
            }
            if ((fds[i].revents & events) != 0) {
                ++bits;
            } else {
                FD_CLR(fds[i].fd, set);
            }
        };
        settle(readfds, POLLIN | POLLHUP | POLLERR);
        settle(writefds, POLLOUT | POLLERR);
        settle(exceptfds, POLLPRI);
    }
    return bits;
}

}  // extern "C"
