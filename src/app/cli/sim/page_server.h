// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// `softib sim --serve`: runs softib-telemetry beside the simulation. It shows the simulation's
// recording as a web page, while the simulation runs and afterwards.

#include <sys/types.h>

#include <expected>
#include <string>

namespace softib::app::sim {

class PageServer {
  public:
    /// `recording`: the file; if it is empty, a temporary one is made. `port`: the TCP port; if it
    /// is empty, the server chooses its default.
    PageServer(std::string recording, std::string port);
    /// Ends the server.
    ~PageServer();
    PageServer(const PageServer&) = delete;
    PageServer& operator=(const PageServer&) = delete;

    /// Returns the file that the simulation must record to. The error says why there can be none.
    std::expected<std::string, std::string> recording();
    /// Starts the server on the file, which must have a reading, and waits until the server is
    /// ready.
    std::expected<void, std::string> start();
    /// Waits for Ctrl-C or SIGTERM, then ends the server. Returns the command's exit status: 1 if
    /// the server ended by itself.
    int wait();

  private:
    std::string path_;
    std::string port_;
    std::string scratch_;  ///< The folder of the temporary file, until it is removed.
    pid_t pid_ = -1;
};

}  // namespace softib::app::sim
