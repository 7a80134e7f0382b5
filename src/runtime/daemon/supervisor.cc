// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/supervisor.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/daemon/log.h"
#include "runtime/shm/clock.h"

namespace softib::daemon {

namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
/// A helper that ran for at least this long is started again at once.
constexpr std::uint64_t kSettledNs = 10 * kSecondNs;
/// The delay before another helper is started again. It doubles each time, up to kDelayMaxNs.
constexpr std::uint64_t kDelayNs = kSecondNs / 4;
constexpr std::uint64_t kDelayMaxNs = 16 * kSecondNs;
/// A helper that has not answered for this long is HelperState::kSilent.
constexpr std::uint64_t kSilentNs = kSecondNs;
constexpr int kPoliteMs = 1000;
constexpr int kTickMs = 10;

std::string reason_of(int status) {
    return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                               : fmt::format("status {}", WEXITSTATUS(status));
}

/// Returns whether a child process ends within this time.
bool ends_within(pid_t pid, int ms) {
    for (int waited = 0;; waited += kTickMs) {
        const pid_t ended = waitpid(pid, nullptr, WNOHANG);
        if (ended == pid || (ended < 0 && errno == ECHILD)) {
            return true;
        }
        if (waited >= ms) {
            return false;
        }
        poll(nullptr, 0, kTickMs);
    }
}

}  // namespace

Supervisor::~Supervisor() {
    end_all();
    if (signal_fd_ >= 0) {
        close(signal_fd_);
    }
}

std::expected<void, std::string> Supervisor::add(HelperPlan plan, std::uint64_t now_ns) {
    if (signal_fd_ < 0) {
        sigset_t ends;
        sigemptyset(&ends);
        sigaddset(&ends, SIGCHLD);
        // If SIGCHLD were ignored, waitpid() would not say why a helper ended.
        signal(SIGCHLD, SIG_DFL);
        sigprocmask(SIG_BLOCK, &ends, nullptr);
        signal_fd_ = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    }
    if (signal_fd_ < 0) {
        return std::unexpected(
            fmt::format("cannot watch the {}: {}", plan.name, std::strerror(errno)));
    }
    const auto pid = plan.start();
    if (!pid) {
        return std::unexpected(pid.error());
    }
    health_.push_back({.name = plan.name, .pid = *pid, .reason = {}});
    helpers_.push_back({.plan = std::move(plan), .started_ns = now_ns});
    return {};
}

void Supervisor::run(std::uint64_t now_ns) {
    signalfd_siginfo told{};
    while (signal_fd_ >= 0 && read(signal_fd_, &told, sizeof told) > 0) {
    }
    for (std::size_t i = 0; i < helpers_.size(); ++i) {
        int status = 0;
        while (health_[i].pid != 0 && waitpid(health_[i].pid, &status,
                                              WNOHANG | WUNTRACED | WCONTINUED) == health_[i].pid) {
            note(i, status, now_ns);
        }
        if (helpers_[i].due_ns <= now_ns) {
            start_again(i, now_ns);
        }
    }
}

void Supervisor::note(std::size_t index, int status, std::uint64_t now_ns) {
    Health& health = health_[index];
    if (WIFSTOPPED(status)) {
        health.state = shm::request::HelperState::kStopped;
        log_warning("the {} (pid {}) was stopped by signal {}; programs that need it wait",
                    health.name, health.pid, WSTOPSIG(status));
    } else if (WIFCONTINUED(status)) {
        health.state = shm::request::HelperState::kRuns;
        log_warning("the {} (pid {}) goes on", health.name, health.pid);
    } else {
        note_end(index, reason_of(status), now_ns);
    }
}

void Supervisor::ask(std::uint64_t now_ns) {
    using enum shm::request::HelperState;
    for (std::size_t i = 0; i < helpers_.size(); ++i) {
        Helper& helper = helpers_[i];
        Health& health = health_[i];
        if (health.state == kEnded || health.state == kStopped) {
            continue;
        }
        const bool was_silent = health.state == kSilent;
        if (helper.plan.answers()) {
            helper.silent_ns = 0;
            health.state = kRuns;
            if (was_silent) {
                log_warning("the {} (pid {}) answers again", health.name, health.pid);
            }
            continue;
        }
        helper.silent_ns = helper.silent_ns == 0 ? now_ns : helper.silent_ns;
        health.state = now_ns - helper.silent_ns >= kSilentNs ? kSilent : kAsked;
        if (health.state == kSilent && !was_silent) {
            log_warning(
                "the {0} (pid {1}) does not answer; programs that need it wait; kill -KILL {1} has "
                "it restarted",
                health.name, health.pid);
        }
    }
}

void Supervisor::note_end(std::size_t index, const std::string& reason, std::uint64_t now_ns) {
    Helper& helper = helpers_[index];
    Health& health = health_[index];
    helper.delay_ns = now_ns - helper.started_ns >= kSettledNs
                          ? 0
                          : std::clamp(2 * helper.delay_ns, kDelayNs, kDelayMaxNs);
    helper.due_ns = now_ns + helper.delay_ns;
    log_error("the {} (pid {}) has ended: {}; it starts again {}", health.name, health.pid, reason,
              helper.delay_ns == 0 ? "at once"
                                   : fmt::format("in {} ms", helper.delay_ns * 1000 / kSecondNs));
    helper.silent_ns = 0;
    health.state = shm::request::HelperState::kEnded;
    health.pid = 0;
    health.last_end = std::time(nullptr);
    health.reason = reason;
    helper.plan.ended();
}

void Supervisor::start_again(std::size_t index, std::uint64_t now_ns) {
    Helper& helper = helpers_[index];
    Health& health = health_[index];
    const auto pid = helper.plan.start();
    helper.started_ns = now_ns;
    if (!pid) {
        helper.delay_ns = std::clamp(2 * helper.delay_ns, kDelayNs, kDelayMaxNs);
        helper.due_ns = now_ns + helper.delay_ns;
        log_error("{}", pid.error());
        return;
    }
    helper.due_ns = UINT64_MAX;
    health.state = shm::request::HelperState::kRuns;
    health.pid = *pid;
    ++health.restarts;
    log_warning("the {} was restarted and has pid {}; restarts so far: {}", health.name, health.pid,
                health.restarts);
}

std::uint64_t Supervisor::next_ns() const {
    std::uint64_t next = UINT64_MAX;
    for (const Helper& helper : helpers_) {
        next = std::min(next, helper.due_ns);
    }
    return next;
}

void Supervisor::end_all() {
    while (!helpers_.empty()) {
        if (const pid_t pid = health_.back().pid; pid != 0) {
            kill(pid, SIGTERM);
            if (!ends_within(pid, kPoliteMs)) {
                kill(pid, SIGKILL);
                waitpid(pid, nullptr, 0);
            }
        }
        helpers_.pop_back();
        health_.pop_back();
    }
}

}  // namespace softib::daemon
