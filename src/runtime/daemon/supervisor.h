// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The daemon's helper processes. The Supervisor starts them, notices when one ends, starts it again
// at a bounded rate, and reports the state of each in the log and by health(). Finally it ends them
// all.
//
// The kernel reports an end by SIGCHLD, which the Supervisor blocks and reads from a descriptor: a
// HelperPlan::start that forks must unblock the signal in the child. For use by one thread.

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "runtime/shm/requests.h"

namespace softib::daemon {

/// How one helper process is started and watched.
struct HelperPlan {
    std::string name;
    /// Forks the helper and returns its pid. The error is a text for the log, or for the user who
    /// starts the fabric.
    std::function<std::expected<pid_t, std::string>()> start;
    /// Called when the helper has ended by itself, before it is started again.
    std::function<void()> ended = [] {};
    /// Asks the helper for a sign of life. Returns false if it does not answer within a moment.
    std::function<bool()> answers = [] { return true; };
};

class Supervisor {
  public:
    Supervisor() = default;
    ~Supervisor();
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;

    /// Starts a helper and keeps it running from now on.
    std::expected<void, std::string> add(HelperPlan plan, std::uint64_t now_ns);
    /// Returns a descriptor that is readable when a helper has ended; -1 before the first add().
    int fd() const { return signal_fd_; }
    /// Notes which helpers have ended, and starts again those that are due.
    void run(std::uint64_t now_ns);
    /// Asks the running helpers for a sign of life and updates health().
    void ask(std::uint64_t now_ns);
    /// Returns the time at which run() is due; UINT64_MAX: only when fd() is readable.
    std::uint64_t next_ns() const;
    /// Ends all helpers, the one added last first: by SIGTERM, and after a second by SIGKILL.
    void end_all();

    /// The state of a helper.
    struct Health {
        std::string name;
        shm::request::HelperState state = shm::request::HelperState::kRuns;
        pid_t pid = 0;  ///< 0: it waits to be started again.
        std::uint32_t restarts = 0;
        std::time_t last_end = 0;  ///< 0: it has not ended yet.
        std::string reason;        ///< Why it last ended: "signal 9", "status 1".
    };
    const std::vector<Health>& health() const { return health_; }

  private:
    struct Helper {
        HelperPlan plan;
        std::uint64_t started_ns = 0;
        std::uint64_t delay_ns = 0;
        std::uint64_t due_ns = UINT64_MAX;  ///< When to start it again; UINT64_MAX: it runs.
        std::uint64_t silent_ns = 0;        ///< When it first did not answer; 0: it answers.
    };

    /// Notes a change of a helper's state; `status` is from waitpid().
    void note(std::size_t index, int status, std::uint64_t now_ns);
    void note_end(std::size_t index, const std::string& reason, std::uint64_t now_ns);
    void start_again(std::size_t index, std::uint64_t now_ns);

    std::vector<Helper> helpers_;
    std::vector<Health> health_;  ///< In the order of helpers_.
    int signal_fd_ = -1;
};

}  // namespace softib::daemon
