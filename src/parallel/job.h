// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Exchanges data between the processes of an MPI job, each of which simulates one part of a fabric
// (net/sim/partition.h).

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "net/sim/partition.h"

namespace softib::parallel {

/// Returns the number of processes in the job that an mpirun or a batch system's launcher started
/// this process in; 1 if it was started alone.
std::uint32_t job_size();

class Job : public net::Exchange {
  public:
    /// Joins the job by the library libsoftib_mpi.so in `library_dir`. Must be called only once in
    /// a process. The error is for the user.
    static std::expected<std::unique_ptr<Job>, std::string> join(const std::string& library_dir);
    ~Job() override;

    std::uint32_t rank() const { return rank_; }
    std::uint32_t size() const { return size_; }

    net::TimePs least(net::TimePs mine) override;
    std::uint64_t sum(std::uint64_t mine) override;
    void swap(std::vector<std::vector<net::Crossing>>& out, const Taker& take) override;
    /// Returns the data of all processes, by rank, in the process of rank 0; empty data in the
    /// others. Lengths must be multiples of 8.
    std::vector<std::vector<std::uint8_t>> gather(std::span<const std::uint8_t> mine);

  private:
    struct Calls;
    explicit Job(std::unique_ptr<Calls> calls);

    std::unique_ptr<Calls> calls_;
    std::uint32_t rank_ = 0;
    std::uint32_t size_ = 1;
    // Buffers of swap(). They are kept, because making them anew costs as much as sending them.
    std::vector<net::Crossing> sent_;
    std::vector<net::Crossing> got_;
};

}  // namespace softib::parallel
