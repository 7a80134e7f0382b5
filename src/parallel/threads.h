// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Where the threads of a process meet that carry the parts of one fabric (net/partition.h).

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "net/partition.h"

namespace softib::parallel {

/// Each thread has one seat of a meeting.
class Meeting {
  public:
    explicit Meeting(std::uint32_t parts);
    net::Exchange& seat(std::uint32_t part);

  private:
    class Seat;

    /// Waits until all threads are here. They are never apart for long: they spin, and yield where
    /// there are fewer cores than threads.
    void wait();

    std::uint32_t parts_;
    int spins_max_;
    std::atomic<std::uint32_t> arrived_{0};
    std::atomic<std::uint32_t> round_{0};
    std::vector<std::unique_ptr<Seat>> seats_;

  public:
    ~Meeting();
    Meeting(const Meeting&) = delete;
    Meeting& operator=(const Meeting&) = delete;
};

}  // namespace softib::parallel
