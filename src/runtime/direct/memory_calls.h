// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The interface between libsoftib_fs.so, which is preloaded and takes the program's calls of the C
// library first, and libibverbs.so.1, which has swapped pages of the program for arena pages
// (swapped_pages.h). libibverbs finds these functions of libsoftib_fs by name, with dlsym; if
// libsoftib_fs is not loaded, libibverbs does without them.

#include <cstddef>
#include <cstdint>

namespace softib::direct {

using Madvise = int(void* at, std::size_t length, int advice);
using Mremap = void*(void* from, std::size_t old_size, std::size_t new_size, int flags, void* to);

/// The functions of libibverbs that libsoftib_fs calls instead of those of the C library while
/// pages are swapped. They return a result and set errno as the originals do. `really` is the next
/// function of that name. It is called with nothing locked, because it may be a hook of another
/// library, which may call us: UCX gives up registrations there.
struct MemoryCalls {
    int (*madvise)(void* at, std::size_t length, int advice, Madvise* really);
    void* (*mremap)(void* from, std::size_t old_size, std::size_t new_size, int flags, void* to,
                    Mremap* really);
    /// These three are called around a fork that runs no pthread_atfork() handlers: clone(),
    /// _Fork().
    void (*before_fork)();
    void (*after_fork_in_parent)();
    void (*after_fork_in_child)();
};

/// Sets the functions to call, or none if `calls` is nullptr. The table must stay valid.
using SetMemoryCalls = void(const MemoryCalls* calls);
inline constexpr char kSetMemoryCalls[] = "softib_fs_set_memory_calls";

/// Keeps system calls of the program that move data (read, send, ...) from starting on memory in
/// [begin, end) until the gate opens. Returns false, with nothing closed, if a call is under way
/// there that does not end soon.
using CloseIoGate = bool(std::uint64_t begin, std::uint64_t end);
inline constexpr char kCloseIoGate[] = "softib_fs_close_io_gate";
/// Lets the system calls go on that CloseIoGate has held back.
using OpenIoGate = void();
inline constexpr char kOpenIoGate[] = "softib_fs_open_io_gate";

/// Returns whether the program has asked the kernel for io_uring or aio.
using UsesAsyncIo = bool();
inline constexpr char kUsesAsyncIo[] = "softib_fs_uses_async_io";

}  // namespace softib::direct
