// SPDX-License-Identifier: BSD-2-Clause
//
// Queries about files: the stat and access families, and extended attributes (`ls -l` looks for
// access control lists by path).
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>

#include "abi/sysfs/next.h"
#include "abi/sysfs/redirect.h"

namespace softib::sysfs {

namespace {

// On the 64-bit systems we serve, stat64 is stat, and both are what the kernel writes.
static_assert(sizeof(void*) == 8 && sizeof(struct stat) == sizeof(struct stat64));

using StatFunction = int(const char*, struct stat*);
using AccessFunction = int(const char*, int);

constinit Next<StatFunction> next_stat{"stat"};
constinit Next<StatFunction> next_lstat{"lstat"};
constinit Next<int(int, const char*, struct stat*, int)> next_fstatat{"fstatat"};
constinit Next<int(int, const char*, int, unsigned, struct statx*)> next_statx{"statx"};
constinit Next<AccessFunction> next_access{"access"};
constinit Next<AccessFunction> next_eaccess{"eaccess"};
constinit Next<int(int, const char*, int, int)> next_faccessat{"faccessat"};
using GetXattrFunction = ssize_t(const char*, const char*, void*, size_t);
using ListXattrFunction = ssize_t(const char*, char*, size_t);
constinit Next<GetXattrFunction> next_getxattr{"getxattr"};
constinit Next<GetXattrFunction> next_lgetxattr{"lgetxattr"};
constinit Next<ListXattrFunction> next_listxattr{"listxattr"};
constinit Next<ListXattrFunction> next_llistxattr{"llistxattr"};

/// Looks up early what signal handlers and forked children may call.
__attribute__((constructor)) void find_early() {
    next_stat.get();
    next_lstat.get();
    next_fstatat.get();
    next_access.get();
    next_faccessat.get();
}

/// Returns the flags with which to query a path: links are followed for device nodes, which are
/// links only on disk.
int flags_for(const char* path, int flags) {
    return is_device_node(path) ? flags & ~AT_SYMLINK_NOFOLLOW : flags;
}

int fstatat_common(int dirfd, const char* asked, struct stat* st, int flags) {
    PathBuffer buffer;
    const char* path = redirect_at(dirfd, asked, buffer);
    if (path != asked) {
        flags = flags_for(path, flags);
    }
    if (next_fstatat.get() != nullptr) {
        return next_fstatat(dirfd, path, st, flags);
    }
    // glibc before 2.33 has only __fxstatat, which may be the function that has called us.
    return static_cast<int>(syscall(SYS_newfstatat, dirfd, path, st, flags));
}

int stat_common(const char* asked, struct stat* st) {
    if (next_stat.get() == nullptr) {
        return fstatat_common(AT_FDCWD, asked, st, 0);
    }
    PathBuffer buffer;
    return next_stat(redirect(asked, buffer), st);
}

int lstat_common(const char* asked, struct stat* st) {
    PathBuffer buffer;
    const char* path = redirect(asked, buffer);
    if (next_lstat.get() == nullptr || path != asked) {
        return fstatat_common(AT_FDCWD, path, st, flags_for(path, AT_SYMLINK_NOFOLLOW));
    }
    return next_lstat(path, st);
}

}  // namespace

extern "C" {

int fs_stat(const char* path, struct stat* st) SOFTIB_FS_EXPORT("stat");
int fs_stat64(const char* path, struct stat* st) SOFTIB_FS_EXPORT("stat64");
int fs_lstat(const char* path, struct stat* st) SOFTIB_FS_EXPORT("lstat");
int fs_lstat64(const char* path, struct stat* st) SOFTIB_FS_EXPORT("lstat64");
int fs_fstatat(int dirfd, const char* path, struct stat* st, int flags) SOFTIB_FS_EXPORT("fstatat");
int fs_fstatat64(int dirfd, const char* path, struct stat* st, int flags)
    SOFTIB_FS_EXPORT("fstatat64");
int fs_xstat(int version, const char* path, struct stat* st) SOFTIB_FS_EXPORT("__xstat");
int fs_xstat64(int version, const char* path, struct stat* st) SOFTIB_FS_EXPORT("__xstat64");
int fs_lxstat(int version, const char* path, struct stat* st) SOFTIB_FS_EXPORT("__lxstat");
int fs_lxstat64(int version, const char* path, struct stat* st) SOFTIB_FS_EXPORT("__lxstat64");
int fs_fxstatat(int version, int dirfd, const char* path, struct stat* st, int flags)
    SOFTIB_FS_EXPORT("__fxstatat");
int fs_fxstatat64(int version, int dirfd, const char* path, struct stat* st, int flags)
    SOFTIB_FS_EXPORT("__fxstatat64");
int fs_statx(int dirfd, const char* path, int flags, unsigned mask, struct statx* st)
    SOFTIB_FS_EXPORT("statx");
int fs_access(const char* path, int mode) SOFTIB_FS_EXPORT("access");
int fs_eaccess(const char* path, int mode) SOFTIB_FS_EXPORT("eaccess");
int fs_euidaccess(const char* path, int mode) SOFTIB_FS_EXPORT("euidaccess");
int fs_faccessat(int dirfd, const char* path, int mode, int flags) SOFTIB_FS_EXPORT("faccessat");
ssize_t fs_getxattr(const char* path, const char* name, void* value, size_t size)
    SOFTIB_FS_EXPORT("getxattr");
ssize_t fs_lgetxattr(const char* path, const char* name, void* value, size_t size)
    SOFTIB_FS_EXPORT("lgetxattr");
ssize_t fs_listxattr(const char* path, char* list, size_t size) SOFTIB_FS_EXPORT("listxattr");
ssize_t fs_llistxattr(const char* path, char* list, size_t size) SOFTIB_FS_EXPORT("llistxattr");

int fs_stat(const char* path, struct stat* st) {
    return stat_common(path, st);
}
int fs_stat64(const char* path, struct stat* st) {
    return stat_common(path, st);
}
int fs_lstat(const char* path, struct stat* st) {
    return lstat_common(path, st);
}
int fs_lstat64(const char* path, struct stat* st) {
    return lstat_common(path, st);
}

int fs_fstatat(int dirfd, const char* path, struct stat* st, int flags) {
    return fstatat_common(dirfd, path, st, flags);
}

int fs_fstatat64(int dirfd, const char* path, struct stat* st, int flags) {
    return fstatat_common(dirfd, path, st, flags);
}

int fs_xstat(int, const char* path, struct stat* st) {
    return stat_common(path, st);
}
int fs_xstat64(int, const char* path, struct stat* st) {
    return stat_common(path, st);
}
int fs_lxstat(int, const char* path, struct stat* st) {
    return lstat_common(path, st);
}
int fs_lxstat64(int, const char* path, struct stat* st) {
    return lstat_common(path, st);
}

int fs_fxstatat(int, int dirfd, const char* path, struct stat* st, int flags) {
    return fstatat_common(dirfd, path, st, flags);
}

int fs_fxstatat64(int, int dirfd, const char* path, struct stat* st, int flags) {
    return fstatat_common(dirfd, path, st, flags);
}

int fs_statx(int dirfd, const char* asked, int flags, unsigned mask, struct statx* st) {
    PathBuffer buffer;
    const char* path = redirect_at(dirfd, asked, buffer);
    return next_statx(dirfd, path, path == asked ? flags : flags_for(path, flags), mask, st);
}

int fs_access(const char* path, int mode) {
    PathBuffer buffer;
    return next_access(redirect(path, buffer), mode);
}

int fs_eaccess(const char* path, int mode) {
    PathBuffer buffer;
    return next_eaccess(redirect(path, buffer), mode);
}

int fs_euidaccess(const char* path, int mode) {
    return fs_eaccess(path, mode);
}

int fs_faccessat(int dirfd, const char* asked, int mode, int flags) {
    PathBuffer buffer;
    const char* path = redirect_at(dirfd, asked, buffer);
    return next_faccessat(dirfd, path, mode, path == asked ? flags : flags_for(path, flags));
}

ssize_t fs_getxattr(const char* path, const char* name, void* value, size_t size) {
    PathBuffer buffer;
    return next_getxattr(redirect(path, buffer), name, value, size);
}

ssize_t fs_lgetxattr(const char* path, const char* name, void* value, size_t size) {
    PathBuffer buffer;
    return next_lgetxattr(redirect(path, buffer), name, value, size);
}

ssize_t fs_listxattr(const char* path, char* list, size_t size) {
    PathBuffer buffer;
    return next_listxattr(redirect(path, buffer), list, size);
}

ssize_t fs_llistxattr(const char* path, char* list, size_t size) {
    PathBuffer buffer;
    return next_llistxattr(redirect(path, buffer), list, size);
}

}  // extern "C"

}  // namespace softib::sysfs
