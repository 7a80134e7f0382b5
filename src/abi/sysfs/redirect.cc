// SPDX-License-Identifier: BSD-2-Clause
#include "abi/sysfs/redirect.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace softib::fs {

namespace {

struct Prefix {
    std::string_view text;
    bool whole;  ///< Ends at a component; else anything may follow.
    enum When : unsigned char { kAlways, kWithGpu, kWithName } when = kAlways;
};

constexpr std::string_view kHostnameFile = "/proc/sys/kernel/hostname";

constexpr Prefix kPrefixes[] = {
    {"/sys/class/infiniband", true},
    {"/sys/class/infiniband_verbs", true},
    {"/sys/class/infiniband_mad", true},
    {"/sys/class/misc/rdma_cm", true},
    {"/sys/devices/pcif1b0", false},
    {"/sys/bus/pci/devices/f1b0:", false},
    {"/sys/bus/pci/drivers/mlx5_core", true},
    {"/dev/infiniband", true},
    {"/sys/module/nvidia_peermem", true, Prefix::kWithGpu},
    {kHostnameFile, true, Prefix::kWithName},
};

constexpr std::string_view kDeviceDirectory = "/dev/infiniband/";

/// What a relative path must contain before the directory it starts from is looked up.
constexpr const char* kHints[] = {"infiniband", "f1b0", "mlx5_core"};

enum class Phase : int { kNew, kReading, kReady };

constinit std::atomic<Phase> phase{Phase::kNew};
constinit PathBuffer root_text{};
constinit PathBuffer dir_text{};
constinit PathBuffer host_text{};
constinit PathBuffer hostname_text{};
constinit Settings ready_settings{};
constinit const Settings kDisabled{};

std::string_view copy_variable(const char* name, PathBuffer& to) {
    const char* value = std::getenv(name);
    const std::size_t bytes = value == nullptr ? 0 : std::strlen(value);
    if (bytes == 0 || bytes >= sizeof to.text) {
        return {};
    }
    std::memcpy(to.text, value, bytes + 1);
    return {to.text, bytes};
}

/// Replaces the root by the path without links that the kernel will report for it.
std::string_view resolve_root(std::string_view root) {
    const long fd =
        syscall(SYS_openat, AT_FDCWD, root_text.text, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd >= 0) {
        PathBuffer resolved;
        const std::string_view path = path_of_fd(static_cast<int>(fd), resolved);
        syscall(SYS_close, fd);
        if (!path.empty()) {
            std::memcpy(root_text.text, path.data(), path.size());
            root = {root_text.text, path.size()};
        }
    }
    while (root.ends_with('/')) {
        root.remove_suffix(1);
    }
    root_text.text[root.size()] = '\0';
    return root;
}

void read_settings() {
    std::string_view root = copy_variable("SOFTIB_SYSROOT", root_text);
    // The tree's own paths must fit behind the root.
    if (!root.starts_with('/') || root.size() > kPathMax / 2) {
        return;
    }
    root = resolve_root(root);
    ready_settings = {.enabled = !root.empty(),
                      .root = root,
                      .fabric_dir = copy_variable("SOFTIB_DIR", dir_text),
                      .host = copy_variable("SOFTIB_HOST", host_text),
                      .hostname = copy_variable("SOFTIB_HOSTNAME", hostname_text)};
}

__attribute__((constructor)) void read_settings_at_load() {
    settings();
}

/// Unlike the rest of this file it takes the loader's lock. No signal handler asks for the paths
/// that it decides about.
bool has_gpu_driver() {
    const int saved_errno = errno;
    void* driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
    if (driver != nullptr) {
        dlclose(driver);
    }
    errno = saved_errno;
    return driver != nullptr;
}

/// Some paths are ours only where the program has a GPU's driver, or a host's name.
bool applies(Prefix::When when) {
    return when == Prefix::kAlways || (when == Prefix::kWithGpu && has_gpu_driver()) ||
           (when == Prefix::kWithName && !settings().hostname.empty());
}

bool matches(std::string_view path) {
    for (const Prefix& prefix : kPrefixes) {
        if (path.starts_with(prefix.text) && (!prefix.whole || path.size() == prefix.text.size() ||
                                              path[prefix.text.size()] == '/')) {
            return applies(prefix.when);
        }
    }
    return false;
}

/// Appends `path` to `to` without empty and "." components; with fold, ".." removes the component
/// before it, down to the root. False if it does not fit.
bool append_components(PathBuffer& to, std::size_t& size, std::string_view path, bool fold) {
    const std::size_t root_size = settings().root.size();
    while (!path.empty()) {
        const std::size_t slash = path.find('/');
        const bool last = slash == std::string_view::npos;
        const std::string_view component{path.data(), last ? path.size() : slash};
        path.remove_prefix(last ? path.size() : slash + 1);
        if (component.empty() || component == ".") {
            continue;
        }
        if (fold && component == "..") {
            while (size > root_size && to.text[--size] != '/') {
            }
            continue;
        }
        if (size + component.size() + 2 > sizeof to.text) {
            return false;
        }
        to.text[size++] = '/';
        std::memcpy(to.text + size, component.data(), component.size());
        size += component.size();
    }
    to.text[size] = '\0';
    return true;
}

/// Redirects base + path into `buffer`; returns `original` where that is not ours.
const char* redirect_joined(std::string_view base, const char* original, PathBuffer& buffer) {
    const Settings& s = settings();
    const std::string_view path = original;
    std::memcpy(buffer.text, s.root.data(), s.root.size());
    for (const bool fold : {false, true}) {
        std::size_t size = s.root.size();
        if (!append_components(buffer, size, base, false) ||
            !append_components(buffer, size, path, fold)) {
            return original;
        }
        if (matches({buffer.text + s.root.size(), size - s.root.size()})) {
            // A trailing slash asks for a directory.
            if (path.ends_with('/') && size + 2 <= sizeof buffer.text) {
                buffer.text[size] = '/';
                buffer.text[size + 1] = '\0';
            }
            return buffer.text;
        }
        if (path.find("..") == std::string_view::npos) {
            break;
        }
    }
    return original;
}

bool hints_at_us(const char* path) {
    for (const char* hint : kHints) {
        if (std::strstr(path, hint) != nullptr) {
            return true;
        }
    }
    return false;
}

std::string_view current_directory(PathBuffer& buffer) {
    const int saved_errno = errno;
    const long n = syscall(SYS_getcwd, buffer.text, sizeof buffer.text);
    errno = saved_errno;
    return n > 1 ? std::string_view{buffer.text, static_cast<std::size_t>(n) - 1}
                 : std::string_view{};
}

}  // namespace

const Settings& settings() {
    if (phase.load(std::memory_order_acquire) == Phase::kReady) {
        return ready_settings;
    }
    // Before the C library has its environment nothing can be decided. A thread that comes while
    // another one (or the code that this handler interrupted) reads it passes through rather than
    // wait.
    Phase expected = Phase::kNew;
    if (environ == nullptr || !phase.compare_exchange_strong(expected, Phase::kReading)) {
        return kDisabled;
    }
    const int saved_errno = errno;
    read_settings();
    errno = saved_errno;
    phase.store(Phase::kReady, std::memory_order_release);
    return ready_settings;
}

const char* redirect(const char* path, PathBuffer& buffer) {
    return redirect_at(AT_FDCWD, path, buffer);
}

const char* redirect_at(int dirfd, const char* path, PathBuffer& buffer) {
    if (path == nullptr || !settings().enabled) {
        return path;
    }
    if (path[0] == '/') {
        const char* start = path + std::strspn(path, "/");
        if (std::strncmp(start, "sys/", 4) != 0 && std::strncmp(start, "dev/", 4) != 0 &&
            std::strncmp(start, "proc/sys/", 9) != 0) {
            return path;
        }
        return redirect_joined({}, path, buffer);
    }
    if (!hints_at_us(path)) {
        return path;
    }
    PathBuffer base_text;
    const std::string_view base =
        dirfd == AT_FDCWD ? current_directory(base_text) : path_of_fd(dirfd, base_text);
    // Below the tree the kernel finds the way by itself.
    return base.empty() || in_tree(base) ? path : redirect_joined(base, path, buffer);
}

bool in_tree(std::string_view path) {
    const Settings& s = settings();
    return s.enabled && path.starts_with(s.root) &&
           (path.size() == s.root.size() || path[s.root.size()] == '/');
}

std::string_view visible(std::string_view path) {
    if (!in_tree(path)) {
        return path;
    }
    path.remove_prefix(settings().root.size());
    return path.empty() ? std::string_view{"/"} : path;
}

bool is_device_node(const char* path) {
    if (path == nullptr || !in_tree(path)) {
        return false;
    }
    const std::string_view shown = visible(path);
    return shown.starts_with(kDeviceDirectory) && shown.size() > kDeviceDirectory.size();
}

std::string_view path_of_fd(int fd, PathBuffer& buffer) {
    const int saved_errno = errno;
    char link[32];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const long n = syscall(SYS_readlinkat, AT_FDCWD, link, buffer.text, sizeof buffer.text - 1);
    errno = saved_errno;
    if (n <= 0 || static_cast<std::size_t>(n) >= sizeof buffer.text - 1 || buffer.text[0] != '/') {
        return {};
    }
    buffer.text[n] = '\0';
    return {buffer.text, static_cast<std::size_t>(n)};
}

}  // namespace softib::fs
