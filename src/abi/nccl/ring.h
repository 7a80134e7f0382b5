// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A ring of connections among the ranks of a collective communicator. libsharp_coll's out-of-band
// functions use it while a SHARP job and group are made.
//
// Error rule: every wait ends after kPatience, with an error, if a rank is gone.

#include <chrono>
#include <cstdint>
#include <vector>

#include "abi/nccl/plugin_abi.h"

namespace softib::abi::nccl {

class Ring {
  public:
    static constexpr std::chrono::seconds kPatience{60};

    Ring() = default;
    ~Ring();
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    /// Connects to the next rank, and accepts the connection of the rank before.
    Result connect(int device, void* const* handles, int ranks, int rank, void* listen_comm);
    /// Gives every rank the data of all ranks. `data` has room for `bytes` bytes of each rank, in
    /// the order of ranks; the caller has filled in its own.
    Result all_gather(void* data, std::size_t bytes);

    int rank() const { return rank_; }
    int ranks() const { return ranks_; }

  private:
    /// Sends bytes to the next rank and receives as many from the rank before.
    Result exchange(std::byte* out, std::byte* in, std::size_t bytes, void* out_region,
                    void* in_region);

    int rank_ = 0;
    int ranks_ = 0;
    void* send_ = nullptr;
    void* receive_ = nullptr;
};

}  // namespace softib::abi::nccl
