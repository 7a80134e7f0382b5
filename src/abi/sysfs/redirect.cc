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

namespace softib::sysfs {

namespace {

struct Prefix {
    std::string_view text;
    bool whole;  ///< A path matches only if a component ends here; otherwise anything may follow.
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

/// A relative path must contain one of these, or its base directory is not even looked up.
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

/// Resolves links in the root, so that it is the path that the kernel reports.
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
    // The paths of the tree must fit into the rest of the buffer.
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

/// Returns whether the program has loaded the driver of a GPU. Unlike the rest of this file, it
/// takes the loader's lock; no signal handler uses the paths for which it is called.
bool has_gpu_driver() {
    const int saved_errno = errno;
    void* driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
    if (driver != nullptr) {
        dlclose(driver);
    }
    errno = saved_errno;
    return driver != nullptr;
}

/// Returns whether a prefix is redirected in this program: some are only if the program has loaded
/// the driver of a GPU, or if the virtual host has a name.
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

/// Appends `path` to `to` without empty and "." components. With `fold`, ".." removes the component
/// before it, down to the root. Returns false if the result does not fit.
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

/// Redirects the path `original`, relative to `base`, into `buffer`. Returns `original` if the path
/// is not one of the virtual host.
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
    // Nothing is redirected before the C library has set `environ`, nor while another thread (or
    // the code that this signal handler has interrupted) reads the settings: waiting could be a
    // deadlock.
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
    // A path relative to a directory of the tree needs no redirection.
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

}  // namespace softib::sysfs
