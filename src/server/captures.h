// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Captures of packets that clients start: each is a `softib capture` process that writes a file
// below the fabric's directory. At most kMost are kept; the files go with the fabric.
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

    /// `program`: the softib command. `dir`: the fabric's.
    Captures(std::string program, std::string dir)
        : program_(std::move(program)), dir_(std::move(dir)) {}
    ~Captures();
    Captures(const Captures&) = delete;
    Captures& operator=(const Captures&) = delete;

    struct Capture {
        std::uint32_t id = 0;
        std::vector<std::string> ports;  ///< Empty: what all HCAs send.
        std::uint64_t packets = 0;       ///< After which it ends.
        bool running = false;
        std::uint64_t bytes = 0;  ///< Of the file so far.
        std::string trouble;      ///< What the command said when it failed.
    };
    std::expected<std::uint32_t, std::string> start(std::vector<std::string> ports,
                                                    std::uint64_t packets);
    bool stop(std::uint32_t id);
    std::vector<Capture> list();
    /// Returns the file of a capture; empty: there is none of this number.
    std::string file_of(std::uint32_t id);

  private:
    struct Entry {
        Capture capture;
        pid_t pid = 0;  ///< 0: it has ended.
    };
    void look();
    std::string path_of(std::uint32_t id, const char* suffix) const;

    const std::string program_;
    const std::string dir_;
    std::mutex mutex_;
    std::vector<Entry> entries_;
    std::uint32_t next_ = 1;
};

}  // namespace softib::server
