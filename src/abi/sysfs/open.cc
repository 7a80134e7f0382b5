// SPDX-License-Identifier: BSD-2-Clause
//
// Opening files: open and its variants, fopen, and the directory streams.
#include <dirent.h>
#include <fcntl.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "abi/sysfs/live_file.h"
#include "abi/sysfs/next.h"
#include "abi/sysfs/redirect.h"

namespace softib::sysfs {

namespace {

using OpenFunction = int(const char*, int, ...);
using OpenAtFunction = int(int, const char*, int, ...);
using FopenFunction = FILE*(const char*, const char*);
using FreopenFunction = FILE*(const char*, const char*, FILE*);
using CompareFunction = int(const dirent**, const dirent**);
using FilterFunction = int(const dirent*);

constinit Next<OpenFunction> next_open{"open"};
constinit Next<OpenFunction> next_open64{"open64"};
constinit Next<OpenAtFunction> next_openat{"openat"};
constinit Next<OpenAtFunction> next_openat64{"openat64"};
constinit Next<int(const char*, mode_t)> next_creat{"creat"};
constinit Next<FopenFunction> next_fopen{"fopen"};
constinit Next<FopenFunction> next_fopen64{"fopen64"};
constinit Next<FreopenFunction> next_freopen{"freopen"};
constinit Next<FreopenFunction> next_freopen64{"freopen64"};
constinit Next<DIR*(const char*)> next_opendir{"opendir"};
constinit Next<int(const char*, dirent***, FilterFunction*, CompareFunction*)> next_scandir{
    "scandir"};
constinit Next<int(int, const char*, dirent***, FilterFunction*, CompareFunction*)> next_scandirat{
    "scandirat"};

/// Looks up early what signal handlers and forked children may call.
__attribute__((constructor)) void find_early() {
    next_open.get();
    next_open64.get();
    next_openat.get();
    next_openat64.get();
    next_creat.get();
}

bool takes_mode(int flags) {
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

/// Returns true, with errno EACCES, if a program wants to write to a file of the tree's /sys or
/// /proc: all programs of the virtual host share the files on disk.
bool refuses(const char* path, bool writes) {
    if (writes && in_tree(path) && !visible(path).starts_with("/dev/")) {
        errno = EACCES;
        return true;
    }
    return false;
}

/// Returns whether an opened file can have live content: its path was redirected, or is relative to
/// a directory, which may be in the tree.
bool may_be_live(const char* asked, const char* path) {
    return asked != nullptr && (path != asked || asked[0] != '/');
}

template <typename NextOpen>
int open_common(NextOpen& next, int dirfd, const char* asked, int flags, mode_t mode) {
    PathBuffer buffer;
    const char* path = redirect_at(dirfd, asked, buffer);
    if (path != asked) {
        if (refuses(path, (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0)) {
            return -1;
        }
        if (is_device_node(path)) {
            flags &= ~O_NOFOLLOW;
            if (const int manager = open_manager_node(path); manager != -1) {
                return manager >= 0 ? manager : -1;
            }
        }
    }
    const int fd = next(path, flags, mode);
    if (may_be_live(asked, path) && (flags & (O_DIRECTORY | O_PATH)) == 0) {
        make_live(fd);
    }
    return fd;
}

template <typename NextFopen>
FILE* fopen_common(NextFopen next, const char* asked, const char* mode) {
    PathBuffer buffer;
    const char* path = redirect(asked, buffer);
    if (path != asked && mode != nullptr &&
        refuses(path, mode[0] != 'r' || std::strchr(mode, '+') != nullptr)) {
        return nullptr;
    }
    FILE* stream = next(path);
    // The stream has read nothing yet, so its descriptor can still be replaced.
    if (stream != nullptr && may_be_live(asked, path)) {
        make_live(fileno(stream));
    }
    return stream;
}

mode_t mode_argument(int flags, va_list arguments) {
    return takes_mode(flags) ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

int open_plain(Next<OpenFunction>& next, const char* path, int flags, mode_t mode) {
    const auto call = [&next](const char* p, int f, mode_t m) { return next(p, f, m); };
    return open_common(call, AT_FDCWD, path, flags, mode);
}

int open_at(Next<OpenAtFunction>& next, int dirfd, const char* path, int flags, mode_t mode) {
    const auto call = [&next, dirfd](const char* p, int f, mode_t m) {
        return next(dirfd, p, f, m);
    };
    return open_common(call, dirfd, path, flags, mode);
}

}  // namespace

extern "C" {

int fs_open(const char* path, int flags, ...) SOFTIB_FS_EXPORT("open");
int fs_open64(const char* path, int flags, ...) SOFTIB_FS_EXPORT("open64");
int fs_open_2(const char* path, int flags) SOFTIB_FS_EXPORT("__open_2");
int fs_open64_2(const char* path, int flags) SOFTIB_FS_EXPORT("__open64_2");
int fs_openat(int dirfd, const char* path, int flags, ...) SOFTIB_FS_EXPORT("openat");
int fs_openat64(int dirfd, const char* path, int flags, ...) SOFTIB_FS_EXPORT("openat64");
int fs_openat_2(int dirfd, const char* path, int flags) SOFTIB_FS_EXPORT("__openat_2");
int fs_openat64_2(int dirfd, const char* path, int flags) SOFTIB_FS_EXPORT("__openat64_2");
int fs_creat(const char* path, mode_t mode) SOFTIB_FS_EXPORT("creat");
int fs_creat64(const char* path, mode_t mode) SOFTIB_FS_EXPORT("creat64");
FILE* fs_fopen(const char* path, const char* mode) SOFTIB_FS_EXPORT("fopen");
FILE* fs_fopen64(const char* path, const char* mode) SOFTIB_FS_EXPORT("fopen64");
FILE* fs_freopen(const char* path, const char* mode, FILE* stream) SOFTIB_FS_EXPORT("freopen");
FILE* fs_freopen64(const char* path, const char* mode, FILE* stream) SOFTIB_FS_EXPORT("freopen64");
DIR* fs_opendir(const char* path) SOFTIB_FS_EXPORT("opendir");
int fs_scandir(const char* path, dirent*** list, FilterFunction* filter, CompareFunction* compare)
    SOFTIB_FS_EXPORT("scandir");
int fs_scandir64(const char* path, dirent*** list, FilterFunction* filter, CompareFunction* compare)
    SOFTIB_FS_EXPORT("scandir64");
int fs_scandirat(int dirfd, const char* path, dirent*** list, FilterFunction* filter,
                 CompareFunction* compare) SOFTIB_FS_EXPORT("scandirat");
int fs_scandirat64(int dirfd, const char* path, dirent*** list, FilterFunction* filter,
                   CompareFunction* compare) SOFTIB_FS_EXPORT("scandirat64");

int fs_open(const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_argument(flags, arguments);
    va_end(arguments);
    return open_plain(next_open, path, flags, mode);
}

int fs_open64(const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_argument(flags, arguments);
    va_end(arguments);
    return open_plain(next_open64, path, flags, mode);
}

int fs_open_2(const char* path, int flags) {
    return open_plain(next_open, path, flags, 0);
}
int fs_open64_2(const char* path, int flags) {
    return open_plain(next_open64, path, flags, 0);
}

int fs_openat(int dirfd, const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_argument(flags, arguments);
    va_end(arguments);
    return open_at(next_openat, dirfd, path, flags, mode);
}

int fs_openat64(int dirfd, const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_argument(flags, arguments);
    va_end(arguments);
    return open_at(next_openat64, dirfd, path, flags, mode);
}

int fs_openat_2(int dirfd, const char* path, int flags) {
    return open_at(next_openat, dirfd, path, flags, 0);
}

int fs_openat64_2(int dirfd, const char* path, int flags) {
    return open_at(next_openat64, dirfd, path, flags, 0);
}

int fs_creat(const char* asked, mode_t mode) {
    PathBuffer buffer;
    const char* path = redirect(asked, buffer);
    return path != asked && refuses(path, true) ? -1 : next_creat(path, mode);
}

int fs_creat64(const char* path, mode_t mode) {
    return fs_creat(path, mode);
}

FILE* fs_fopen(const char* path, const char* mode) {
    return fopen_common([mode](const char* p) { return next_fopen(p, mode); }, path, mode);
}

FILE* fs_fopen64(const char* path, const char* mode) {
    return fopen_common([mode](const char* p) { return next_fopen64(p, mode); }, path, mode);
}

FILE* fs_freopen(const char* path, const char* mode, FILE* stream) {
    return fopen_common([=](const char* p) { return next_freopen(p, mode, stream); }, path, mode);
}

FILE* fs_freopen64(const char* path, const char* mode, FILE* stream) {
    return fopen_common([=](const char* p) { return next_freopen64(p, mode, stream); }, path, mode);
}

DIR* fs_opendir(const char* path) {
    PathBuffer buffer;
    return next_opendir(redirect(path, buffer));
}

// On the 64-bit systems we serve, dirent64 is dirent.
static_assert(sizeof(void*) == 8);

int fs_scandir(const char* path, dirent*** list, FilterFunction* filter, CompareFunction* compare) {
    PathBuffer buffer;
    return next_scandir(redirect(path, buffer), list, filter, compare);
}

int fs_scandir64(const char* path, dirent*** list, FilterFunction* filter,
                 CompareFunction* compare) {
    return fs_scandir(path, list, filter, compare);
}

int fs_scandirat(int dirfd, const char* path, dirent*** list, FilterFunction* filter,
                 CompareFunction* compare) {
    PathBuffer buffer;
    return next_scandirat(dirfd, redirect_at(dirfd, path, buffer), list, filter, compare);
}

int fs_scandirat64(int dirfd, const char* path, dirent*** list, FilterFunction* filter,
                   CompareFunction* compare) {
    return fs_scandirat(dirfd, path, list, filter, compare);
}

}  // extern "C"

}  // namespace softib::sysfs
