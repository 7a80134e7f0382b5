// SPDX-License-Identifier: BSD-2-Clause
//
// Notices that a program begins to use io_uring or aio. With these, the kernel moves data to and
// from the program's memory while no thread is in a call, so the gate (io_gate.h) cannot hold it
// back. libibverbs then leaves pages where they are (runtime/direct/memory/passage.h).
#include <dlfcn.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "abi/sysfs/io_gate.h"
#include "abi/sysfs/next.h"
#include "runtime/shm/kernel_call.h"

namespace softib::sysfs {

namespace {

using shm::kernel_call;

constinit std::atomic<bool> g_used{false};

void begin_async_io() {
    g_used.store(true);
    const IoPass all(static_cast<const void*>(nullptr),
                     SIZE_MAX);  // Waits for pages that are being moved.
}

/// Returns a function of liburing, even if only a plugin has loaded that library.
template <typename Function>
Function* of_liburing(Next<Function>& next, const char* symbol) {
    Function* found = next.get();
    if (found == nullptr) {
        if (void* const library = dlopen("liburing.so.2", RTLD_LAZY | RTLD_NOLOAD)) {
            found = reinterpret_cast<Function*>(dlsym(library, symbol));
        }
    }
    return found;
}

template <typename Function, typename... Args>
int begin_ring(Next<Function>& next, const char* symbol, Args... args) {
    begin_async_io();
    Function* const really = of_liburing(next, symbol);
    return really != nullptr ? really(args...) : -ENOSYS;
}

using Init = int(unsigned, void*, unsigned);
using InitParams = int(unsigned, void*, void*);
using InitMem = int(unsigned, void*, void*, void*, std::size_t);
using Setup = int(unsigned, void*);
constinit Next<Init> next_init{"io_uring_queue_init"};
constinit Next<InitParams> next_init_params{"io_uring_queue_init_params"};
constinit Next<InitMem> next_init_mem{"io_uring_queue_init_mem"};
constinit Next<Setup> next_setup{"io_uring_setup"};

}  // namespace

// --- entry points
// ---------------------------------------------------------------------------------

extern "C" {

bool uses_async_io() SOFTIB_FS_EXPORT("softib_fs_uses_async_io");
// liburing
int ring_init(unsigned entries, void* ring, unsigned flags) SOFTIB_FS_EXPORT("io_uring_queue_init");
int ring_init_params(unsigned entries, void* ring, void* params)
    SOFTIB_FS_EXPORT("io_uring_queue_init_params");
int ring_init_mem(unsigned entries, void* ring, void* params, void* memory, std::size_t bytes)
    SOFTIB_FS_EXPORT("io_uring_queue_init_mem");
int ring_setup(unsigned entries, void* params) SOFTIB_FS_EXPORT("io_uring_setup");
// libaio
int aio_setup(int events, void** context) SOFTIB_FS_EXPORT("io_setup");
int aio_queue_init(int events, void** context) SOFTIB_FS_EXPORT("io_queue_init");
// syscall() (raw_call.cc)
long softib_fs_raw_io_uring_setup(unsigned entries, void* params);
long softib_fs_raw_io_setup(unsigned events, void* context);

bool uses_async_io() {
    return g_used.load();
}

int ring_init(unsigned entries, void* ring, unsigned flags) {
    return begin_ring(next_init, "io_uring_queue_init", entries, ring, flags);
}

int ring_init_params(unsigned entries, void* ring, void* params) {
    return begin_ring(next_init_params, "io_uring_queue_init_params", entries, ring, params);
}

int ring_init_mem(unsigned entries, void* ring, void* params, void* memory, std::size_t bytes) {
    return begin_ring(next_init_mem, "io_uring_queue_init_mem", entries, ring, params, memory,
                      bytes);
}

int ring_setup(unsigned entries, void* params) {
    return begin_ring(next_setup, "io_uring_setup", entries, params);
}

/// Functions of libaio are system calls that return a negative errno value.
int aio_setup(int events, void** context) {
    const int before = errno;
    const long result = softib_fs_raw_io_setup(static_cast<unsigned>(events), context);
    const int error = errno;
    errno = before;
    return result == -1 ? -error : static_cast<int>(result);
}

int aio_queue_init(int events, void** context) {
    if (events <= 0) {
        return -EINVAL;
    }
    *context = nullptr;
    return aio_setup(events, context);
}

long softib_fs_raw_io_uring_setup(unsigned entries, void* params) {
    begin_async_io();
    return kernel_call(SYS_io_uring_setup, entries, params);
}

long softib_fs_raw_io_setup(unsigned events, void* context) {
    begin_async_io();
    return kernel_call(SYS_io_setup, events, context);
}

}  // extern "C"

}  // namespace softib::sysfs
