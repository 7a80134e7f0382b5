// SPDX-License-Identifier: BSD-2-Clause
//
// Calls on the program's own memory. libibverbs has swapped pages of it that are registered for
// shared ones, and takes these calls over while it has (runtime/live/memory_calls.h). What the C
// library does for itself (free, realloc) does not come by here, and need not: it trusts no content.
#include "runtime/live/memory_calls.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>

#include "abi/sysfs/next.h"

namespace softib::fs {

namespace {

using live::MemoryCalls;

std::atomic<const MemoryCalls*> g_calls{nullptr};

constinit Next<int(void*, std::size_t, int)> next_madvise{"madvise"};
constinit Next<void*(void*, std::size_t, std::size_t, int, ...)> next_mremap{"mremap"};
constinit Next<pid_t()> next_bare_fork{"_Fork"};
constinit Next<int(int (*)(void*), void*, int, void*, ...)> next_clone{"clone"};

/// Allocators call them with their locks held.
__attribute__((constructor)) void find_early() {
    next_madvise.get();
    next_mremap.get();
    next_bare_fork.get();
    next_clone.get();
}

const MemoryCalls* calls() {
    return g_calls.load(std::memory_order_acquire);
}

/// What a cloned child runs first.
struct Start {
    const MemoryCalls* calls;
    int (*main)(void*);
    void* argument;
};

int run_child(void* given) {
    const Start start = *static_cast<const Start*>(given);
    start.calls->after_fork_in_child();
    return start.main(start.argument);
}

}  // namespace

// --- entry points ---------------------------------------------------------------------------------

extern "C" {

void set_memory_calls(const MemoryCalls* calls) SOFTIB_FS_EXPORT("softib_fs_set_memory_calls");
int madvise_entry(void* at, std::size_t length, int advice) SOFTIB_FS_EXPORT("madvise");
void* mremap_entry(void* from, std::size_t old_size, std::size_t new_size, int flags, ...)
    SOFTIB_FS_EXPORT("mremap");
pid_t bare_fork_entry() SOFTIB_FS_EXPORT("_Fork");
int clone_entry(int (*main)(void*), void* stack, int flags, void* argument, ...)
    SOFTIB_FS_EXPORT("clone");

void set_memory_calls(const MemoryCalls* calls) {
    g_calls.store(calls, std::memory_order_release);
}

int madvise_entry(void* at, std::size_t length, int advice) {
    const MemoryCalls* const taken = calls();
    return taken != nullptr ? taken->madvise(at, length, advice) : next_madvise(at, length, advice);
}

void* mremap_entry(void* from, std::size_t old_size, std::size_t new_size, int flags, ...) {
    void* to = nullptr;
    if ((flags & MREMAP_FIXED) != 0) {
        va_list rest;
        va_start(rest, flags);
        to = va_arg(rest, void*);
        va_end(rest);
    }
    const MemoryCalls* const taken = calls();
    return taken != nullptr ? taken->mremap(from, old_size, new_size, flags, to)
                            : next_mremap(from, old_size, new_size, flags, to);
}

pid_t bare_fork_entry() {
    const MemoryCalls* const taken = calls();
    if (taken != nullptr) {
        taken->before_fork();
    }
    const pid_t child = next_bare_fork();
    if (taken != nullptr) {
        child == 0 ? taken->after_fork_in_child() : taken->after_fork_in_parent();
    }
    return child;
}

int clone_entry(int (*main)(void*), void* stack, int flags, void* argument, ...) {
    va_list rest;
    va_start(rest, argument);
    auto* const parent_tid = va_arg(rest, pid_t*);
    auto* const tls = va_arg(rest, void*);
    auto* const child_tid = va_arg(rest, pid_t*);
    va_end(rest);
    const MemoryCalls* const taken = calls();
    if (taken == nullptr || (flags & CLONE_VM) != 0) {
        return next_clone(main, stack, flags, argument, parent_tid, tls, child_tid);
    }
    Start start{taken, main, argument};
    taken->before_fork();
    const int child = next_clone(run_child, stack, flags, &start, parent_tid, tls, child_tid);
    taken->after_fork_in_parent();
    return child;
}

}  // extern "C"

}  // namespace softib::fs
