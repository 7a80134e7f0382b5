// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The ranks of a collective communicator in a ring of connections, over which they agree while a
// SHARP job and group are made: libsharp_coll's out-of-band functions.
//
// Errors rule: a rank that is gone ends every wait here after kPatience.

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

    /// Connects to the next rank and accepts the one before.
    Result connect(int device, void* const* handles, int ranks, int rank, void* listen_comm);
    /// Everybody gets what everybody has: `bytes` for each rank, its own at its place.
    Result all_gather(void* data, std::size_t bytes);

    int rank() const { return rank_; }
    int ranks() const { return ranks_; }

  private:
    Result exchange(std::byte* out, std::byte* in, std::size_t bytes, void* out_region,
                    void* in_region);

    int rank_ = 0;
    int ranks_ = 0;
    void* send_ = nullptr;
    void* receive_ = nullptr;
};

}  // namespace softib::abi::nccl
