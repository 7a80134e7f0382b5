// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A collective operation of one member, cut into turns (runtime/sharp/turns.h): which part of the
// vector this member gives and takes in each, and what that is in packets.

#include <cstdint>

#include "core/sharp/types.h"
#include "runtime/sharp/turns.h"

namespace softib::abi::sharp {

struct Operation {
    enum Kind : std::uint8_t {
        kBarrier,
        kAllReduce,
        kReduce,
        kReduceScatter,
        kBroadcast,
        kAllGather
    };

    Kind kind = kBarrier;
    softib::sharp::Reduction reduction{};
    bool streaming = false;
    std::uint32_t root = 0;
    live::PieceList in{};
    live::PieceList out{};
    std::uint64_t bytes = 0;  ///< Of the vector.
    /// Reduce-scatter: the part of the vector that this member takes, all-gather: that it gives.
    std::uint64_t own_begin = 0;
    std::uint64_t own_end = 0;
    std::uint64_t own_at = 0;  ///< Where own_begin stands in its memory.

    std::uint64_t turns() const;
    live::Turn turn(std::uint64_t index, std::uint32_t rank, const live::GroupHeader& header) const;

  private:
    bool reduces() const { return kind <= kReduceScatter; }
    std::uint32_t window() const;
    std::uint64_t signature() const;
};

}  // namespace softib::abi::sharp
