// SPDX-License-Identifier: BSD-2-Clause
//
// Reading a file from its start, which in sysfs gives the present content. Streams of the C library
// do not call our read(), so their content is brought up to date when they are rewound.
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "abi/sysfs/io_gate.h"
#include "abi/sysfs/live_file.h"
#include "abi/sysfs/next.h"

namespace softib::sysfs {

namespace {

constinit Next<ssize_t(int, void*, size_t)> next_read{"read"};
constinit Next<ssize_t(int, void*, size_t, off_t)> next_pread{"pread"};
constinit Next<void(FILE*)> next_rewind{"rewind"};
constinit Next<int(FILE*, off_t, int)> next_fseeko{"fseeko"};

/// Looks up early what signal handlers and forked children may call.
__attribute__((constructor)) void find_early() {
    next_read.get();
    next_pread.get();
}

// On the 64-bit systems we serve, off64_t is off_t.
static_assert(sizeof(off_t) == 8);

/// Ends the program if it has called a checked variant (`_FORTIFY_SOURCE`) with a size (`said`)
/// that is larger than its buffer (`is`).
void check_room(std::size_t said, std::size_t is) {
    if (is < said) {
        std::abort();
    }
}

ssize_t read_common(int fd, void* to, size_t size) {
    refresh_at_start(fd);
    const IoPass pass(to, size);
    return next_read(fd, to, size);
}

ssize_t pread_common(int fd, void* to, size_t size, off_t offset) {
    if (offset == 0) {
        refresh(fd);
    }
    const IoPass pass(to, size);
    return next_pread(fd, to, size, offset);
}

void refresh_stream(FILE* stream) {
    const int saved_errno = errno;
    refresh(fileno(stream));
    errno = saved_errno;
}

int seek_common(FILE* stream, off_t offset, int whence) {
    if (offset == 0 && whence == SEEK_SET) {
        refresh_stream(stream);
    }
    return next_fseeko(stream, offset, whence);
}

}  // namespace

extern "C" {

ssize_t fs_read(int fd, void* to, size_t size) SOFTIB_FS_EXPORT("read");
ssize_t fs_read_chk(int fd, void* to, size_t size, size_t room) SOFTIB_FS_EXPORT("__read_chk");
ssize_t fs_pread(int fd, void* to, size_t size, off_t offset) SOFTIB_FS_EXPORT("pread");
ssize_t fs_pread64(int fd, void* to, size_t size, off_t offset) SOFTIB_FS_EXPORT("pread64");
ssize_t fs_pread_chk(int fd, void* to, size_t size, off_t offset, size_t room)
    SOFTIB_FS_EXPORT("__pread_chk");
ssize_t fs_pread64_chk(int fd, void* to, size_t size, off_t offset, size_t room)
    SOFTIB_FS_EXPORT("__pread64_chk");
void fs_rewind(FILE* stream) SOFTIB_FS_EXPORT("rewind");
int fs_fseek(FILE* stream, long offset, int whence) SOFTIB_FS_EXPORT("fseek");
int fs_fseeko(FILE* stream, off_t offset, int whence) SOFTIB_FS_EXPORT("fseeko");
int fs_fseeko64(FILE* stream, off_t offset, int whence) SOFTIB_FS_EXPORT("fseeko64");

ssize_t fs_read(int fd, void* to, size_t size) {
    return read_common(fd, to, size);
}

ssize_t fs_read_chk(int fd, void* to, size_t size, size_t room) {
    check_room(size, room);
    return read_common(fd, to, size);
}

ssize_t fs_pread(int fd, void* to, size_t size, off_t offset) {
    return pread_common(fd, to, size, offset);
}

ssize_t fs_pread64(int fd, void* to, size_t size, off_t offset) {
    return pread_common(fd, to, size, offset);
}

ssize_t fs_pread_chk(int fd, void* to, size_t size, off_t offset, size_t room) {
    check_room(size, room);
    return pread_common(fd, to, size, offset);
}

ssize_t fs_pread64_chk(int fd, void* to, size_t size, off_t offset, size_t room) {
    check_room(size, room);
    return pread_common(fd, to, size, offset);
}

void fs_rewind(FILE* stream) {
    refresh_stream(stream);
    next_rewind(stream);
}

int fs_fseek(FILE* stream, long offset, int whence) {
    return seek_common(stream, offset, whence);
}

int fs_fseeko(FILE* stream, off_t offset, int whence) {
    return seek_common(stream, offset, whence);
}

int fs_fseeko64(FILE* stream, off_t offset, int whence) {
    return seek_common(stream, offset, whence);
}

}  // extern "C"

}  // namespace softib::sysfs
