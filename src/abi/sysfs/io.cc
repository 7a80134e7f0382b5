// SPDX-License-Identifier: BSD-2-Clause
//
// Calls by which the kernel reads or writes the program's memory: each passes the gate (io_gate.h)
// and goes on to the C library.
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>

#include "abi/sysfs/io_gate.h"
#include "abi/sysfs/next.h"

namespace softib::fs {

namespace {

/// What a message names.
void add_message(const msghdr* message, std::uint64_t& begin, std::uint64_t& end) {
    if (message != nullptr) {
        IoPass::add(message->msg_iov, message->msg_iovlen, begin, end);
    }
}

struct MessageRange {
    explicit MessageRange(const msghdr* message) { add_message(message, begin, end); }
    MessageRange(const mmsghdr* messages, unsigned count) {
        for (unsigned i = 0; messages != nullptr && i < count; ++i) {
            add_message(&messages[i].msg_hdr, begin, end);
        }
    }
    std::uint64_t begin = UINT64_MAX;
    std::uint64_t end = 0;
};

/// iovec counts are signed in these calls; the kernel refuses negative ones.
std::size_t pieces(int count) {
    return count > 0 ? static_cast<std::size_t>(count) : 0;
}

}  // namespace

// A function of ours with the C library's symbol, which passes the gate for memory `...` and calls
// the next one.
#define SOFTIB_FS_GATED(result, name, symbol, parameters, arguments, ...)   \
    extern "C" result name parameters SOFTIB_FS_EXPORT(symbol);             \
    static constinit Next<result parameters> next_##name{symbol};           \
    extern "C" result name parameters {                                     \
        const IoPass pass(__VA_ARGS__);                                     \
        return next_##name arguments;                                       \
    }

#define SOFTIB_FS_GATED_BUFFER(name, symbol, constness)                                         \
    SOFTIB_FS_GATED(ssize_t, name, symbol, (int fd, constness void* at, std::size_t length),    \
                    (fd, at, length), at, length)
#define SOFTIB_FS_GATED_PLACE(name, symbol, constness)                                          \
    SOFTIB_FS_GATED(ssize_t, name, symbol,                                                      \
                    (int fd, constness void* at, std::size_t length, off64_t place),            \
                    (fd, at, length, place), at, length)
#define SOFTIB_FS_GATED_VECTOR(name, symbol)                                                    \
    SOFTIB_FS_GATED(ssize_t, name, symbol, (int fd, const iovec* at, int count),                \
                    (fd, at, count), at, pieces(count))
#define SOFTIB_FS_GATED_VECTOR_PLACE(name, symbol)                                              \
    SOFTIB_FS_GATED(ssize_t, name, symbol, (int fd, const iovec* at, int count, off64_t place), \
                    (fd, at, count, place), at, pieces(count))
#define SOFTIB_FS_GATED_VECTOR_FLAGS(name, symbol)                                              \
    SOFTIB_FS_GATED(ssize_t, name, symbol,                                                      \
                    (int fd, const iovec* at, int count, off64_t place, int flags),             \
                    (fd, at, count, place, flags), at, pieces(count))

SOFTIB_FS_GATED_BUFFER(read_entry, "read", )
SOFTIB_FS_GATED_BUFFER(write_entry, "write", const)
SOFTIB_FS_GATED_PLACE(pread_entry, "pread", )
SOFTIB_FS_GATED_PLACE(pread64_entry, "pread64", )
SOFTIB_FS_GATED_PLACE(pwrite_entry, "pwrite", const)
SOFTIB_FS_GATED_PLACE(pwrite64_entry, "pwrite64", const)
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
SOFTIB_FS_GATED(ssize_t, send_entry, "send",
                (int fd, const void* at, std::size_t length, int flags), (fd, at, length, flags),
                at, length)
SOFTIB_FS_GATED(ssize_t, recvfrom_entry, "recvfrom",
                (int fd, void* at, std::size_t length, int flags, sockaddr* address,
                 socklen_t* address_length),
                (fd, at, length, flags, address, address_length), at, length)
SOFTIB_FS_GATED(ssize_t, sendto_entry, "sendto",
                (int fd, const void* at, std::size_t length, int flags, const sockaddr* address,
                 socklen_t address_length),
                (fd, at, length, flags, address, address_length), at, length)

#define SOFTIB_FS_GATED_MESSAGE(result, name, symbol, parameters, arguments, ...) \
    extern "C" result name parameters SOFTIB_FS_EXPORT(symbol);                   \
    static constinit Next<result parameters> next_##name{symbol};                 \
    extern "C" result name parameters {                                           \
        const MessageRange range(__VA_ARGS__);                                    \
        const IoPass pass(range.begin, range.end);                                \
        return next_##name arguments;                                             \
    }

SOFTIB_FS_GATED_MESSAGE(ssize_t, recvmsg_entry, "recvmsg", (int fd, msghdr* message, int flags),
                        (fd, message, flags), message)
SOFTIB_FS_GATED_MESSAGE(ssize_t, sendmsg_entry, "sendmsg",
                        (int fd, const msghdr* message, int flags), (fd, message, flags), message)
SOFTIB_FS_GATED_MESSAGE(int, recvmmsg_entry, "recvmmsg",
                        (int fd, mmsghdr* messages, unsigned count, int flags, timespec* limit),
                        (fd, messages, count, flags, limit), messages, count)
SOFTIB_FS_GATED_MESSAGE(int, sendmmsg_entry, "sendmmsg",
                        (int fd, mmsghdr* messages, unsigned count, int flags),
                        (fd, messages, count, flags), messages, count)

// Fortified programs call these instead.
SOFTIB_FS_GATED(ssize_t, read_chk_entry, "__read_chk",
                (int fd, void* at, std::size_t length, std::size_t size), (fd, at, length, size), at,
                length)
SOFTIB_FS_GATED(ssize_t, pread_chk_entry, "__pread_chk",
                (int fd, void* at, std::size_t length, off64_t place, std::size_t size),
                (fd, at, length, place, size), at, length)
SOFTIB_FS_GATED(ssize_t, pread64_chk_entry, "__pread64_chk",
                (int fd, void* at, std::size_t length, off64_t place, std::size_t size),
                (fd, at, length, place, size), at, length)
SOFTIB_FS_GATED(ssize_t, recv_chk_entry, "__recv_chk",
                (int fd, void* at, std::size_t length, std::size_t size, int flags),
                (fd, at, length, size, flags), at, length)
SOFTIB_FS_GATED(ssize_t, recvfrom_chk_entry, "__recvfrom_chk",
                (int fd, void* at, std::size_t length, std::size_t size, int flags,
                 sockaddr* address, socklen_t* address_length),
                (fd, at, length, size, flags, address, address_length), at, length)

// Large pieces go from and to the caller's memory without a copy in between.
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

/// Signal handlers call these.
__attribute__((constructor)) void find_early() {
    next_read_entry.get();
    next_write_entry.get();
    next_recv_entry.get();
    next_send_entry.get();
}

}  // namespace

}  // namespace softib::fs
