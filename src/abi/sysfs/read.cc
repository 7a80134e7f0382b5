// SPDX-License-Identifier: BSD-2-Clause
//
// Reading from the start of a file, which in sysfs makes its content anew. Streams of the C library
// read by themselves: for them it happens when they are set back.
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "abi/sysfs/io_gate.h"
#include "abi/sysfs/live_file.h"
#include "abi/sysfs/next.h"

namespace softib::fs {

namespace {

constinit Next<ssize_t(int, void*, size_t)> next_read{"read"};
constinit Next<ssize_t(int, void*, size_t, off_t)> next_pread{"pread"};
constinit Next<void(FILE*)> next_rewind{"rewind"};
constinit Next<int(FILE*, off_t, int)> next_fseeko{"fseeko"};

/// What signal handlers and children after fork may call is found before they run.
__attribute__((constructor)) void find_early() {
    next_read.get();
    next_pread.get();
}

// On the 64-bit systems we serve, off64_t is off_t.
static_assert(sizeof(off_t) == 8);

/// A call of a checked variant (`_FORTIFY_SOURCE`) with a buffer smaller than it says.
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

}  // namespace softib::fs
