// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Captures of packets that clients start. Each is a `softib capture` process that writes a file
// below the fabric's directory. At most kMost are kept; the files are removed with the fabric.
//
// Thread rule: any thread may call anything.

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <mutex>
#include <string>
#include <vector>

namespace softib::server {

class Captures {
  public:
    static constexpr std::size_t kMost = 16;
    static constexpr std::uint64_t kPacketsMax = 100'000;

    /// `program`: the path of the softib command. `dir`: the fabric's directory.
    Captures(std::string program, std::string dir)
        : program_(std::move(program)), dir_(std::move(dir)) {}
    ~Captures();
    Captures(const Captures&) = delete;
    Captures& operator=(const Captures&) = delete;

    struct Capture {
        std::uint32_t id = 0;
        std::vector<std::string> ports;  ///< Empty: what all HCAs send is captured.
        std::uint64_t packets = 0;       ///< The capture ends after this many packets.
        bool running = false;
        std::uint64_t bytes = 0;  ///< The size of the file so far.
        std::string trouble;      ///< The error message of the command, if it failed.
    };
    /// Starts a capture and returns its id. If kMost are kept, the oldest that has ended is
    /// removed.
    std::expected<std::uint32_t, std::string> start(std::vector<std::string> ports,
                                                    std::uint64_t packets);
    /// Asks a capture to end. Returns false if there is none with this id.
    bool stop(std::uint32_t id);
    std::vector<Capture> list();
    /// Returns the path of a capture's file; empty if there is no capture with this id.
    std::string file_of(std::uint32_t id);

  private:
    struct Entry {
        Capture capture;
        pid_t pid = 0;  ///< 0: the capture has ended.
    };
    /// Brings all entries up to date: which have ended, how, and the sizes of their files.
    void look();
    std::string path_of(std::uint32_t id, const char* suffix) const;

    const std::string program_;
    const std::string dir_;
    std::mutex mutex_;
    std::vector<Entry> entries_;
    std::uint32_t next_ = 1;
};

}  // namespace softib::server
