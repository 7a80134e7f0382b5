// SPDX-License-Identifier: BSD-2-Clause
// poll and select, by rpoll. A descriptor that is connected over the fabric is ready when its
// socket over RDMA is, a listener when either of its two sockets is.
#include "abi/rspreload/waiting.h"

#include <rdma/rsocket.h>
#include <signal.h>
#include <sys/select.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <vector>

#include "abi/rspreload/table.h"

namespace softib::rspreload {

namespace {

constinit Next<int(pollfd*, nfds_t, int)> next_poll{"poll"};
constinit Next<int(pollfd*, nfds_t, const timespec*, const sigset_t*)> next_ppoll{"ppoll"};
constinit Next<int(int, fd_set*, fd_set*, fd_set*, timeval*)> next_select{"select"};
constinit Next<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)> next_pselect{
    "pselect"};

bool is_ours(int fd) {
    const Phase phase = find(fd).phase;
    return phase == Phase::kListening || phase == Phase::kConnected;
}

int to_ms(const timespec* time) {
    if (time == nullptr) {
        return -1;
    }
    const long ms = time->tv_sec * 1000 + (time->tv_nsec + 999'999) / 1'000'000;
    return static_cast<int>(std::min<long>(ms, std::numeric_limits<int>::max()));
}

/// Sets the thread's signal mask while it lives.
class Signals {
  public:
    explicit Signals(const sigset_t* mask) : changed_(mask != nullptr) {
        if (changed_) {
            pthread_sigmask(SIG_SETMASK, mask, &before_);
        }
    }
    ~Signals() {
        if (changed_) {
            pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        }
    }
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

  private:
    bool changed_;
    sigset_t before_{};
};

struct Sets {
    fd_set* reads;
    fd_set* writes;
    fd_set* exceptions;
};

bool has(const fd_set* set, int fd) {
    return set != nullptr && FD_ISSET(fd, set);
}

std::vector<pollfd> to_poll(const Sets& sets, int count) {
    std::vector<pollfd> fds;
    for (int fd = 0; fd < count && fd < FD_SETSIZE; ++fd) {
        const int events = (has(sets.reads, fd) ? POLLIN : 0) |
                           (has(sets.writes, fd) ? POLLOUT : 0) |
                           (has(sets.exceptions, fd) ? POLLPRI : 0);
        if (events != 0) {
            fds.push_back({.fd = fd, .events = static_cast<short>(events), .revents = 0});
        }
    }
    return fds;
}

int settle(fd_set* set, const pollfd& fd, int events) {
    if (!has(set, fd.fd)) {
        return 0;
    }
    if ((fd.revents & events) != 0) {
        return 1;
    }
    FD_CLR(fd.fd, set);
    return 0;
}

int select_by_poll(std::vector<pollfd>& fds, const Sets& sets, int timeout_ms) {
    if (wait_for(fds, timeout_ms) < 0) {
        return -1;
    }
    int bits = 0;
    for (const pollfd& fd : fds) {
        if ((fd.revents & POLLNVAL) != 0) {
            errno = EBADF;
            return -1;
        }
        bits += settle(sets.reads, fd, POLLIN | POLLHUP | POLLERR);
        bits += settle(sets.writes, fd, POLLOUT | POLLERR);
        bits += settle(sets.exceptions, fd, POLLPRI);
    }
    return bits;
}

}  // namespace

bool has_any_of_ours(std::span<const pollfd> fds) {
    return std::ranges::any_of(fds, [](const pollfd& each) { return is_ours(each.fd); });
}

int wait_for(std::span<pollfd> fds, int timeout_ms) {
    // Two for each descriptor: its socket over RDMA or the descriptor itself, and the ordinary
    // socket of a listener.
    std::vector<pollfd> both(2 * fds.size(), {.fd = -1, .events = 0, .revents = 0});
    for (std::size_t i = 0; i < fds.size(); ++i) {
        const Entry entry = find(fds[i].fd);
        both[2 * i] = {.fd = fds[i].fd, .events = fds[i].events, .revents = 0};
        if (is_ours(fds[i].fd)) {
            both[2 * i].fd = entry.number;
        }
        if (entry.phase == Phase::kListening && entry.ordinary_bound) {
            both[2 * i + 1] = {.fd = fds[i].fd, .events = fds[i].events, .revents = 0};
        }
    }
    const Inside inside;
    if (rpoll(both.data(), both.size(), timeout_ms) < 0) {
        return -1;
    }
    int ready = 0;
    for (std::size_t i = 0; i < fds.size(); ++i) {
        fds[i].revents = static_cast<short>(both[2 * i].revents | both[2 * i + 1].revents);
        ready += fds[i].revents != 0 ? 1 : 0;
    }
    return ready;
}

int shim_poll(pollfd* fds, nfds_t count, int timeout_ms) SOFTIB_FS_EXPORT("poll");
int shim_poll(pollfd* fds, nfds_t count, int timeout_ms) {
    return has_any_of_ours({fds, count}) ? wait_for({fds, count}, timeout_ms)
                                         : next_poll(fds, count, timeout_ms);
}

int shim_poll_chk(pollfd* fds, nfds_t count, int timeout_ms, size_t) SOFTIB_FS_EXPORT("__poll_chk");
int shim_poll_chk(pollfd* fds, nfds_t count, int timeout_ms, size_t) {
    return shim_poll(fds, count, timeout_ms);
}

int shim_ppoll(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask)
    SOFTIB_FS_EXPORT("ppoll");
int shim_ppoll(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask) {
    if (!has_any_of_ours({fds, count})) {
        return next_ppoll(fds, count, timeout, mask);
    }
    const Signals signals(mask);
    return wait_for({fds, count}, to_ms(timeout));
}

int shim_ppoll_chk(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask, size_t)
    SOFTIB_FS_EXPORT("__ppoll_chk");
int shim_ppoll_chk(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask,
                   size_t) {
    return shim_ppoll(fds, count, timeout, mask);
}

int shim_pselect(int count, fd_set* reads, fd_set* writes, fd_set* exceptions,
                 const timespec* timeout, const sigset_t* mask) SOFTIB_FS_EXPORT("pselect");
int shim_pselect(int count, fd_set* reads, fd_set* writes, fd_set* exceptions,
                 const timespec* timeout, const sigset_t* mask) {
    const Sets sets{.reads = reads, .writes = writes, .exceptions = exceptions};
    std::vector<pollfd> fds = to_poll(sets, count);
    if (!has_any_of_ours(fds)) {
        return next_pselect(count, reads, writes, exceptions, timeout, mask);
    }
    const Signals signals(mask);
    return select_by_poll(fds, sets, to_ms(timeout));
}

int shim_select(int count, fd_set* reads, fd_set* writes, fd_set* exceptions, timeval* timeout)
    SOFTIB_FS_EXPORT("select");
int shim_select(int count, fd_set* reads, fd_set* writes, fd_set* exceptions, timeval* timeout) {
    const Sets sets{.reads = reads, .writes = writes, .exceptions = exceptions};
    std::vector<pollfd> fds = to_poll(sets, count);
    if (!has_any_of_ours(fds)) {
        return next_select(count, reads, writes, exceptions, timeout);
    }
    timespec precise{};
    if (timeout != nullptr) {
        precise = {.tv_sec = timeout->tv_sec, .tv_nsec = timeout->tv_usec * 1000};
    }
    return select_by_poll(fds, sets, to_ms(timeout == nullptr ? nullptr : &precise));
}

}  // namespace softib::rspreload
