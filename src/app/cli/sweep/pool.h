// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Runs pieces of work in processes of their own, several at a time, and collects the result of
// each. A piece that crashes or runs out of memory fails alone. When this process dies, however it
// dies, the kernel ends the others.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace softib::app::sweep {

class Pool {
  public:
    /// Does a piece of work, in a process of its own, and returns its result as text.
    using Work = std::function<std::string(std::uint64_t piece)>;

    struct Finished {
        std::uint64_t piece = 0;
        bool failed = false;
        std::string said = {};  ///< The result; if the process failed, why.
    };

    Pool(std::uint32_t jobs, Work work) : jobs_(jobs), work_(std::move(work)) {}
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    bool full() const { return running_.size() >= jobs_; }
    std::size_t running() const { return running_.size(); }
    /// Starts a piece. Must not be called while full(). Returns false if no process can be started.
    bool start(std::uint64_t piece);
    /// Waits until a process writes or ends, at most this long. Returns the pieces that finished,
    /// which may be none.
    std::vector<Finished> wait(int milliseconds);

  private:
    struct Process {
        std::uint64_t piece = 0;
        pid_t pid = -1;
        int out = -1;     ///< The pipe from which its result is read.
        int errors = -1;  ///< The file that has its standard error.
        std::string said = {};
    };

    [[noreturn]] void run_child(std::uint64_t piece, int out, int errors, pid_t parent) const;
    static Finished finish(Process& process);

    std::uint32_t jobs_;
    Work work_;
    std::vector<Process> running_ = {};
};

}  // namespace softib::app::sweep
