// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/memory/copy_team.h"

#include <sched.h>

#include <algorithm>

#include "runtime/shm/clock.h"
#include "runtime/shm/shm_lock.h"
#include "runtime/shm/thread.h"

namespace softib::direct {

namespace {

/// How long a helper spins in case another copy comes, before it sleeps.
constexpr std::uint64_t kLookOutNs = 100'000;
/// How often a thread that spins looks for work before it reads the clock or yields its core.
constexpr std::uint32_t kLooks = 64;
constexpr std::uint32_t kBusyThreads = 2;  ///< Cores to leave to each process's own threads.
constexpr std::uint64_t kLowHalf = 0xFFFF'FFFF;

}  // namespace

std::uint32_t CopyTeam::helpers_for(std::uint32_t cores, std::uint32_t processes) {
    const std::uint32_t each = cores / std::max(processes, 1U);
    return each <= kBusyThreads ? 0 : std::min(each - kBusyThreads, kHelpersMax);
}

void CopyTeam::set_helpers(std::uint32_t helpers) {
    const std::uint32_t wanted = std::min(helpers, kHelpersMax);
    if (wanted_.exchange(wanted, std::memory_order_relaxed) < wanted) {
        shm::futex_wake(wanted_);
    }
}

void CopyTeam::start(std::uint32_t helpers) {
    std::uint32_t started = started_.load(std::memory_order_relaxed);
    while (started < helpers && shm::start_thread("softib-copy", helper_main, this)) {
        ++started;
    }
    started_.store(started, std::memory_order_relaxed);
    if (started < helpers) {
        wanted_.store(started, std::memory_order_relaxed);  // No more threads can be started.
    }
}

int CopyTeam::share(std::uint64_t bytes, Call call, void* context) {
    start(helpers());
    bytes_ = bytes;
    pieces_ = static_cast<std::uint32_t>((bytes + kPieceBytes - 1) / kPieceBytes);
    call_ = call;
    context_ = context;
    done_.store(0, std::memory_order_relaxed);
    error_.store(0, std::memory_order_relaxed);
    const std::uint64_t number = (open_.load(std::memory_order_relaxed) >> 32) + 1;
    open_.store(number << 32 | pieces_, std::memory_order_seq_cst);
    if (bytes >= kWakeBytesMin - kTailBytes && sleeping_.load(std::memory_order_seq_cst) != 0) {
        bell_.fetch_add(1, std::memory_order_seq_cst);
        shm::futex_wake(bell_);
    }
    while (take_piece()) {
    }
    for (std::uint32_t i = 0; done_.load(std::memory_order_acquire) != pieces_; ++i) {
        // A helper that lost its core in the middle of a piece may need this thread's core.
        i % kLooks == kLooks - 1 ? static_cast<void>(sched_yield()) : shm::cpu_relax();
    }
    return error_.load(std::memory_order_relaxed);
}

bool CopyTeam::take_piece() {
    std::uint64_t open = open_.load(std::memory_order_acquire);
    do {
        if ((open & kLowHalf) == 0) {
            return false;
        }
    } while (!open_.compare_exchange_weak(open, open - 1, std::memory_order_acq_rel,
                                          std::memory_order_acquire));
    const std::uint64_t begin = (pieces_ - (open & kLowHalf)) * kPieceBytes;
    if (const int error = call_(context_, begin, std::min(begin + kPieceBytes, bytes_));
        error != 0) {
        error_.store(error, std::memory_order_relaxed);
    }
    done_.fetch_add(1, std::memory_order_release);
    return true;
}

void* CopyTeam::helper_main(void* self) {
    auto& team = *static_cast<CopyTeam*>(self);
    team.helper_loop(team.numbers_.fetch_add(1));
    return nullptr;
}

void CopyTeam::helper_loop(std::uint32_t number) {
    for (;;) {
        for (std::uint32_t wanted = helpers(); number >= wanted; wanted = helpers()) {
            shm::futex_wait(wanted_, wanted, 0);  // There are more helpers than wanted.
        }
        std::uint64_t until = shm::monotonic_ns() + kLookOutNs;
        while (number < helpers() && shm::monotonic_ns() < until) {
            for (std::uint32_t i = 0; i < kLooks; ++i) {
                if (take_piece()) {
                    until = shm::monotonic_ns() + kLookOutNs;
                }
                shm::cpu_relax();
            }
        }
        const std::uint32_t bell = bell_.load(std::memory_order_seq_cst);
        sleeping_.fetch_add(1, std::memory_order_seq_cst);
        // A copy that began before this thread counted as sleeping rings no bell, but its pieces
        // are open now.
        if ((open_.load(std::memory_order_seq_cst) & kLowHalf) == 0) {
            shm::futex_wait(bell_, bell, 0);
        }
        sleeping_.fetch_sub(1, std::memory_order_seq_cst);
    }
}

}  // namespace softib::direct
