// SPDX-License-Identifier: BSD-2-Clause
//
// Functions that return a path: links, real paths and the current directory. The program must not
// see where the tree really is.
#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "abi/sysfs/next.h"
#include "abi/sysfs/redirect.h"

namespace softib::sysfs {

namespace {

constinit Next<ssize_t(const char*, char*, size_t)> next_readlink{"readlink"};
constinit Next<ssize_t(int, const char*, char*, size_t)> next_readlinkat{"readlinkat"};
constinit Next<char*(const char*, char*)> next_realpath{"realpath"};
constinit Next<int(const char*)> next_chdir{"chdir"};
constinit Next<char*(char*, size_t)> next_getcwd{"getcwd"};
constinit Next<char*()> next_get_current_dir_name{"get_current_dir_name"};

/// Looks up early what signal handlers and forked children may call.
__attribute__((constructor)) void find_early() {
    next_readlink.get();
    next_readlinkat.get();
    next_chdir.get();
}

/// Ends the program if it has called a checked variant (`_FORTIFY_SOURCE`) with a size (`said`)
/// that is larger than its buffer (`is`).
void check_room(std::size_t said, std::size_t is) {
    if (is < said) {
        std::abort();
    }
}

template <typename Read>
ssize_t readlink_common(Read read, const char* asked, const char* path, char* to, size_t size) {
    if (path != asked && is_device_node(path)) {
        errno = EINVAL;
        return -1;
    }
    const ssize_t n = read(path, to, size);
    if (n <= 0 || !settings().enabled || to[0] != '/') {
        return n;
    }
    // The target is absolute, as that of /proc/self/cwd. It is read again, because the program's
    // buffer may be too small for all of it.
    PathBuffer whole;
    const ssize_t again = read(path, whole.text, sizeof whole.text);
    if (again <= 0 || static_cast<std::size_t>(again) >= sizeof whole.text) {
        return n;
    }
    const std::string_view found{whole.text, static_cast<std::size_t>(again)};
    if (!in_tree(found)) {
        return n;
    }
    const std::string_view shown = visible(found);
    const std::size_t bytes = shown.size() < size ? shown.size() : size;
    std::memcpy(to, shown.data(), bytes);
    return static_cast<ssize_t>(bytes);
}

ssize_t readlink_at(int dirfd, const char* asked, char* to, size_t size) {
    PathBuffer buffer;
    const char* path = redirect_at(dirfd, asked, buffer);
    const auto read = [dirfd](const char* p, char* t, size_t s) {
        return next_readlinkat(dirfd, p, t, s);
    };
    return readlink_common(read, asked, path, to, size);
}

ssize_t readlink_plain(const char* asked, char* to, size_t size) {
    PathBuffer buffer;
    const char* path = redirect(asked, buffer);
    const auto read = [](const char* p, char* t, size_t s) { return next_readlink(p, t, s); };
    return readlink_common(read, asked, path, to, size);
}

/// Removes the root from a path, in place.
char* show(char* path) {
    if (path == nullptr || !in_tree(path)) {
        return path;
    }
    const std::string_view shown = visible(path);
    std::memmove(path, shown.data(), shown.size());
    path[shown.size()] = '\0';
    return path;
}

char* realpath_common(const char* asked, char* resolved) {
    PathBuffer buffer;
    const char* path = redirect(asked, buffer);
    if (path == asked || !is_device_node(path)) {
        return show(next_realpath(path, resolved));
    }
    if (syscall(SYS_faccessat, AT_FDCWD, path, F_OK) != 0) {
        return nullptr;
    }
    const std::string_view shown = visible(path);
    char* result = resolved != nullptr ? resolved : static_cast<char*>(std::malloc(PATH_MAX));
    if (result != nullptr) {
        std::memcpy(result, shown.data(), shown.size());
        result[shown.size()] = '\0';
    }
    return result;
}

char* getcwd_common(char* to, size_t size) {
    char* result = show(next_getcwd(to, size));
    if (result != nullptr || errno != ERANGE || to == nullptr || !settings().enabled) {
        return result;
    }
    // The real path is too long for the program's buffer; the path without the root may fit.
    PathBuffer buffer;
    const long n = syscall(SYS_getcwd, buffer.text, sizeof buffer.text);
    if (n > 0 && in_tree(buffer.text) && visible(buffer.text).size() < size) {
        const std::string_view shown = visible(buffer.text);
        std::memcpy(to, shown.data(), shown.size());
        to[shown.size()] = '\0';
        return to;
    }
    errno = ERANGE;
    return nullptr;
}

}  // namespace

extern "C" {

ssize_t fs_readlink(const char* path, char* to, size_t size) SOFTIB_FS_EXPORT("readlink");
ssize_t fs_readlink_chk(const char* path, char* to, size_t size, size_t room)
    SOFTIB_FS_EXPORT("__readlink_chk");
ssize_t fs_readlinkat(int dirfd, const char* path, char* to, size_t size)
    SOFTIB_FS_EXPORT("readlinkat");
ssize_t fs_readlinkat_chk(int dirfd, const char* path, char* to, size_t size, size_t room)
    SOFTIB_FS_EXPORT("__readlinkat_chk");
char* fs_realpath(const char* path, char* resolved) SOFTIB_FS_EXPORT("realpath");
char* fs_realpath_chk(const char* path, char* resolved, size_t room)
    SOFTIB_FS_EXPORT("__realpath_chk");
char* fs_canonicalize(const char* path) SOFTIB_FS_EXPORT("canonicalize_file_name");
int fs_chdir(const char* path) SOFTIB_FS_EXPORT("chdir");
char* fs_getcwd(char* to, size_t size) SOFTIB_FS_EXPORT("getcwd");
char* fs_getcwd_chk(char* to, size_t size, size_t room) SOFTIB_FS_EXPORT("__getcwd_chk");
char* fs_getwd(char* to) SOFTIB_FS_EXPORT("getwd");
char* fs_get_current_dir_name() SOFTIB_FS_EXPORT("get_current_dir_name");

ssize_t fs_readlink(const char* path, char* to, size_t size) {
    return readlink_plain(path, to, size);
}

ssize_t fs_readlink_chk(const char* path, char* to, size_t size, size_t room) {
    check_room(size, room);
    return readlink_plain(path, to, size);
}

ssize_t fs_readlinkat(int dirfd, const char* path, char* to, size_t size) {
    return readlink_at(dirfd, path, to, size);
}

ssize_t fs_readlinkat_chk(int dirfd, const char* path, char* to, size_t size, size_t room) {
    check_room(size, room);
    return readlink_at(dirfd, path, to, size);
}

char* fs_realpath(const char* path, char* resolved) {
    return realpath_common(path, resolved);
}

char* fs_realpath_chk(const char* path, char* resolved, size_t room) {
    check_room(PATH_MAX, room);
    return realpath_common(path, resolved);
}

char* fs_canonicalize(const char* path) {
    return realpath_common(path, nullptr);
}

int fs_chdir(const char* path) {
    PathBuffer buffer;
    return next_chdir(redirect(path, buffer));
}

char* fs_getcwd(char* to, size_t size) {
    return getcwd_common(to, size);
}

char* fs_getcwd_chk(char* to, size_t size, size_t room) {
    check_room(size, room);
    return getcwd_common(to, size);
}

char* fs_getwd(char* to) {
    if (to == nullptr) {
        errno = EINVAL;
        return nullptr;
    }
    return getcwd_common(to, PATH_MAX);
}

char* fs_get_current_dir_name() {
    return show(next_get_current_dir_name());
}

}  // extern "C"

}  // namespace softib::sysfs
