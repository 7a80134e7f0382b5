// SPDX-License-Identifier: BSD-2-Clause
#include "abi/rspreload/table.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

#include "abi/rspreload/epoll.h"

namespace softib::rspreload {

namespace {

constexpr int kNumbersMax = 65536;

/// The entries, by descriptor. Each is one word, so that it is read whole: the phase in bits 0 to
/// 7, ordinary_bound in bit 8, the number from bit 16 on.
std::atomic<std::uint64_t> g_entries[kNumbersMax];
/// The number of descriptors that each socket over RDMA has, by the socket's number.
std::atomic<int> g_uses[kNumbersMax];

std::atomic<pid_t> g_owner{0};  // The process that owns the table.
thread_local int t_inside = 0;

bool in_range(int fd) {
    return fd >= 0 && fd < kNumbersMax;
}

std::uint64_t packed(const Entry& entry) {
    return static_cast<std::uint64_t>(entry.number) << 16 | (entry.ordinary_bound ? 1U << 8 : 0U) |
           static_cast<std::uint64_t>(entry.phase);
}

Entry unpacked(std::uint64_t word) {
    if (word == 0) {
        return {};
    }
    return {.phase = static_cast<Phase>(word & 0xFF),
            .ordinary_bound = (word & 1U << 8) != 0,
            .number = static_cast<int>(word >> 16)};
}

/// Clears the table in a forked child. The child must not use a queue pair of its parent, since
/// whatever it does there happens to the parent too.
void forget_all() {
    for (std::atomic<std::uint64_t>& entry : g_entries) {
        if (entry.load(std::memory_order_relaxed) != 0) {
            entry.store(0, std::memory_order_relaxed);
        }
    }
    for (std::atomic<int>& uses : g_uses) {
        if (uses.load(std::memory_order_relaxed) != 0) {
            uses.store(0, std::memory_order_relaxed);
        }
    }
    t_inside = 0;
    g_owner = getpid();
    forget_all_watches();
}

__attribute__((constructor)) void watch_forks() {
    g_owner = getpid();
    pthread_atfork(nullptr, nullptr, forget_all);
}

}  // namespace

Entry find(int fd) {
    return is_inside() || !in_range(fd) ? Entry{} : unpacked(g_entries[fd].load());
}

bool is_connected(int fd, int& number) {
    const Entry entry = find(fd);
    number = entry.number;
    return entry.phase == Phase::kConnected;
}

void remember(int fd, const Entry& entry) {
    if (!in_range(fd) || !in_range(entry.number)) {
        return;
    }
    if (g_entries[fd].exchange(packed(entry)) == 0) {
        g_uses[entry.number].fetch_add(1);
    }
}

void remember_duplicate(int fd, int original) {
    const Entry entry = find(original);
    if (entry.phase != Phase::kOrdinary) {
        remember(fd, entry);
    }
}

bool owns_table() {
    return g_owner == getpid();
}

bool forget(int fd, int& number) {
    if (!in_range(fd) || g_entries[fd].load() == 0 || !owns_table()) {
        return false;
    }
    const std::uint64_t word = g_entries[fd].exchange(0);
    if (word == 0) {
        return false;
    }
    number = unpacked(word).number;
    return g_uses[number].fetch_sub(1) == 1;
}

bool is_inside() {
    return t_inside > 0;
}

Inside::Inside() {
    ++t_inside;
}

Inside::~Inside() {
    --t_inside;
}

}  // namespace softib::rspreload
