// SPDX-License-Identifier: BSD-2-Clause
#include "abi/rspreload/epoll.h"

#include <rdma/rsocket.h>
#include <signal.h>
#include <sys/epoll.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <vector>

#include "abi/rspreload/table.h"
#include "abi/rspreload/waiting.h"

namespace softib::rspreload {

namespace {

constinit Next<int(int, int, int, epoll_event*)> next_epoll_ctl{"epoll_ctl"};
constinit Next<int(int, epoll_event*, int, int)> next_epoll_wait{"epoll_wait"};
constinit Next<int(int, epoll_event*, int, int, const sigset_t*)> next_epoll_pwait{"epoll_pwait"};

struct Watch {
    int epoll_fd = -1;
    int fd = -1;
    epoll_event wanted{};
    bool reported = false;  ///< A one-shot watch (EPOLLONESHOT) has been reported.
};

std::mutex g_mutex;
std::vector<Watch> g_watches;
/// The number of watches. Most programs have none, and see that here without taking the lock.
std::atomic<std::size_t> g_count{0};

auto find_watch(int epoll_fd, int fd) {
    return std::ranges::find_if(g_watches, [epoll_fd, fd](const Watch& watch) {
        return watch.epoll_fd == epoll_fd && watch.fd == fd;
    });
}

int change(int epoll_fd, int operation, int fd, const epoll_event* wanted) {
    const std::lock_guard guard(g_mutex);
    const auto found = find_watch(epoll_fd, fd);
    const bool exists = found != g_watches.end();
    if (exists == (operation == EPOLL_CTL_ADD)) {
        errno = exists ? EEXIST : ENOENT;
        return -1;
    }
    if (operation == EPOLL_CTL_DEL) {
        g_watches.erase(found);
    } else if (wanted == nullptr) {
        errno = EFAULT;
        return -1;
    } else if (exists) {
        *found = {.epoll_fd = epoll_fd, .fd = fd, .wanted = *wanted};
    } else {
        g_watches.push_back({.epoll_fd = epoll_fd, .fd = fd, .wanted = *wanted});
    }
    g_count = g_watches.size();
    return 0;
}

std::vector<Watch> watches_of(int epoll_fd) {
    std::vector<Watch> found;
    if (g_count == 0) {
        return found;
    }
    const std::lock_guard guard(g_mutex);
    std::ranges::copy_if(g_watches, std::back_inserter(found), [epoll_fd](const Watch& watch) {
        return watch.epoll_fd == epoll_fd && !watch.reported;
    });
    return found;
}

void mark_reported(const Watch& watch) {
    const std::lock_guard guard(g_mutex);
    if (const auto found = find_watch(watch.epoll_fd, watch.fd); found != g_watches.end()) {
        found->reported = true;
    }
}

/// The events of poll() have the same bits as those of epoll.
static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLHUP == POLLHUP &&
              EPOLLERR == POLLERR);

int wait_for_both(int epoll_fd, const std::vector<Watch>& watches, epoll_event* events, int max,
                  int timeout_ms) {
    std::vector<pollfd> fds{{.fd = epoll_fd, .events = POLLIN, .revents = 0}};
    for (const Watch& watch : watches) {
        fds.push_back({.fd = watch.fd,
                       .events = static_cast<short>(watch.wanted.events & (POLLIN | POLLOUT)),
                       .revents = 0});
    }
    if (wait_for(fds, timeout_ms) < 0) {
        return -1;
    }
    int count = 0;
    for (std::size_t i = 0; i < watches.size() && count < max; ++i) {
        if (fds[i + 1].revents == 0) {
            continue;
        }
        events[count++] = {.events = static_cast<std::uint32_t>(fds[i + 1].revents),
                           .data = watches[i].wanted.data};
        if ((watches[i].wanted.events & EPOLLONESHOT) != 0) {
            mark_reported(watches[i]);
        }
    }
    if (fds[0].revents != 0 && count < max) {
        const int ordinary = next_epoll_wait(epoll_fd, events + count, max - count, 0);
        count += std::max(ordinary, 0);
    }
    return count;
}

}  // namespace

void hand_over_watches(int fd) {
    if (g_count == 0) {
        return;
    }
    const std::lock_guard guard(g_mutex);
    for (Watch& watch : g_watches) {
        if (watch.fd == fd) {
            next_epoll_ctl(watch.epoll_fd, EPOLL_CTL_ADD, fd, &watch.wanted);
        }
    }
    std::erase_if(g_watches, [fd](const Watch& watch) { return watch.fd == fd; });
    g_count = g_watches.size();
}

void forget_watches(int fd) {
    if (g_count == 0) {
        return;
    }
    const std::lock_guard guard(g_mutex);
    std::erase_if(g_watches, [fd](const Watch& watch) { return watch.fd == fd; });
    g_count = g_watches.size();
}

void forget_epoll(int epoll_fd) {
    if (g_count == 0) {
        return;
    }
    const std::lock_guard guard(g_mutex);
    std::erase_if(g_watches, [epoll_fd](const Watch& watch) { return watch.epoll_fd == epoll_fd; });
    g_count = g_watches.size();
}

void forget_all_watches() {
    g_count = 0;
}

int shim_epoll_ctl(int epoll_fd, int operation, int fd, epoll_event* wanted)
    SOFTIB_FS_EXPORT("epoll_ctl");
int shim_epoll_ctl(int epoll_fd, int operation, int fd, epoll_event* wanted) {
    return find(fd).phase == Phase::kOrdinary ? next_epoll_ctl(epoll_fd, operation, fd, wanted)
                                              : change(epoll_fd, operation, fd, wanted);
}

int shim_epoll_pwait(int epoll_fd, epoll_event* events, int max, int timeout_ms,
                     const sigset_t* mask) SOFTIB_FS_EXPORT("epoll_pwait");
int shim_epoll_pwait(int epoll_fd, epoll_event* events, int max, int timeout_ms,
                     const sigset_t* mask) {
    const std::vector<Watch> watches = watches_of(epoll_fd);
    if (watches.empty()) {
        return next_epoll_pwait(epoll_fd, events, max, timeout_ms, mask);
    }
    sigset_t before;
    if (mask != nullptr) {
        pthread_sigmask(SIG_SETMASK, mask, &before);
    }
    const int count = wait_for_both(epoll_fd, watches, events, max, timeout_ms);
    if (mask != nullptr) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    return count;
}

int shim_epoll_wait(int epoll_fd, epoll_event* events, int max, int timeout_ms)
    SOFTIB_FS_EXPORT("epoll_wait");
int shim_epoll_wait(int epoll_fd, epoll_event* events, int max, int timeout_ms) {
    const std::vector<Watch> watches = watches_of(epoll_fd);
    return watches.empty() ? next_epoll_wait(epoll_fd, events, max, timeout_ms)
                           : wait_for_both(epoll_fd, watches, events, max, timeout_ms);
}

}  // namespace softib::rspreload
