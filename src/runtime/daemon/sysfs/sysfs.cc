// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/sysfs/sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <set>
#include <vector>

#include "runtime/daemon/sysfs/sysfs_tree.h"

namespace softib::daemon {

namespace {

using sysfs::Device;
using sysfs::Entry;
using sysfs::FileSpec;
using sysfs::Kind;

/// Directories that have entries of devices and global files only.
constexpr std::string_view kListDirectories[] = {
    sysfs::kPciRoot,
    "/sys/class/infiniband",
    "/sys/class/infiniband_verbs",
    "/sys/class/infiniband_mad",
    "/sys/bus/pci/devices",
    "/dev/infiniband",
};

// ---- Reading ----

/// Removes the first component from `rest` and returns it.
std::string_view take_component(std::string_view& rest) {
    while (rest.starts_with('/')) {
        rest.remove_prefix(1);
    }
    const std::size_t slash = rest.find('/');
    const std::string_view component = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view{} : rest.substr(slash + 1);
    return component;
}

/// Removes a prefix from `path`. Returns false, with nothing changed, if `path` does not have it.
bool take_prefix(std::string_view& path, std::string_view prefix) {
    if (!path.starts_with(prefix)) {
        return false;
    }
    path.remove_prefix(prefix.size());
    return true;
}

/// Returns the device that the path `full` leads to, and sets `path` to the rest, relative to the
/// PCI directory of the device. Returns nullptr if there is none.
const Device* locate(const std::vector<Device>& devices, std::string_view full, std::string& path) {
    std::string_view rest = full;
    if (take_prefix(rest, "/sys/devices/pcif1b0:00/") ||
        take_prefix(rest, "/sys/bus/pci/devices/")) {
        const std::string_view slot = take_component(rest);
        for (const Device& d : devices) {
            if (d.slot == slot) {
                path = rest;
                return &d;
            }
        }
        return nullptr;
    }
    if (!take_prefix(rest, "/sys/class/")) {
        return nullptr;
    }
    path = rest;
    const std::string_view class_name = take_component(rest);
    const std::string_view node = take_component(rest);
    for (const Device& d : devices) {
        if ((class_name == "infiniband" && node == d.name) ||
            (class_name == "infiniband_verbs" && node == fmt::format("uverbs{}", d.number)) ||
            (class_name == "infiniband_mad" && (node == fmt::format("umad{}", d.number) ||
                                                node == fmt::format("issm{}", d.number)))) {
            return &d;
        }
    }
    return nullptr;
}

/// Follows links back to the PCI directory: "infiniband/mlx5_0/device/vendor" becomes "vendor".
std::string_view through_device_links(std::string_view path) {
    while (path.starts_with("infiniband")) {
        std::string_view rest = path;
        take_component(rest);
        take_component(rest);
        if (!take_prefix(rest, "device/")) {
            break;
        }
        path = rest;
    }
    return path;
}

// ---- Writing ----

using Result = std::expected<void, std::string>;

Result failed(const std::string& path, const char* action) {
    return std::unexpected(fmt::format("cannot {} {}: {}", action, path, std::strerror(errno)));
}

bool has_content(const std::string& path, std::string_view content) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return false;
    }
    char found[1024];
    const ssize_t n = read(fd, found, sizeof found);
    close(fd);
    return n >= 0 && std::string_view{found, static_cast<std::size_t>(n)} == content;
}

/// Returns a file name that no other thread or process uses, even one in another PID namespace, and
/// that no dead process has left.
std::string aside_name() {
    static std::atomic<std::uint32_t> uses{0};
    return fmt::format("/.new.{}.{}.{}", getpid(), uses.fetch_add(1, std::memory_order_relaxed),
                       std::chrono::steady_clock::now().time_since_epoch().count());
}

/// Writes one tree. Every file and every replaced link is made under a name of its own and then
/// renamed, so that readers see the old or the new one, never a part.
class TreeWriter {
  public:
    explicit TreeWriter(const std::string& root) : root_(root), aside_(root + aside_name()) {}

    Result write_lists(const Device& any);
    Result write_device(const Device& d);
    void prune_lists() const;

  private:
    Result make_directory(const std::string& path);
    Result write_file(const std::string& path, std::string_view content);
    Result write_link(const std::string& path, const std::string& target);
    Result write_entry(const Device& d, const std::string& path, const Entry& entry);
    /// Removes what is not in wanted_ from a directory.
    void prune(const std::string& dir) const;

    std::string root_;
    std::string aside_;
    std::set<std::string> wanted_;  ///< Paths that prune() must keep.
};

Result TreeWriter::make_directory(const std::string& path) {
    if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
        return failed(path, "make the directory");
    }
    return {};
}

Result TreeWriter::write_file(const std::string& path, std::string_view content) {
    if (has_content(path, content)) {
        return {};
    }
    const int fd = open(aside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    if (fd < 0) {
        return failed(aside_, "create");
    }
    const ssize_t n = write(fd, content.data(), content.size());
    close(fd);
    if (n != static_cast<ssize_t>(content.size()) || rename(aside_.c_str(), path.c_str()) != 0) {
        Result error = failed(path, "write");
        unlink(aside_.c_str());
        return error;
    }
    return {};
}

Result TreeWriter::write_link(const std::string& path, const std::string& target) {
    if (symlink(target.c_str(), path.c_str()) == 0) {
        return {};
    }
    char found[512];
    const ssize_t n = readlink(path.c_str(), found, sizeof found);
    if (n >= 0 && std::string_view{found, static_cast<std::size_t>(n)} == target) {
        return {};
    }
    if (symlink(target.c_str(), aside_.c_str()) != 0 || rename(aside_.c_str(), path.c_str()) != 0) {
        Result error = failed(path, "make the link");
        unlink(aside_.c_str());
        return error;
    }
    return {};
}

Result TreeWriter::write_entry(const Device& d, const std::string& path, const Entry& entry) {
    switch (entry.kind) {
        case Kind::kDirectory:
            return make_directory(path);
        case Kind::kLink:
            return write_link(path, entry.target);
        case Kind::kFile:
            return write_file(path, entry.make(d, entry.arg));
    }
    return {};
}

Result TreeWriter::write_lists(const Device& any) {
    std::error_code error;
    for (const std::string_view dir : kListDirectories) {
        const std::string path = fmt::format("{}{}", root_, dir);
        std::filesystem::create_directories(path, error);
        if (error) {
            return std::unexpected(
                fmt::format("cannot make the directory {}: {}", path, error.message()));
        }
    }
    std::filesystem::create_directories(root_ + "/sys/bus/pci/drivers/mlx5_core", error);
    for (const FileSpec& file : sysfs::global_files(*any.arena)) {
        const std::string path = fmt::format("{}{}", root_, file.name);
        wanted_.insert(path);
        std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
        Result done = write_file(path, file.make(any, 0));
        if (!done) {
            return done;
        }
    }
    return {};
}

Result TreeWriter::write_device(const Device& d) {
    const std::string pci_dir = root_ + d.pci_dir();
    wanted_.insert(pci_dir);
    wanted_.insert(fmt::format("{}/infiniband/{}", pci_dir, d.name));
    Result done = make_directory(pci_dir);
    for (const Entry& entry : sysfs::device_entries(d)) {
        if (!done) {
            return done;
        }
        done = write_entry(d, fmt::format("{}/{}", pci_dir, entry.path), entry);
    }
    for (const Entry& entry : sysfs::links_to(d)) {
        if (!done) {
            return done;
        }
        const std::string path = root_ + entry.path;
        wanted_.insert(path);
        done = write_entry(d, path, entry);
    }
    prune(pci_dir + "/infiniband");
    return done;
}

void TreeWriter::prune(const std::string& dir) const {
    DIR* stream = opendir(dir.c_str());
    if (stream == nullptr) {
        return;
    }
    std::vector<std::string> stale;
    while (const dirent* item = readdir(stream)) {
        const std::string_view name = item->d_name;
        std::string full = fmt::format("{}/{}", dir, name);
        if (name != "." && name != ".." && !wanted_.contains(full)) {
            stale.push_back(std::move(full));
        }
    }
    closedir(stream);
    for (const std::string& path : stale) {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
}

void TreeWriter::prune_lists() const {
    for (const std::string_view dir : kListDirectories) {
        prune(fmt::format("{}{}", root_, dir));
    }
}

}  // namespace

std::expected<std::string, int> sysfs_read(const shm::Arena& arena, std::string_view host,
                                           std::string_view path) {
    const std::vector<Device> devices = sysfs::devices_of(arena, host);
    if (devices.empty()) {
        return std::unexpected(ENOENT);
    }
    for (const FileSpec& file : sysfs::global_files(arena)) {
        if (path == file.name) {
            return file.make(devices.front(), 0);
        }
    }
    std::string located;
    const Device* device = locate(devices, path, located);
    if (device == nullptr) {
        return std::unexpected(ENOENT);
    }
    const std::string_view wanted = through_device_links(located);
    for (const Entry& entry : sysfs::device_entries(*device)) {
        if (entry.kind == Kind::kFile && entry.path == wanted) {
            std::string content = entry.make(*device, entry.arg);
            if (content == sysfs::kNotReadable) {
                return std::unexpected(EINVAL);
            }
            return content;
        }
    }
    return std::unexpected(ENOENT);
}

std::expected<void, std::string> sysfs_materialize(const shm::Arena& arena, std::string_view host,
                                                   const std::string& root) {
    const std::vector<Device> devices = sysfs::devices_of(arena, host);
    if (devices.empty()) {
        return std::unexpected(fmt::format("host '{}' has no device on this fabric", host));
    }
    TreeWriter writer(root);
    Result done = writer.write_lists(devices.front());
    for (const Device& d : devices) {
        if (!done) {
            return done;
        }
        done = writer.write_device(d);
    }
    writer.prune_lists();
    return done;
}

}  // namespace softib::daemon
