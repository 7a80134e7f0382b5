// SPDX-License-Identifier: BSD-2-Clause
#include "abi/sysfs/ask_daemon.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "abi/sysfs/redirect.h"

namespace softib::sysfs {

namespace {

constexpr long kAnswerTimeoutUs = 200'000;
/// How long a daemon that did not answer in time is not asked again.
constexpr std::int64_t kPauseMs = 2'000;

constinit std::atomic<std::int64_t> paused_until_ms{0};

std::int64_t now_ms() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void limit_waits(int fd) {
    const timeval timeout{.tv_sec = 0, .tv_usec = kAnswerTimeoutUs};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
}

}  // namespace

int connect_in_time() {
    const std::string_view fabric_dir = settings().fabric_dir;
    if (fabric_dir.empty()) {
        errno = ENOENT;
        return -1;
    }
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const int n = std::snprintf(address.sun_path, sizeof address.sun_path, "%s/%s",
                                fabric_dir.data(), shm::kSocketName);
    if (n < 0 || static_cast<std::size_t>(n) >= sizeof address.sun_path) {
        const int fd = shm::rpc_connect(fabric_dir.data());
        if (fd >= 0) {
            limit_waits(fd);
        }
        return fd;
    }
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    limit_waits(fd);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        const int saved_errno = errno;
        close(fd);
        errno = saved_errno;
        return -1;
    }
    return fd;
}

bool exchange_with_daemon(shm::Message& message) {
    if (now_ms() < paused_until_ms.load(std::memory_order_relaxed)) {
        return false;
    }
    errno = 0;
    bool answered = false;
    const int fd = connect_in_time();
    if (fd >= 0) {
        answered = shm::rpc_exchange(fd, message, nullptr);
        const int saved_errno = errno;
        close(fd);
        errno = saved_errno;
    }
    if (!answered && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        paused_until_ms.store(now_ms() + kPauseMs, std::memory_order_relaxed);
    }
    return answered;
}

}  // namespace softib::sysfs
