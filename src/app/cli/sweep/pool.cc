// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/sweep/pool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

namespace softib::app::sweep {

namespace {

void write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(fd, text.data(), text.size());
        if (written < 0 && errno != EINTR) {
            return;
        }
        text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
}

/// Returns the last line of a file that is not empty.
std::string last_line(int fd) {
    std::array<char, 2000> tail{};
    const off_t size = lseek(fd, 0, SEEK_END);
    const off_t from = std::max<off_t>(size - static_cast<off_t>(tail.size()), 0);
    const ssize_t got = pread(fd, tail.data(), tail.size(), from);
    std::string_view text(tail.data(), got < 0 ? 0 : static_cast<std::size_t>(got));
    text = text.substr(0, text.find_last_not_of("\n ") + 1);
    return std::string(text.substr(text.rfind('\n') + 1));
}

}  // namespace

Pool::~Pool() {
    for (Process& process : running_) {
        kill(process.pid, SIGKILL);
        finish(process);
    }
}

bool Pool::start(std::uint64_t piece) {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    const int errors = memfd_create("softib-sweep", MFD_CLOEXEC);
    const pid_t parent = getpid();
    const pid_t pid = errors < 0 ? -1 : fork();
    if (pid == 0) {
        close(ends[0]);
        run_child(piece, ends[1], errors, parent);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        close(errors);
        return false;
    }
    running_.push_back({piece, pid, ends[0], errors});
    return true;
}

void Pool::run_child(std::uint64_t piece, int out, int errors, pid_t parent) const {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);  // The parent died before that was set.
    }
    signal(SIGINT, SIG_IGN);  // The parent decides what Ctrl-C ends.
    dup2(errors, STDERR_FILENO);
    write_all(out, work_(piece));
    _exit(0);
}

Pool::Finished Pool::finish(Process& process) {
    int status = 0;
    while (waitpid(process.pid, &status, 0) < 0 && errno == EINTR) {
    }
    Finished finished{.piece = process.piece, .said = std::move(process.said)};
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        finished.failed = true;
        const std::string last = last_line(process.errors);
        finished.said = WIFSIGNALED(status)
                            ? fmt::format("its process was ended by signal {} ({})",
                                          WTERMSIG(status), strsignal(WTERMSIG(status)))
                            : fmt::format("its process ended with status {}", WEXITSTATUS(status));
        finished.said += last.empty() ? "" : ": " + last;
    }
    close(process.out);
    close(process.errors);
    return finished;
}

std::vector<Pool::Finished> Pool::wait(int milliseconds) {
    std::vector<pollfd> waiting;
    for (const Process& process : running_) {
        waiting.push_back({process.out, POLLIN, 0});
    }
    std::vector<Finished> finished;
    if (poll(waiting.data(), waiting.size(), milliseconds) <= 0) {
        return finished;
    }
    std::vector<Process> still;
    for (std::size_t i = 0; i < running_.size(); ++i) {
        Process& process = running_[i];
        ssize_t got = 1;
        if (waiting[i].revents != 0) {
            std::array<char, 65536> piece;
            got = read(process.out, piece.data(), piece.size());
            process.said.append(piece.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
        }
        if (got == 0 || (got < 0 && errno != EINTR)) {
            finished.push_back(finish(process));
        } else {
            still.push_back(std::move(process));
        }
    }
    running_ = std::move(still);
    return finished;
}

}  // namespace softib::app::sweep
