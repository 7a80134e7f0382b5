// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The seam between libsoftib_fs.so, which stands before the C library's calls, and libibverbs.so.1,
// which has swapped pages of the program for shared ones (swapped_pages.h). The second finds these
// functions of the first by name, with dlsym; where the first was not loaded there is no seam.

#include <cstddef>
#include <cstdint>

namespace softib::live {

using Madvise = int(void* at, std::size_t length, int advice);
using Mremap = void*(void* from, std::size_t old_size, std::size_t new_size, int flags, void* to);

/// What takes the place of the C library's functions while pages are swapped. As those, they return
/// a result and set errno. `really` does what the program asked for; it is called with nothing
/// locked, for others may stand behind it (UCX, which gives up registrations there).
struct MemoryCalls {
    int (*madvise)(void* at, std::size_t length, int advice, Madvise* really);
    void* (*mremap)(void* from, std::size_t old_size, std::size_t new_size, int flags, void* to,
                    Mremap* really);
    /// Around a fork that runs no handlers of pthread_atfork: clone(), _Fork().
    void (*before_fork)();
    void (*after_fork_in_parent)();
    void (*after_fork_in_child)();
};

/// nullptr: none. The table stays where it is.
using SetMemoryCalls = void(const MemoryCalls* calls);
inline constexpr char kSetMemoryCalls[] = "softib_fs_set_memory_calls";

/// Keeps system calls of the program that move data (read, send, ...) from starting on memory in
/// [begin, end) until the gate opens. Returns false, with nothing closed, if a call is under way
/// there that does not end soon.
using CloseIoGate = bool(std::uint64_t begin, std::uint64_t end);
inline constexpr char kCloseIoGate[] = "softib_fs_close_io_gate";
using OpenIoGate = void();
inline constexpr char kOpenIoGate[] = "softib_fs_open_io_gate";

/// Returns whether the program has asked the kernel for io_uring or aio.
using UsesAsyncIo = bool();
inline constexpr char kUsesAsyncIo[] = "softib_fs_uses_async_io";

}  // namespace softib::live
