// SPDX-License-Identifier: BSD-2-Clause
#include "abi/sysfs/io_gate.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "abi/sysfs/next.h"

namespace softib::sysfs {

namespace {

/// The most calls of a thread at a time: a signal handler's call may interrupt another call.
constexpr std::uint32_t kDepthMax = 4;
constexpr std::uint32_t kThreadsMax = 4096;
/// How often close_io_gate() looks whether a call under way has ended, before it gives up.
constexpr int kLooksMax = 200;

/// The calls of one thread that are under way.
struct alignas(64) Record {
    std::atomic<std::uint32_t> tid;  ///< The thread; 0 if the record is free.
    std::uint32_t depth;             ///< The number of calls under way; only the thread uses it.
    struct {
        std::atomic<std::uint64_t> begin;
        std::atomic<std::uint64_t> end;  ///< 0 if there is no call.
    } calls[kDepthMax];
};

// All constinit, because programs call us before our constructors have run.
constinit Record g_records[kThreadsMax]{};
constinit std::atomic<std::uint32_t> g_records_used{0};  ///< Records from here on were never used.
constinit std::atomic<std::uint32_t> g_unknown{0};       ///< Calls under way that have no record.

// The closed range is [begin, end); end is 0 if none is closed.
constinit std::atomic<std::uint64_t> g_closed_begin{0};
constinit std::atomic<std::uint64_t> g_closed_end{0};
constinit std::atomic<std::uint32_t> g_openings{0};

constinit thread_local Record* t_record = nullptr;

/// Its address stands for the record of a call that has none.
char g_no_record = 0;

bool lives(std::uint32_t tid) {
    return syscall(SYS_tgkill, getpid(), tid, 0) == 0 || errno != ESRCH;
}

Record* claim() {
    const auto self = static_cast<std::uint32_t>(syscall(SYS_gettid));
    for (const bool also_of_the_dead : {false, true}) {
        for (std::uint32_t i = 0; i < kThreadsMax; ++i) {
            Record& record = g_records[i];
            std::uint32_t tid = record.tid.load(std::memory_order_relaxed);
            if ((tid == 0 || (also_of_the_dead && !lives(tid))) &&
                record.tid.compare_exchange_strong(tid, self)) {
                record.depth = 0;
                std::uint32_t used = g_records_used.load();
                while (used <= i && !g_records_used.compare_exchange_weak(used, i + 1)) {
                }
                return &record;
            }
        }
    }
    return nullptr;
}

bool is_closed(std::uint64_t begin, std::uint64_t end) {
    return begin < g_closed_end.load(std::memory_order_relaxed) &&
           end > g_closed_begin.load(std::memory_order_relaxed);
}

void wait_for_opening(std::uint64_t begin, std::uint64_t end) {
    const std::uint32_t seen = g_openings.load(std::memory_order_acquire);
    if (is_closed(begin, end)) {
        syscall(SYS_futex, &g_openings, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
    }
}

/// Returns whether a call is under way on [begin, end).
bool is_busy(std::uint64_t begin, std::uint64_t end) {
    if (g_unknown.load() != 0) {
        return true;
    }
    const std::uint32_t used = g_records_used.load();
    for (std::uint32_t i = 0; i < used; ++i) {
        Record& record = g_records[i];
        for (auto& call : record.calls) {
            const std::uint64_t last = call.end.load(std::memory_order_acquire);
            if (last != 0 && call.begin.load(std::memory_order_relaxed) < end && begin < last) {
                if (lives(record.tid.load())) {
                    return true;
                }
                call.end.store(0);  // The thread ended in this call.
            }
        }
    }
    return false;
}

/// Announces a call that has no record. Waits if its memory is closed.
void enter_unknown(std::uint64_t begin, std::uint64_t end) {
    for (;;) {
        g_unknown.fetch_add(1);
        std::atomic_signal_fence(std::memory_order_seq_cst);  // close_io_gate() has the barrier.
        if (!is_closed(begin, end)) {
            return;
        }
        g_unknown.fetch_sub(1);
        wait_for_opening(begin, end);
    }
}

/// Clears all records in a forked child, whose only thread is in no call.
void forget_threads() {
    const std::uint32_t used = g_records_used.load();
    for (std::uint32_t i = 0; i < used; ++i) {
        for (auto& call : g_records[i].calls) {
            call.end.store(0);
        }
        g_records[i].tid.store(0);
    }
    t_record = nullptr;
    g_unknown.store(0);
    g_closed_end.store(0);
}

__attribute__((constructor)) void watch_forks() {
    pthread_atfork(nullptr, nullptr, forget_threads);
}

}  // namespace

void IoPass::enter(std::uint64_t begin, std::uint64_t length) {
    if (length == 0) {
        return;
    }
    const std::uint64_t end = begin + length < begin ? UINT64_MAX : begin + length;
    if (t_record == nullptr) {
        t_record = claim();
    }
    Record* const record = t_record;
    if (record == nullptr || record->depth == kDepthMax) {
        record_ = &g_no_record;
        enter_unknown(begin, end);
        return;
    }
    record_ = record;
    auto& call = record->calls[record->depth++];
    for (;;) {
        call.begin.store(begin, std::memory_order_relaxed);
        call.end.store(end, std::memory_order_release);
        std::atomic_signal_fence(std::memory_order_seq_cst);  // close_io_gate() has the barrier.
        if (!is_closed(begin, end)) [[likely]] {
            return;
        }
        call.end.store(0, std::memory_order_release);
        wait_for_opening(begin, end);
    }
}

void IoPass::leave() {
    if (record_ == nullptr) {
        return;
    }
    if (record_ == &g_no_record) {
        g_unknown.fetch_sub(1);
        return;
    }
    auto* const record = static_cast<Record*>(record_);
    record->calls[--record->depth].end.store(0, std::memory_order_release);
}

extern "C" {

bool close_io_gate(std::uint64_t begin, std::uint64_t end)
    SOFTIB_FS_EXPORT("softib_fs_close_io_gate");
void open_io_gate() SOFTIB_FS_EXPORT("softib_fs_open_io_gate");

bool close_io_gate(std::uint64_t begin, std::uint64_t end) {
    const auto barrier = [](int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; };
    g_closed_begin.store(begin);
    g_closed_end.store(end);
    if (!barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) &&
        !(barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
          barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))) {
        open_io_gate();
        return false;
    }
    for (int looks = 0; is_busy(begin, end); ++looks) {
        if (looks == kLooksMax) {
            open_io_gate();
            return false;
        }
        sched_yield();
    }
    return true;
}

void open_io_gate() {
    g_closed_end.store(0);
    g_openings.fetch_add(1);
    syscall(SYS_futex, &g_openings, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

}  // extern "C"

}  // namespace softib::sysfs
