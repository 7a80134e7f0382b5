// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A job of an MPI whose processes carry the parts of one fabric (net/partition.h).

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "net/partition.h"

namespace softib::parallel {

/// How many processes this one was started with by an mpirun or a batch system's launcher; 1: it
/// was started alone.
std::uint32_t job_size();

class Job : public net::Exchange {
  public:
    /// Joins the job by the library libsoftib_mpi.so of this folder. Once in a process. The error
    /// is for the user.
    static std::expected<std::unique_ptr<Job>, std::string> join(const std::string& library_dir);
    ~Job() override;

    std::uint32_t rank() const { return rank_; }
    std::uint32_t size() const { return size_; }

    net::TimePs least(net::TimePs mine) override;
    std::uint64_t sum(std::uint64_t mine) override;
    void swap(std::vector<std::vector<net::Crossing>>& out, const Taker& take) override;
    /// Brings what each process has to the first one, by rank; the others get nothing. Lengths are
    /// multiples of 8.
    std::vector<std::vector<std::uint8_t>> gather(std::span<const std::uint8_t> mine);

  private:
    struct Calls;
    explicit Job(std::unique_ptr<Calls> calls);

    std::unique_ptr<Calls> calls_;
    std::uint32_t rank_ = 0;
    std::uint32_t size_ = 1;
    // What swap() sends and gets. They keep their length: to make them anew costs as much as to
    // send them.
    std::vector<net::Crossing> sent_;
    std::vector<net::Crossing> got_;
};

}  // namespace softib::parallel
