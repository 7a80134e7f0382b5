// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/sim/page_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "app/fabric/environment.h"
#include "app/fabric/telemetry_program.h"
#include "app/fabric/term.h"

namespace softib::app::sim {

namespace {

/// Runs in the child after fork(): becomes the server, with `output` as its standard output.
[[noreturn]] void become_server(const std::vector<std::string>& args, pid_t parent, int output) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        _exit(1);
    }
    setpgid(0, 0);  // Ctrl-C is for the simulation, which ends the server.
    dup2(output, STDOUT_FILENO);
    execv(args[0].c_str(), to_argv(args).data());
    _exit(127);
}

/// Reads a line with its end. Returns what there is if the input ends before.
std::string read_line(int fd) {
    std::string line;
    char byte = 0;
    while (line.empty() || line.back() != '\n') {
        const ssize_t got = read(fd, &byte, 1);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got != 1) {
            break;
        }
        line.push_back(byte);
    }
    return line;
}

}  // namespace

PageServer::PageServer(std::string recording, std::string port)
    : path_(std::move(recording)), port_(std::move(port)) {}

PageServer::~PageServer() {
    if (pid_ > 0) {
        kill(pid_, SIGTERM);
        waitpid(pid_, nullptr, 0);
    }
    if (!scratch_.empty()) {
        std::error_code ignored;
        std::filesystem::remove_all(scratch_, ignored);
    }
}

std::expected<std::string, std::string> PageServer::recording() {
    if (auto there = check_telemetry(true); !there) {
        return std::unexpected(there.error());
    }
    if (path_.empty()) {
        std::error_code error;
        scratch_ = (std::filesystem::temp_directory_path(error) / "softib-sim-XXXXXX").string();
        if (error || mkdtemp(scratch_.data()) == nullptr) {
            const int reason = error ? error.value() : errno;
            return std::unexpected(fmt::format("cannot make a folder for the recording, {}: {}",
                                               std::exchange(scratch_, {}), std::strerror(reason)));
        }
        path_ = scratch_ + "/simulation";
    }
    return path_;
}

std::expected<void, std::string> PageServer::start() {
    std::vector<std::string> args{telemetry_program(), "--serve", "--recording", path_};
    if (!port_.empty()) {
        args.insert(args.end(), {"--port", port_});
    }
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        return std::unexpected(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    }
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
        become_server(args, parent, ends[1]);
    }
    close(ends[1]);
    const std::string line = read_line(ends[0]);
    close(ends[0]);
    if (pid_ < 0 || line.empty()) {
        return std::unexpected(fmt::format("{} does not serve the page", args[0]));
    }
    // To standard error, because standard output is the report's.
    fmt::print(stderr, "{}", line);
    if (!scratch_.empty()) {  // The server has opened the file, so its name is not needed.
        std::error_code ignored;
        std::filesystem::remove_all(std::exchange(scratch_, {}), ignored);
    }
    return {};
}

int PageServer::wait() {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGCHLD}) {
        sigaddset(&set, number);
    }
    sigset_t before;
    sigprocmask(SIG_BLOCK, &set, &before);
    std::fflush(stdout);
    // Printed after signals are blocked, because the reader may press Ctrl-C at once.
    fmt::print(stderr, "the simulation is over; Ctrl-C ends the page\n");
    bool asked = false;
    pid_t ended = 0;
    while ((ended = waitpid(pid_, nullptr, WNOHANG)) == 0) {
        int number = 0;
        sigwait(&set, &number);
        if (number != SIGCHLD) {
            kill(pid_, SIGTERM);
            asked = true;
        }
    }
    pid_ = -1;
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return asked ? 0 : fail("the server of the page has ended");
}

}  // namespace softib::app::sim
