// SPDX-License-Identifier: BSD-2-Clause
#include "app/fabric/fabric_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "runtime/daemon/daemon.h"
#include "runtime/shm/protocol.h"
#include "runtime/shm/rpc.h"

namespace softib::app {

namespace fs = std::filesystem;

namespace {

constexpr char kBaseLockName[] = ".lock";

std::string env_or_empty(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

std::string choose_base() {
    if (std::string own = env_or_empty("SOFTIB_RUNTIME_DIR"); !own.empty()) {
        return fs::absolute(own).lexically_normal().string();
    }
    const std::string session = env_or_empty("XDG_RUNTIME_DIR");
    struct stat st{};
    // A stale variable (su, cron) must not lead into another user's directory.
    if (session.starts_with('/') && stat(session.c_str(), &st) == 0 && st.st_uid == geteuid()) {
        return session + "/softib";
    }
    return fmt::format("/tmp/softib-{}", geteuid());
}

std::expected<void, std::string> check_private(const std::string& dir) {
    struct stat st{};
    if (lstat(dir.c_str(), &st) != 0) {
        return std::unexpected(fmt::format("cannot look at {}: {}", dir, std::strerror(errno)));
    }
    if (!S_ISDIR(st.st_mode)) {
        return std::unexpected(fmt::format(
            "{} is not a directory; remove it, or set SOFTIB_RUNTIME_DIR to another place", dir));
    }
    if (st.st_uid != geteuid()) {
        return std::unexpected(fmt::format(
            "{} belongs to uid {}, not to you; set SOFTIB_RUNTIME_DIR to a directory of your own",
            dir, st.st_uid));
    }
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return std::unexpected(
            fmt::format("others may write to {}; fix it with: chmod go-w {}", dir, dir));
    }
    return {};
}

std::string pid_path(const FabricRef& fabric) {
    return fabric.dir + "/" + shm::kPidFileName;
}

pid_t read_pid(int fd) {
    char text[32]{};
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);
    return n > 0 ? static_cast<pid_t>(std::strtol(text, nullptr, 10)) : 0;
}

std::string version_path(const FabricRef& fabric) {
    return fabric.dir + "/" + shm::kVersionFileName;
}

}  // namespace

std::expected<std::string, std::string> base_dir() {
    const std::string base = choose_base();
    std::error_code ignored;
    fs::create_directories(fs::path(base).parent_path(), ignored);
    if (mkdir(base.c_str(), 0700) != 0 && errno != EEXIST) {
        return std::unexpected(
            fmt::format("cannot make {}: {}; set SOFTIB_RUNTIME_DIR to a directory of your own",
                        base, std::strerror(errno)));
    }
    if (auto checked = check_private(base); !checked) {
        return std::unexpected(checked.error());
    }
    return base;
}

std::expected<FabricRef, std::string> resolve_fabric(const std::optional<std::string>& name) {
    const std::string inherited = env_or_empty("SOFTIB_FABRIC");
    const std::string inherited_dir = env_or_empty("SOFTIB_DIR");
    FabricRef fabric;
    fabric.name = name.value_or(inherited.empty() ? "default" : inherited);
    if (auto checked = spec::check_fabric_name(fabric.name); !checked) {
        return std::unexpected(checked.error());
    }
    if (fabric.name == inherited && !inherited_dir.empty()) {
        fabric.dir = inherited_dir;
        return fabric;
    }
    const auto base = base_dir();
    if (!base) {
        return std::unexpected(base.error());
    }
    fabric.dir = *base + "/" + fabric.name;
    return fabric;
}

std::expected<std::vector<FabricRef>, std::string> list_fabrics() {
    const auto base = base_dir();
    if (!base) {
        return std::unexpected(base.error());
    }
    std::vector<FabricRef> fabrics;
    std::error_code error;
    for (fs::directory_iterator it(*base, error), end; !error && it != end; it.increment(error)) {
        const std::string name = it->path().filename().string();
        std::error_code ignored;
        if (spec::check_fabric_name(name) && fs::exists(it->path() / kDescriptionName, ignored)) {
            fabrics.push_back({name, it->path().string()});
        }
    }
    std::ranges::sort(fabrics, {}, &FabricRef::name);
    return fabrics;
}

std::vector<FabricRef> running_fabrics() {
    auto fabrics = list_fabrics().value_or(std::vector<FabricRef>{});
    // Not by the lock: to test it, it must be taken for a moment, in which no daemon could start.
    std::erase_if(fabrics, [](const FabricRef& fabric) {
        const int fd = shm::rpc_connect(fabric.dir.c_str());
        return fd < 0 || close(fd) != 0;
    });
    return fabrics;
}

std::string others_up() {
    std::vector<std::string> names;
    for (const FabricRef& fabric : running_fabrics()) {
        names.push_back(fabric.name);
    }
    return names.empty() ? "" : fmt::format(" (up: {})", fmt::join(names, ", "));
}

std::expected<FabricRef, std::string> find_fabric(const std::optional<std::string>& name) {
    auto fabric = resolve_fabric(name);
    if (!fabric || name || !env_or_empty("SOFTIB_FABRIC").empty()) {
        return fabric;
    }
    std::vector<FabricRef> running = running_fabrics();
    const auto is_private = [](const FabricRef& each) {
        return each.name.starts_with(kPrivatePrefix);
    };
    if (!std::ranges::all_of(running, is_private)) {
        std::erase_if(running, is_private);
    }
    const bool default_is_up =
        std::ranges::find(running, fabric->name, &FabricRef::name) != running.end();
    if (running.empty() || default_is_up) {
        return fabric;
    }
    if (running.size() == 1) {
        return running.front();
    }
    return std::unexpected(
        fmt::format("which fabric?{}; name one with -f, or set SOFTIB_FABRIC", others_up()));
}

std::expected<int, std::string> lock_base_dir() {
    const auto base = base_dir();
    if (!base) {
        return std::unexpected(base.error());
    }
    const std::string path = *base + "/" + kBaseLockName;
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return std::unexpected(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    }
    while (flock(fd, LOCK_EX) != 0) {
        if (errno != EINTR) {
            const int error = errno;
            close(fd);
            return std::unexpected(fmt::format("cannot lock {}: {}", path, std::strerror(error)));
        }
    }
    return fd;
}

std::expected<int, std::string> lock_fabric(const FabricRef& fabric) {
    const std::string path = pid_path(fabric);
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return std::unexpected(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        const pid_t pid = read_pid(fd);
        close(fd);
        return std::unexpected(fmt::format(
            "fabric '{}' is already up (softibd has pid {}); stop it with: softib down {}",
            fabric.name, pid, fabric.name));
    }
    const std::string text = fmt::format("{}\n", getpid());
    // The version is written before the pid, so that a reader that finds the pid finds the version.
    if (ftruncate(fd, 0) != 0 || !(std::ofstream(version_path(fabric)) << own_version() << '\n') ||
        pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
        const int error = errno;
        close(fd);
        return std::unexpected(fmt::format("cannot write {}: {}", path, std::strerror(error)));
    }
    return fd;
}

std::string own_version() {
    return fmt::format("softib {}, protocol {}, arena {}", SOFTIB_VERSION, shm::kProtocolVersion,
                       shm::kArenaVersion);
}

DaemonRecord read_daemon_record(const FabricRef& fabric) {
    const int fd = open(pid_path(fabric).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        DaemonRecord none;
        none.error = errno == ENOENT || errno == ENOTDIR ? 0 : errno;
        return none;
    }
    DaemonRecord record;
    if (flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        record.pid = read_pid(fd);
    }
    close(fd);
    errno = 0;
    std::ifstream version(version_path(fabric));
    if (record.pid != 0 && !std::getline(version, record.version) && errno != ENOENT) {
        record.error = errno;
    }
    return record;
}

pid_t daemon_pid(const FabricRef& fabric) {
    return read_daemon_record(fabric).pid;
}

void remove_leftovers(const FabricRef& fabric) {
    std::error_code ignored;
    for (const char* const name :
         {shm::kSocketName, kHostsDirName, kManagerDirName, kDescriptionName, kNetlistName,
          kPartitionsName, kLogName, kOldLogName, shm::kPidFileName, shm::kVersionFileName}) {
        fs::remove_all(fs::path(fabric.dir) / name, ignored);
    }
}

void remove_fabric(const FabricRef& fabric) {
    std::error_code ignored;
    remove_leftovers(fabric);
    fs::remove_all(fs::path(fabric.dir) / daemon::kProcDirName, ignored);
    fs::remove_all(fs::path(fabric.dir) / kTelemetryDirName, ignored);
    rmdir(fabric.dir.c_str());
}

}  // namespace softib::app
