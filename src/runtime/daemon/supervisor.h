// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The daemon's helper processes: starts them, notices when one ends, starts it again at a bounded
// rate, and says in the log and on request what became of each. At the end it ends them all.
//
// The kernel tells of an end by SIGCHLD, which the Supervisor blocks and reads from a descriptor:
// whoever forks for it unblocks the signal in the child. One thread.

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "runtime/shm/requests.h"

namespace softib::live {

struct HelperPlan {
    std::string name;
    /// Forks it, and has its pid. The text of an error is for the log, or for who started the
    /// fabric.
    std::function<std::expected<pid_t, std::string>()> start;
    /// It has ended without being asked to; called before it is started again.
    std::function<void()> ended = [] {};
    /// Asks it for a sign of life. Returns false if it has not answered within a moment.
    std::function<bool()> answers = [] { return true; };
};

class Supervisor {
  public:
    Supervisor() = default;
    ~Supervisor();
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;

    /// Starts a helper; from now on it is kept running.
    std::expected<void, std::string> add(HelperPlan plan, std::uint64_t now_ns);
    /// Readable when some helper has ended; -1 before the first was added.
    int fd() const { return signal_fd_; }
    /// Takes notice of helpers that have ended and starts those whose time has come.
    void run(std::uint64_t now_ns);
    /// Asks those that run for a sign of life, for health().
    void ask(std::uint64_t now_ns);
    /// When run() is due; UINT64_MAX: when fd() is readable.
    std::uint64_t next_ns() const;
    /// Ends all, the youngest first: politely, after a second for good.
    void end_all();

    struct Health {
        std::string name;
        request::HelperState state = request::HelperState::kRuns;
        pid_t pid = 0;  ///< 0: it waits to be started again.
        std::uint32_t restarts = 0;
        std::time_t last_end = 0;  ///< 0: it has not ended yet.
        std::string reason;        ///< Of the last end: "signal 9", "status 1".
    };
    const std::vector<Health>& health() const { return health_; }

  private:
    struct Helper {
        HelperPlan plan;
        std::uint64_t started_ns = 0;
        std::uint64_t delay_ns = 0;
        std::uint64_t due_ns = UINT64_MAX;  ///< When it starts again; UINT64_MAX: it runs.
        std::uint64_t silent_ns = 0;        ///< Since when it has not answered; 0: it has.
    };

    /// Takes notice of what the kernel says about it.
    void note(std::size_t index, int status, std::uint64_t now_ns);
    void note_end(std::size_t index, const std::string& reason, std::uint64_t now_ns);
    void start_again(std::size_t index, std::uint64_t now_ns);

    std::vector<Helper> helpers_;
    std::vector<Health> health_;  ///< The same order.
    int signal_fd_ = -1;
};

}  // namespace softib::live
