// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A collective operation of one member, cut into turns (runtime/sharp/turns.h): which part of the
// vector this member gives and takes in each turn, and how many packets that would be.

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
    softib::sharp::PieceList in{};
    softib::sharp::PieceList out{};
    std::uint64_t bytes = 0;  ///< Size of the vector.
    /// First byte of this member's part of the vector, which it takes in a reduce-scatter and gives
    /// in an all-gather. It is the first byte of this member's buffer.
    std::uint64_t own_begin = 0;
    std::uint64_t own_end = 0;  ///< End of this member's part of the vector.

    /// Returns the number of turns.
    std::uint64_t turns() const;
    /// Returns what the member with this rank does in a turn.
    softib::sharp::Turn turn(std::uint64_t index, std::uint32_t rank,
                             const softib::sharp::GroupHeader& header) const;

  private:
    bool reduces() const { return kind <= kReduceScatter; }
    std::uint32_t window() const;
    std::uint64_t signature() const;
};

}  // namespace softib::abi::sharp
