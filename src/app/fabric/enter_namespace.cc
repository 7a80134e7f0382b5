// SPDX-License-Identifier: BSD-2-Clause
// Makes the host's /sys and /dev real paths, for programs that no preload reaches (static binaries,
// Go). /sys and /dev themselves cannot be written to, so each directory that must get an entry is
// replaced by a tmpfs that has the old entries, as bind mounts, and the new ones.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "app/fabric/enter_host.h"
#include "app/fabric/observe.h"
#include "core/cm/address.h"
#include "runtime/shm/addresses.h"

namespace softib::app {

namespace fs = std::filesystem;

namespace {

using Done = std::expected<void, std::string>;

// The directories of real HCAs, which are replaced as a whole and never mixed with ours.
constexpr const char* kOursAlone[] = {"infiniband", "infiniband_verbs", "infiniband_mad",
                                      "infiniband_cm"};

Done failed(const std::string& what) {
    return std::unexpected(fmt::format("cannot {}: {}", what, std::strerror(errno)));
}

bool write_text(const char* path, const std::string& text) {
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const bool done =
        fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (fd >= 0) {
        close(fd);
    }
    return done;
}

/// Makes a mount namespace. Without the right to do so, makes a user namespace first, in which the
/// uid stays the same, so that the daemon and the kernel see the same user.
Done unshare_mounts() {
    if (unshare(CLONE_NEWNS) == 0) {
        return {};
    }
    const uid_t uid = geteuid();
    const gid_t gid = getegid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
        return std::unexpected(
            fmt::format("--ns needs unprivileged user namespaces, which this system forbids ({}); "
                        "run without --ns, or allow them: sysctl kernel.unprivileged_userns_clone, "
                        "kernel.apparmor_restrict_unprivileged_userns, user.max_user_namespaces; "
                        "inside a chroot only root has --ns",
                        std::strerror(errno)));
    }
    if (!write_text("/proc/self/setgroups", "deny") ||
        !write_text("/proc/self/uid_map", fmt::format("{} {} 1", uid, uid)) ||
        !write_text("/proc/self/gid_map", fmt::format("{} {} 1", gid, gid))) {
        return failed("map our uid into the user namespace");
    }
    return {};
}

Done bind_over(const fs::path& from, const fs::path& to) {
    if (mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
        return failed(fmt::format("bind {} to {}", from.string(), to.string()));
    }
    return {};
}

/// Makes a mount private to this namespace: nothing that is mounted below it is seen outside.
bool make_private(const char* at, unsigned long how = 0) {
    return mount(nullptr, at, nullptr, MS_PRIVATE | how, nullptr) == 0;
}

/// Makes a copy of the whole tree the root. This is for a chroot, where the root is a directory of
/// some mount, whose propagation cannot be changed by a path from here. The copy is mounted below
/// one of the chroot's own mounts, which hides it from others.
Done enter_copy_of_root() {
    std::error_code gone;
    const fs::path here = fs::current_path(gone);
    for (const char* const place : {"/proc", "/sys", "/dev"}) {
        if (!make_private(place)) {
            continue;  // This place is not a mount.
        }
        if (auto done = bind_over("/", place); !done) {
            return done;
        }
        if (chdir(place) != 0 || chroot(".") != 0) {
            return failed("change to a root of our own");
        }
        if (gone || chdir(here.c_str()) != 0) {
            static_cast<void>(chdir("/"));
        }
        return {};
    }
    return std::unexpected(
        "--ns needs a mount to begin with, and this root is none and has none at /proc, /sys or "
        "/dev; mount /proc here, or run without --ns");
}

/// Hides all later mounts from the namespace that this process comes from.
Done hide_mounts() {
    if (make_private("/", MS_REC)) {
        return {};
    }
    if (errno != EINVAL) {
        return failed("make the mounts private");
    }
    if (auto done = enter_copy_of_root(); !done) {
        return done;
    }
    return make_private("/", MS_REC) ? Done{} : failed("make the mounts private");
}

/// Makes `to` show what `from` is: a directory or a file by a bind mount, a symbolic link by the
/// same link.
Done put(const fs::path& from, const fs::path& to) {
    std::error_code error;
    const fs::file_status status = fs::symlink_status(from, error);
    if (fs::is_symlink(status)) {
        fs::create_symlink(fs::read_symlink(from, error), to, error);
        return error ? failed(fmt::format("link {}", to.string())) : Done{};
    }
    if (fs::is_directory(status)) {
        if (mkdir(to.c_str(), 0755) != 0) {
            return failed(fmt::format("make {}", to.string()));
        }
    } else {
        const int fd = open(to.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0) {
            return failed(fmt::format("make {}", to.string()));
        }
        close(fd);
    }
    return bind_over(from, to);
}

bool ours_alone(const fs::path& name) {
    return std::ranges::any_of(kOursAlone, [&](const char* one) { return name == one; });
}

std::vector<fs::path> entries(const fs::path& dir) {
    std::vector<fs::path> all;
    std::error_code error;
    for (fs::directory_iterator it(dir, error), end; !error && it != end; it.increment(error)) {
        all.push_back(it->path());
    }
    return all;
}

/// Fills `to` with the entries of both directories. Entries of `ours` win; directories that are in
/// both are merged.
Done merge(const fs::path& theirs, const fs::path& ours, const fs::path& to) {
    std::error_code ignored;
    for (const fs::path& entry : entries(theirs)) {
        const fs::path name = entry.filename();
        const bool in_ours = fs::exists(fs::symlink_status(ours / name, ignored));
        if (in_ours || ours_alone(name)) {
            continue;
        }
        // An entry that cannot be shown (a device that the namespace may not see) is left out.
        if (!put(entry, to / name)) {
            fs::remove(to / name, ignored);
        }
    }
    for (const fs::path& entry : entries(ours)) {
        const fs::path name = entry.filename();
        const fs::path other = theirs / name;
        Done done;
        if (!ours_alone(name) && fs::is_directory(other, ignored) &&
            !fs::is_symlink(entry, ignored)) {
            if (mkdir((to / name).c_str(), 0755) != 0) {
                return failed(fmt::format("make {}", (to / name).string()));
            }
            done = merge(other, entry, to / name);
        } else {
            done = put(entry, to / name);
        }
        if (!done) {
            return done;
        }
    }
    return {};
}

/// Adds /dev/infiniband. Programs look for character devices there, but nothing is ever sent to
/// them.
Done put_devices(const fs::path& ours, const fs::path& to) {
    const fs::path dir = to / "infiniband";
    if (mkdir(dir.c_str(), 0755) != 0) {
        return failed(fmt::format("make {}", dir.string()));
    }
    for (const fs::path& entry : entries(ours / "infiniband")) {
        if (auto done = put("/dev/null", dir / entry.filename()); !done) {
            return done;
        }
    }
    return {};
}

/// Replaces `dir` by its merge with the same directory below the host's root.
Done replace(const fs::path& dir, const fs::path& sysroot, const fs::path& staging) {
    const fs::path ours = sysroot / dir.relative_path();
    if (access(ours.c_str(), F_OK) != 0 || access(dir.c_str(), F_OK) != 0) {
        return {};
    }
    // Mode 755, not the default 1777: writing to a device in a sticky directory is refused.
    if (mount("softib", staging.c_str(), "tmpfs", MS_NOSUID, "mode=755") != 0) {
        return failed("mount a tmpfs");
    }
    Done done;
    if (dir == "/dev") {
        done = merge(dir, sysroot / "nothing", staging);
        if (done) {
            done = put_devices(ours, staging);
        }
    } else {
        done = merge(dir, ours, staging);
    }
    if (done && mount(staging.c_str(), dir.c_str(), nullptr, MS_MOVE, nullptr) != 0) {
        done = failed(fmt::format("put the host's {} in place", dir.string()));
    }
    return done;
}

/// Replaces /etc/hosts by a file without a name that has the fabric's hosts and then the machine's
/// own lines.
Done name_hosts(const HostEnvironment& host) {
    constexpr char kHostsFile[] = "/etc/hosts";
    if (access(kHostsFile, R_OK) != 0) {
        return {};
    }
    const auto observer = Observer::open(host.fabric);
    if (!observer) {
        return std::unexpected(observer.error());
    }
    std::string text = "# Hosts of the fabric; below, those of the machine.\n";
    const shm::Arena& arena = observer->arena();
    for (std::uint32_t i = 0; i < arena.header->hosts; ++i) {
        text += fmt::format("{} {}\n",
                            cm::to_string(shm::address_of_hca(arena, arena.hosts[i].hca_first)),
                            arena.hosts[i].name);
    }
    std::stringstream theirs;
    theirs << std::ifstream(kHostsFile).rdbuf();
    text += theirs.str();
    std::string path = host.fabric.dir + "/" + kHostsDirName + "/.hosts.XXXXXX";
    const int fd = mkostemp(path.data(), O_CLOEXEC);
    if (fd < 0) {
        return failed(fmt::format("make {}", path));
    }
    const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                         fchmod(fd, 0644) == 0;
    close(fd);
    Done done = written ? bind_over(path, kHostsFile) : failed(fmt::format("write {}", path));
    unlink(path.c_str());
    return done;
}

/// Makes the host's name the one that the kernel tells this process and its children.
Done take_name(const HostEnvironment& host) {
    const std::string name = hostname_of(host);
    if (unshare(CLONE_NEWUTS) != 0 || sethostname(name.data(), name.size()) != 0) {
        return failed(fmt::format("take the name {} (--real-hostname does without)", name));
    }
    return name_hosts(host);
}

}  // namespace

std::expected<void, std::string> enter_namespace(const HostEnvironment& host) {
    if (auto done = unshare_mounts(); !done) {
        return done;
    }
    if (auto done = hide_mounts(); !done) {
        return done;
    }
    const std::string staging = host.fabric.dir + "/" + kHostsDirName + "/.staging";
    if (mkdir(staging.c_str(), 0700) != 0 && errno != EEXIST) {
        return failed(fmt::format("make {}", staging));
    }
    for (const char* const dir : {"/sys/devices", "/sys/class", "/sys/bus", "/dev"}) {
        if (auto done = replace(dir, host.sysroot, staging); !done) {
            return done;
        }
    }
    return host.real_hostname ? Done{} : take_name(host);
}

}  // namespace softib::app
