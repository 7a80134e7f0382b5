// SPDX-License-Identifier: BSD-2-Clause
//
// Calls by which the kernel reads or writes the program's memory. Each passes the gate (io_gate.h)
// and then calls the C library. Calls for which we do more are in read.cc and netlink.cc.
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>

#include "abi/sysfs/io_gate.h"
#include "abi/sysfs/next.h"

namespace softib::sysfs {

namespace {

/// Returns the number of pieces of a call. Its count is signed; a negative one, which the kernel
/// refuses, gives 0.
std::size_t pieces(int count) {
    return count > 0 ? static_cast<std::size_t>(count) : 0;
}

}  // namespace

// Defines a function with a symbol of the C library, which passes the gate for the memory `...` and
// calls the next function of that name.
#define SOFTIB_FS_GATED(result, name, symbol, parameters, arguments, ...) \
    extern "C" result name parameters SOFTIB_FS_EXPORT(symbol);           \
    static constinit Next<result parameters> next_##name{symbol};         \
    extern "C" result name parameters {                                   \
        const IoPass pass(__VA_ARGS__);                                   \
        return next_##name arguments;                                     \
    }

#define SOFTIB_FS_GATED_PLACE(name, symbol)                                      \
    SOFTIB_FS_GATED(ssize_t, name, symbol,                                       \
                    (int fd, const void* at, std::size_t length, off64_t place), \
                    (fd, at, length, place), at, length)
#define SOFTIB_FS_GATED_VECTOR(name, symbol)                                                      \
    SOFTIB_FS_GATED(ssize_t, name, symbol, (int fd, const iovec* at, int count), (fd, at, count), \
                    at, pieces(count))
#define SOFTIB_FS_GATED_VECTOR_PLACE(name, symbol)                                              \
    SOFTIB_FS_GATED(ssize_t, name, symbol, (int fd, const iovec* at, int count, off64_t place), \
                    (fd, at, count, place), at, pieces(count))
#define SOFTIB_FS_GATED_VECTOR_FLAGS(name, symbol)                                  \
    SOFTIB_FS_GATED(ssize_t, name, symbol,                                          \
                    (int fd, const iovec* at, int count, off64_t place, int flags), \
                    (fd, at, count, place, flags), at, pieces(count))

SOFTIB_FS_GATED(ssize_t, write_entry, "write", (int fd, const void* at, std::size_t length),
                (fd, at, length), at, length)
SOFTIB_FS_GATED_PLACE(pwrite_entry, "pwrite")
SOFTIB_FS_GATED_PLACE(pwrite64_entry, "pwrite64")
SOFTIB_FS_GATED_VECTOR(readv_entry, "readv")
SOFTIB_FS_GATED_VECTOR(writev_entry, "writev")
SOFTIB_FS_GATED_VECTOR_PLACE(preadv_entry, "preadv")
SOFTIB_FS_GATED_VECTOR_PLACE(preadv64_entry, "preadv64")
SOFTIB_FS_GATED_VECTOR_PLACE(pwritev_entry, "pwritev")
SOFTIB_FS_GATED_VECTOR_PLACE(pwritev64_entry, "pwritev64")
SOFTIB_FS_GATED_VECTOR_FLAGS(preadv2_entry, "preadv2")
SOFTIB_FS_GATED_VECTOR_FLAGS(preadv64v2_entry, "preadv64v2")
SOFTIB_FS_GATED_VECTOR_FLAGS(pwritev2_entry, "pwritev2")
SOFTIB_FS_GATED_VECTOR_FLAGS(pwritev64v2_entry, "pwritev64v2")

SOFTIB_FS_GATED(ssize_t, recv_entry, "recv", (int fd, void* at, std::size_t length, int flags),
                (fd, at, length, flags), at, length)
SOFTIB_FS_GATED(int, recvmmsg_entry, "recvmmsg",
                (int fd, mmsghdr* messages, unsigned count, int flags, timespec* limit),
                (fd, messages, count, flags, limit), messages, count)
SOFTIB_FS_GATED(int, sendmmsg_entry, "sendmmsg",
                (int fd, mmsghdr* messages, unsigned count, int flags),
                (fd, messages, count, flags), messages, count)
// The variants that programs built with _FORTIFY_SOURCE call.
SOFTIB_FS_GATED(ssize_t, recv_chk_entry, "__recv_chk",
                (int fd, void* at, std::size_t length, std::size_t size, int flags),
                (fd, at, length, size, flags), at, length)
SOFTIB_FS_GATED(std::size_t, fread_chk_entry, "__fread_chk",
                (void* at, std::size_t room, std::size_t size, std::size_t count, FILE* file),
                (at, room, size, count, file), at, size* count)
// Streams move large pieces directly to and from the caller's memory.
SOFTIB_FS_GATED(std::size_t, fread_entry, "fread",
                (void* at, std::size_t size, std::size_t count, FILE* file),
                (at, size, count, file), at, size* count)
SOFTIB_FS_GATED(std::size_t, fwrite_entry, "fwrite",
                (const void* at, std::size_t size, std::size_t count, FILE* file),
                (at, size, count, file), at, size* count)
SOFTIB_FS_GATED(std::size_t, fread_unlocked_entry, "fread_unlocked",
                (void* at, std::size_t size, std::size_t count, FILE* file),
                (at, size, count, file), at, size* count)
SOFTIB_FS_GATED(std::size_t, fwrite_unlocked_entry, "fwrite_unlocked",
                (const void* at, std::size_t size, std::size_t count, FILE* file),
                (at, size, count, file), at, size* count)
SOFTIB_FS_GATED(ssize_t, getrandom_entry, "getrandom",
                (void* at, std::size_t length, unsigned flags), (at, length, flags), at, length)

namespace {

/// Looks up early what signal handlers may call.
__attribute__((constructor)) void find_early() {
    next_write_entry.get();
    next_recv_entry.get();
}

}  // namespace

}  // namespace softib::sysfs
