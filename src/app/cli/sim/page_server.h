// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// `softib sim --serve`: softib-telemetry beside the simulation, which shows its recording as a web
// page while it runs and afterwards.

#include <sys/types.h>

#include <expected>
#include <string>

namespace softib::app::sim {

class PageServer {
  public:
    /// `recording`: the file; empty: one that nobody else sees. `port`: empty: the server's own.
    PageServer(std::string recording, std::string port);
    /// Ends the server.
    ~PageServer();
    PageServer(const PageServer&) = delete;
    PageServer& operator=(const PageServer&) = delete;

    /// Returns the file that must be written, or why there can be none.
    std::expected<std::string, std::string> recording();
    /// Starts the server on the file, which has a reading, and waits until it answers.
    std::expected<void, std::string> start();
    /// Waits for Ctrl-C or SIGTERM, and ends the server. Returns the command's status: 1 if the
    /// server has ended before.
    int wait();

  private:
    std::string path_;
    std::string port_;
    std::string scratch_;  ///< The folder of a file that nobody else sees, while it has a name.
    pid_t pid_ = -1;
};

}  // namespace softib::app::sim
