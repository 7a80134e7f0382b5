// SPDX-License-Identifier: BSD-2-Clause
//
// The program's calls on its own memory. While libibverbs has swapped registered pages for arena
// pages, it takes these calls (runtime/direct/memory_calls.h). Calls inside the C library (free,
// realloc) do not come here and need not: the C library does not rely on the content of pages that
// it drops.
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>

#include "abi/sysfs/next.h"
#include "runtime/direct/memory_calls.h"
#include "runtime/shm/kernel_call.h"

namespace softib::sysfs {

namespace {

using direct::MemoryCalls;
using shm::kernel_call;

constinit std::atomic<const MemoryCalls*> g_calls{nullptr};

/// This thread is in a function of MemoryCalls, whose own calls go to the next function.
constinit thread_local bool t_inside = false;

constinit Next<int(void*, std::size_t, int)> next_madvise{"madvise"};
constinit Next<void*(void*, std::size_t, std::size_t, int, ...)> next_mremap{"mremap"};
constinit Next<pid_t()> next_bare_fork{"_Fork"};
constinit Next<int(int (*)(void*), void*, int, void*, ...)> next_clone{"clone"};

/// Looks these up early, because allocators call them with their locks held.
__attribute__((constructor)) void find_early() {
    next_madvise.get();
    next_mremap.get();
    next_bare_fork.get();
    next_clone.get();
}

const MemoryCalls* calls() {
    return g_calls.load(std::memory_order_acquire);
}

int madvise_by_library(void* at, std::size_t length, int advice) {
    return next_madvise(at, length, advice);
}

int madvise_by_kernel(void* at, std::size_t length, int advice) {
    return static_cast<int>(kernel_call(SYS_madvise, at, length, advice));
}

void* mremap_by_library(void* from, std::size_t old_size, std::size_t new_size, int flags,
                        void* to) {
    return next_mremap(from, old_size, new_size, flags, to);
}

void* mremap_by_kernel(void* from, std::size_t old_size, std::size_t new_size, int flags,
                       void* to) {
    return reinterpret_cast<void*>(kernel_call(SYS_mremap, from, old_size, new_size, flags, to));
}

int madvise_common(void* at, std::size_t length, int advice, direct::Madvise* really) {
    const MemoryCalls* const taken = calls();
    if (taken == nullptr || t_inside) {
        return really(at, length, advice);
    }
    t_inside = true;
    const int result = taken->madvise(at, length, advice, really);
    t_inside = false;
    return result;
}

void* mremap_common(void* from, std::size_t old_size, std::size_t new_size, int flags, void* to,
                    direct::Mremap* really) {
    const MemoryCalls* const taken = calls();
    if (taken == nullptr || t_inside) {
        return really(from, old_size, new_size, flags, to);
    }
    t_inside = true;
    void* const result = taken->mremap(from, old_size, new_size, flags, to, really);
    t_inside = false;
    return result;
}

/// What run_child(), the first function of a cloned child, needs.
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

// --- entry points
// ---------------------------------------------------------------------------------

extern "C" {

long softib_fs_raw_madvise(void* at, std::size_t length, int advice);
void* softib_fs_raw_mremap(void* from, std::size_t old_size, std::size_t new_size, int flags,
                           void* to);
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
    return madvise_common(at, length, advice, madvise_by_library);
}

void* mremap_entry(void* from, std::size_t old_size, std::size_t new_size, int flags, ...) {
    void* to = nullptr;
    if ((flags & MREMAP_FIXED) != 0) {
        va_list rest;
        va_start(rest, flags);
        to = va_arg(rest, void*);
        va_end(rest);
    }
    return mremap_common(from, old_size, new_size, flags, to, mremap_by_library);
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

// Called by syscall() (raw_call.cc). They do not use the C library's functions, which other
// libraries may have patched to call syscall() in turn.
long softib_fs_raw_madvise(void* at, std::size_t length, int advice) {
    return madvise_common(at, length, advice, madvise_by_kernel);
}

void* softib_fs_raw_mremap(void* from, std::size_t old_size, std::size_t new_size, int flags,
                           void* to) {
    return mremap_common(from, old_size, new_size, flags, to, mremap_by_kernel);
}

}  // extern "C"

}  // namespace softib::sysfs
