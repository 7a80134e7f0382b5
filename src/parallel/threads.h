// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Exchanges data between the threads of one process, each of which simulates one part of a fabric
// (net/sim/partition.h).

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "net/sim/partition.h"

namespace softib::parallel {

/// What the threads share. Each thread has one seat.
class Meeting {
  public:
    explicit Meeting(std::uint32_t parts);
    /// Returns the seat of the thread that simulates a part.
    net::Exchange& seat(std::uint32_t part);

  private:
    class Seat;

    /// Waits until all threads have called it. Waits are short, so a thread spins at first; where
    /// there are fewer cores than threads, it sleeps at once.
    void wait();

    std::uint32_t parts_;
    int spins_max_;
    std::atomic<std::uint32_t> arrived_{0};  ///< Threads that have come in this round.
    std::atomic<std::uint32_t> round_{0};    ///< Number of waits that are over.
    std::vector<std::unique_ptr<Seat>> seats_;

  public:
    ~Meeting();
    Meeting(const Meeting&) = delete;
    Meeting& operator=(const Meeting&) = delete;
};

}  // namespace softib::parallel
