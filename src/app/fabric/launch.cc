// SPDX-License-Identifier: BSD-2-Clause
#include "app/fabric/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string_view>
#include <vector>

#include "app/fabric/environment.h"
#include "app/fabric/fabric_state.h"
#include "app/fabric/term.h"
#include "runtime/shm/rpc.h"

namespace softib::app {

namespace {

constexpr std::chrono::seconds kStartTimeout{120};
constexpr std::chrono::seconds kStopTimeout{10};
constexpr std::chrono::seconds kAnswerTimeout{5};
constexpr std::chrono::seconds kKillTimeout{5};
constexpr int kTickMs = 100;

struct Pipe {
    int read = -1;
    int write = -1;
};

std::expected<Pipe, std::string> make_pipe() {
    std::array<int, 2> fds{};
    if (pipe2(fds.data(), O_CLOEXEC) != 0) {
        return std::unexpected(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    }
    return Pipe{fds[0], fds[1]};
}

void keep_over_exec(int fd) {
    fcntl(fd, F_SETFD, 0);
}

/// Runs in the child after fork(): makes a session of its own, leaves the terminal, and becomes
/// softibd.
[[noreturn]] void become_daemon(const std::vector<std::string>& args,
                                const std::vector<std::string>& environment, int ready_fd,
                                int lifeline_fd) {
    setsid();
    const int null_fd = open("/dev/null", O_RDWR);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        dup2(null_fd, fd);
    }
    keep_over_exec(ready_fd);
    if (lifeline_fd >= 0) {
        keep_over_exec(lifeline_fd);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (chdir("/") != 0) {
        _exit(127);
    }
    execve(args[0].c_str(), to_argv(args).data(), to_argv(environment).data());
    const std::string message = fmt::format("cannot start {}: {}; is the installation complete?",
                                            args[0], std::strerror(errno));
    const ssize_t ignored = write(ready_fd, message.data(), message.size());
    static_cast<void>(ignored);
    _exit(127);
}

/// Removes the lines that begin with kStagePrefix from `said`, and shows them as progress.
void take_stages(std::string& said, const std::string& name, Progress& progress) {
    constexpr std::string_view kPrefix = kStagePrefix;
    for (std::size_t end = 0;
         said.starts_with(kPrefix) && (end = said.find('\n')) != std::string::npos;) {
        progress.set(
            fmt::format("fabric {}: {}", name, said.substr(kPrefix.size(), end - kPrefix.size())));
        said.erase(0, end + 1);
    }
}

/// Reads until the daemon is ready or gone. Returns what it said, without the lines of progress.
std::expected<std::string, std::string> read_until_ready(int fd, const std::string& name) {
    Progress progress(fmt::format("fabric {}: starting", name));
    const auto deadline = std::chrono::steady_clock::now() + kStartTimeout;
    std::string said;
    while (said != kReady) {
        if (std::chrono::steady_clock::now() > deadline) {
            return std::unexpected(
                fmt::format("softibd did not come up within {} s", kStartTimeout.count()));
        }
        pollfd waiting{fd, POLLIN, 0};
        if (poll(&waiting, 1, kTickMs) == 0) {
            progress.tick();
            continue;
        }
        std::array<char, 512> buffer{};
        const ssize_t n = read(fd, buffer.data(), buffer.size());
        if (n == 0) {
            break;
        }
        if (n > 0) {
            said.append(buffer.data(), static_cast<std::size_t>(n));
            take_stages(said, name, progress);
        } else if (errno != EINTR) {
            break;
        }
    }
    return said;
}

/// Writes a file atomically: a reader sees the old file or the whole new one.
std::expected<void, std::string> write_file(const std::string& path, const std::string& text) {
    const std::string unfinished = path + ".new";
    std::ofstream out(unfinished, std::ios::binary | std::ios::trunc);
    out << text;
    out.close();
    if (!out || std::rename(unfinished.c_str(), path.c_str()) != 0) {
        const int error = errno;
        unlink(unfinished.c_str());
        return std::unexpected(fmt::format("cannot write {}: {}", path, std::strerror(error)));
    }
    return {};
}

}  // namespace

std::expected<void, std::string> prepare_fabric(const FabricRef& fabric,
                                                spec::Description description) {
    if (mkdir(fabric.dir.c_str(), 0700) != 0 && errno != EEXIST) {
        return std::unexpected(fmt::format("cannot make {}: {}", fabric.dir, std::strerror(errno)));
    }
    chmod(fabric.dir.c_str(), 0700);
    if (!description.from.empty()) {
        // A copy, because the user may change or remove the file while the fabric is up.
        if (auto written = write_file(fabric.dir + "/" + kNetlistName, description.netlist);
            !written) {
            remove_fabric(fabric);
            return written;
        }
        description.from = kNetlistName;
    }
    if (!description.partitions.empty()) {
        if (auto written =
                write_file(fabric.dir + "/" + kPartitionsName, description.partitions_text);
            !written) {
            remove_fabric(fabric);
            return written;
        }
        description.partitions = kPartitionsName;
    }
    if (auto written = write_file(fabric.dir + "/" + kDescriptionName, spec::to_toml(description));
        !written) {
        remove_fabric(fabric);
        return written;
    }
    return {};
}

std::expected<pid_t, std::string> start_daemon(const FabricRef& fabric, int lifeline_fd) {
    const auto pipe = make_pipe();
    if (!pipe) {
        return std::unexpected(pipe.error());
    }
    std::vector<std::string> args{own_bin_dir() + "/softibd", "--dir", fabric.dir, "--ready-fd",
                                  std::to_string(pipe->write)};
    if (lifeline_fd >= 0) {
        args.insert(args.end(), {"--lifeline-fd", std::to_string(lifeline_fd)});
    }
    const std::vector<std::string> environment = daemon_environment();
    const pid_t pid = fork();
    if (pid == 0) {
        become_daemon(args, environment, pipe->write, lifeline_fd);
    }
    close(pipe->write);
    auto said = pid < 0 ? std::unexpected(fmt::format("cannot fork: {}", std::strerror(errno)))
                        : read_until_ready(pipe->read, fabric.name);
    close(pipe->read);
    if (said && *said == kReady) {
        return pid;
    }
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
    }
    remove_fabric(fabric);
    if (said) {
        return std::unexpected(said->empty() ? "softibd ended before it was ready" : *said);
    }
    return std::unexpected(said.error());
}

std::string exec_daemon_in_foreground(const FabricRef& fabric) {
    const std::vector<std::string> args{own_bin_dir() + "/softibd", "--dir", fabric.dir,
                                        "--foreground"};
    execve(args[0].c_str(), to_argv(args).data(), to_argv(daemon_environment()).data());
    const int error = errno;
    remove_fabric(fabric);
    return fmt::format("cannot start {}: {}", args[0], std::strerror(error));
}

std::expected<void, std::string> stop_daemon(const FabricRef& fabric) {
    const int fd = connect_daemon(fabric);
    shm::Message message;
    shm::request::StatusOnly reply;
    if (fd < 0 || !shm::rpc_call(fd, shm::request::Shutdown{}, message, reply) ||
        message.status != 0) {
        const int error = message.status != 0 ? message.status : errno;
        if (fd >= 0) {
            close(fd);
        }
        return std::unexpected(explain(fabric, error, message.status != 0).what);
    }
    // The daemon closes the connection by exiting, after it has cleaned up.
    Progress progress(fmt::format("fabric {}: ending", fabric.name));
    const auto deadline = std::chrono::steady_clock::now() + kStopTimeout;
    bool closed = false;
    while (!closed && std::chrono::steady_clock::now() < deadline) {
        pollfd waiting{fd, POLLIN, 0};
        closed = poll(&waiting, 1, kTickMs) > 0 && (waiting.revents & (POLLHUP | POLLERR)) != 0;
        progress.tick();
    }
    close(fd);
    if (!closed) {
        return std::unexpected(fmt::format("softibd of fabric '{}' does not end", fabric.name));
    }
    return {};
}

std::expected<void, std::string> signal_daemon(const FabricRef& fabric) {
    const auto deadline = std::chrono::steady_clock::now() + kStopTimeout;
    Progress progress(fmt::format("fabric {}: ending", fabric.name));
    // The lock says that the pid is the daemon's and no one else's.
    if (const pid_t pid = daemon_pid(fabric); pid != 0) {
        kill(pid, SIGTERM);
    }
    while (daemon_pid(fabric) != 0) {
        if (std::chrono::steady_clock::now() > deadline) {
            return std::unexpected(fmt::format("softibd of fabric '{}' does not end", fabric.name));
        }
        poll(nullptr, 0, kTickMs);
        progress.tick();
    }
    remove_fabric(fabric);
    return {};
}

std::expected<void, std::string> kill_daemon(const FabricRef& fabric) {
    const auto deadline = std::chrono::steady_clock::now() + kKillTimeout;
    // The lock says that the pid is the daemon's and no one else's.
    while (const pid_t pid = daemon_pid(fabric)) {
        if (kill(pid, SIGKILL) != 0 || std::chrono::steady_clock::now() > deadline) {
            return std::unexpected(
                fmt::format("cannot end softibd (pid {}) of fabric '{}'", pid, fabric.name));
        }
        poll(nullptr, 0, kTickMs);
    }
    remove_fabric(fabric);
    return {};
}

int connect_daemon(const FabricRef& fabric) {
    const int fd = shm::rpc_connect(fabric.dir.c_str());
    if (fd >= 0) {
        const timeval patience{kAnswerTimeout.count(), 0};
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    }
    return fd;
}

std::string why_not(int error) {
    if (error == EAGAIN) {
        return fmt::format(
            "softibd has not answered for {} s: it may be routing a large fabric, and do this when "
            "it is done; see: softib log",
            kAnswerTimeout.count());
    }
    return fmt::format("softibd refused the request: {}", std::strerror(error));
}

}  // namespace softib::app
