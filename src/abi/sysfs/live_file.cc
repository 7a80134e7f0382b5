// SPDX-License-Identifier: BSD-2-Clause
#include "abi/sysfs/live_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "abi/sysfs/ask_daemon.h"
#include "abi/sysfs/redirect.h"
#include "runtime/shm/rpc.h"

namespace softib::sysfs {

namespace {

/// The name of a memfd with live content begins with this; the path of its file follows. The name
/// decides whether a descriptor is live, because descriptors are duplicated, closed and used again
/// without our notice.
constexpr char kNamePrefix[] = "softib:";
constexpr std::string_view kLinkPrefix = "/memfd:softib:";
constexpr std::string_view kLinkSuffix = " (deleted)";
constexpr std::size_t kMemfdNameMax = 249;  ///< The kernel's limit of a memfd's name.

/// A bit for each descriptor that was opened on a live file, so that the names of others need not
/// be read. Descriptors from kDescriptorsMax on are not refreshed.
constexpr int kDescriptorsMax = 4096;
constinit std::atomic<std::uint64_t> live_bits[kDescriptorsMax / 64]{};

std::uint64_t bit_of(int fd) {
    return std::uint64_t{1} << (fd % 64);
}

/// Asks the daemon for the content of `path`; `content` points into `message`. Returns false if no
/// reply came, or if the daemon says that the file cannot be read (the status in `message`).
bool ask(std::string_view path, shm::Message& message, std::string_view& content) {
    shm::request::SysfsRead::Reply reply;
    const bool answered =
        ask_daemon(shm::request::SysfsRead{.host = settings().host, .path = path}, message, reply);
    content = reply.text;
    return answered;
}

/// Returns a read-only descriptor of a memfd with this text, or -1.
int descriptor_with(std::string_view path, std::string_view text) {
    char name[kMemfdNameMax + 1];
    const int n = std::snprintf(name, sizeof name, "%s%.*s", kNamePrefix,
                                static_cast<int>(path.size()), path.data());
    if (n < 0 || static_cast<std::size_t>(n) >= sizeof name) {
        return -1;
    }
    const int writable = memfd_create(name, MFD_CLOEXEC);
    if (writable < 0) {
        return -1;
    }
    long readable = -1;
    if (write(writable, text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
        char link[32];
        std::snprintf(link, sizeof link, "/proc/self/fd/%d", writable);
        readable = syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC, 0);
    }
    close(writable);
    return static_cast<int>(readable);
}

/// Puts a descriptor with the present content in place of `fd`. Not inlined into make_live(), so
/// that only files of the tree need stack for the message.
__attribute__((noinline)) void replace_content(int fd, std::string_view path) {
    shm::Message message;
    std::string_view content;
    const bool answered = ask(path, message, content);
    if (!answered && message.status != EINVAL) {
        return;
    }
    // If a read of the attribute fails with EINVAL (a GID entry without a network device), the new
    // descriptor is one of epoll: a read of it fails with EINVAL too.
    const int source = answered ? descriptor_with(path, content) : epoll_create1(EPOLL_CLOEXEC);
    if (source < 0) {
        return;
    }
    const int fd_flags = fcntl(fd, F_GETFD);
    dup3(source, fd, fd_flags >= 0 && (fd_flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
    close(source);
    if (answered && fd < kDescriptorsMax) {
        live_bits[fd / 64].fetch_or(bit_of(fd), std::memory_order_relaxed);
    }
}

/// Writes the present content into the memfd of a descriptor.
__attribute__((noinline)) void rewrite_content(int fd, std::string_view path) {
    shm::Message message;
    std::string_view content;
    if (!ask(path, message, content)) {
        return;
    }
    char link[32];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const long writable = syscall(SYS_openat, AT_FDCWD, link, O_WRONLY | O_CLOEXEC, 0);
    if (writable < 0) {
        return;
    }
    const int to = static_cast<int>(writable);
    const auto bytes = static_cast<ssize_t>(content.size());
    if (pwrite(to, content.data(), content.size(), 0) == bytes) {
        // If this fails, the end of the old content stays.
        [[maybe_unused]] const int cut = ftruncate(to, bytes);
    }
    close(to);
}

/// Runs `action` with thread cancellation disabled: a thread that is cancelled in the middle would
/// leave descriptors open.
template <typename Action>
void without_cancellation(Action action) {
    int cancel_state = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    action();
    pthread_setcancelstate(cancel_state, nullptr);
}

__attribute__((noinline)) void refresh_if_live(int fd) {
    const int saved_errno = errno;
    PathBuffer buffer;
    std::string_view name = path_of_fd(fd, buffer);
    if (name.starts_with(kLinkPrefix) && name.ends_with(kLinkSuffix)) {
        name.remove_prefix(kLinkPrefix.size());
        name.remove_suffix(kLinkSuffix.size());
        without_cancellation([fd, name] { rewrite_content(fd, name); });
    } else {
        live_bits[fd / 64].fetch_and(~bit_of(fd), std::memory_order_relaxed);
    }
    errno = saved_errno;
}

}  // namespace

void make_live(int fd) {
    if (fd < 0 || !settings().enabled) {
        return;
    }
    const int saved_errno = errno;
    PathBuffer buffer;
    const std::string_view path = path_of_fd(fd, buffer);
    struct stat st{};
    if (in_tree(path) && visible(path).starts_with("/sys/") && fstat(fd, &st) == 0 &&
        S_ISREG(st.st_mode)) {
        const int flags = fcntl(fd, F_GETFL);
        if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY && (flags & O_PATH) == 0) {
            without_cancellation([fd, path] { replace_content(fd, visible(path)); });
        }
    }
    errno = saved_errno;
}

void refresh(int fd) {
    if (fd >= 0 && fd < kDescriptorsMax &&
        (live_bits[fd / 64].load(std::memory_order_relaxed) & bit_of(fd)) != 0) {
        refresh_if_live(fd);
    }
}

void refresh_at_start(int fd) {
    if (fd < 0 || fd >= kDescriptorsMax ||
        (live_bits[fd / 64].load(std::memory_order_relaxed) & bit_of(fd)) == 0) {
        return;
    }
    const int saved_errno = errno;
    const off_t offset = syscall(SYS_lseek, fd, off_t{0}, SEEK_CUR);
    errno = saved_errno;
    if (offset == 0) {
        refresh_if_live(fd);
    }
}

int open_manager_node(const char* path) {
    const char* const slash = std::strrchr(path, '/');
    const char* const name = slash == nullptr ? path : slash + 1;
    unsigned number = 0;
    int used = 0;
    if (std::sscanf(name, "issm%u%n", &number, &used) != 1 || name[used] != '\0') {
        return -1;
    }
    const Settings& s = settings();
    const int fd = s.fabric_dir.empty() ? -1 : shm::rpc_connect(s.fabric_dir.data());
    if (fd < 0) {
        errno = ENODEV;
        return -2;
    }
    const int error = shm::rpc_ask(fd, shm::request::IsManager{.hosts = s.host, .device = number});
    if (error != 0) {
        close(fd);
        errno = error;
        return -2;
    }
    return fd;
}

}  // namespace softib::sysfs
