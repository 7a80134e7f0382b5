// SPDX-License-Identifier: BSD-2-Clause
//
// The two sysfs helpers that programs import. They do ordinary file access, so a redirection of
// /sys/class/infiniband for the whole process redirects these too.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "abi/verbs/entry.h"

namespace {

constexpr std::size_t kSysfsPathMax = 256;

struct SysfsPath {
    std::array<char, kSysfsPathMax + 1> text{};

    SysfsPath() noexcept {
        // The caller of a setuid program must not choose where the program reads device data.
        const char* env = getuid() == geteuid() ? std::getenv("SYSFS_PATH") : nullptr;
        std::string_view path = env == nullptr ? std::string_view{"/sys"} : env;
        path = path.substr(0, kSysfsPathMax);
        while (path.ends_with('/')) {
            path.remove_suffix(1);
        }
        path.copy(text.data(), path.size());
    }
};

// Reads a file as text. Returns its length without one trailing newline, or -1. It fails if the
// content fills the buffer, so that there is no room for the terminating zero.
int read_text(int fd, char* buf, std::size_t size) noexcept {
    const ssize_t length = ::read(fd, buf, size);
    if (length <= 0) {
        return static_cast<int>(length);
    }
    auto end = static_cast<std::size_t>(length);
    if (buf[end - 1] == '\n') {
        --end;
    }
    if (end >= size) {
        errno = ENOSPC;
        return -1;
    }
    buf[end] = '\0';
    return static_cast<int>(end);
}

}  // namespace

extern "C" {

const char* softib_ibv_get_sysfs_path() noexcept {
    static const SysfsPath path;
    return path.text.data();
}

int softib_ibv_read_sysfs_file(const char* dir, const char* file, char* buf,
                               std::size_t size) noexcept {
    std::array<char, 4096> path{};
    const int length = std::snprintf(path.data(), path.size(), "%s/%s", dir, file);
    if (length < 0 || static_cast<std::size_t>(length) >= path.size()) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int fd = ::open(path.data(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    const int result = read_text(fd, buf, size);
    const int saved_errno = errno;
    ::close(fd);
    errno = saved_errno;
    return result;
}

}  // extern "C"
