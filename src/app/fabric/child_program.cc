// SPDX-License-Identifier: BSD-2-Clause
#include "app/fabric/child_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "app/fabric/environment.h"

namespace softib::app {

namespace {

/// Runs in the child after fork(): undoes what the daemon set up for itself (signals, descriptors),
/// arranges to end with the daemon, and becomes the program.
[[noreturn]] void become_child(const std::vector<std::string>& args,
                               const std::vector<std::string>& environment, pid_t parent,
                               int output_fd) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    setpgid(0, 0);  // Ctrl-C is for the daemon, which then ends this process.
    const int null_fd = open("/dev/null", O_RDONLY);
    dup2(null_fd, STDIN_FILENO);
    dup2(output_fd, STDOUT_FILENO);
    dup2(output_fd, STDERR_FILENO);
    for (const int signal_number : {SIGPIPE, SIGHUP, SIGCHLD}) {
        signal(signal_number, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execve(args[0].c_str(), to_argv(args).data(), to_argv(environment).data());
    _exit(127);
}

}  // namespace

std::expected<pid_t, std::string> start_child(const std::vector<std::string>& args,
                                              const std::vector<std::string>& environment,
                                              const std::string& output) {
    const int output_fd = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (output_fd < 0) {
        return std::unexpected(fmt::format("cannot write {}: {}", output, std::strerror(errno)));
    }
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
        become_child(args, environment, parent, output_fd);
    }
    const int error = errno;
    close(output_fd);
    if (pid < 0) {
        return std::unexpected(fmt::format("cannot start {}: {}", args[0], std::strerror(error)));
    }
    return pid;
}

std::expected<Output, std::string> output_of(std::vector<std::string> words) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        return std::unexpected(std::string(std::strerror(errno)));
    }
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    pid_t pid = 0;
    const int error =
        posix_spawn(&pid, words[0].c_str(), &files, nullptr, to_argv(words).data(), environ);
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    Output output;
    if (error == 0) {
        constexpr std::size_t kPieceBytes = 65'536;
        std::vector<char> piece(kPieceBytes);
        ssize_t got = 0;
        while ((got = read(ends[0], piece.data(), piece.size())) > 0 ||
               (got < 0 && errno == EINTR)) {
            output.text.append(piece.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        }
    }
    close(ends[0]);
    if (error != 0) {
        return std::unexpected(fmt::format("cannot start {}: {}", words[0], std::strerror(error)));
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    constexpr int kSignalled = 128;
    output.status = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
    return output;
}

std::vector<std::string> child_environment(
    const std::vector<std::pair<std::string, std::string>>& variables) {
    std::vector<std::string> environment = daemon_environment();
    for (const auto& [name, value] : variables) {
        std::erase_if(environment, [&, wanted = name + "="](const std::string& entry) {
            return entry.starts_with(wanted);
        });
        environment.push_back(name + "=" + value);
    }
    return environment;
}

}  // namespace softib::app
