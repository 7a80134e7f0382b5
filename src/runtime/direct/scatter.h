// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A message between two scattered memories: gathered from the sender's buffers, spread over the
// buffers of a receive request.

#include <cstdint>

#include "core/hca/receive_queue.h"
#include "runtime/direct/recv_queue.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/types.h"

namespace softib::live {

class Process;

/// The sender's side, as addresses this process can read, or have a GPU read.
struct Gather {
    struct Part {
        const char* from;
        std::uint64_t bytes;
        bool on_gpu;
    };
    static constexpr std::uint32_t kPartsMax = 2 * kSgesMax;
    Part parts[kPartsMax];
    std::uint32_t count = 0;
    std::uint64_t bytes = 0;

    void add(const char* from, std::uint64_t n, bool on_gpu = false) {
        parts[count++] = {from, n, on_gpu};
        bytes += n;
    }
    /// What a null region reads as.
    void add_zeros(std::uint64_t n);
};

/// Returns whether a receive request has room for a message of `bytes` bytes.
inline bool holds(const TakenRecv& request, std::uint64_t bytes) {
    return hca::room_in({request.sges, request.num_sge}) >= bytes;
}

/// Checks the buffers of a receive request for a message, before its first byte moves: kSuccess,
/// or what the receiver's completion says.
WcStatus scatter_check(const Arena& arena, const TakenRecv& to, std::uint32_t pd,
                       std::uint64_t bytes);

/// Moves the message; false when the receiver's memory could not be reached.
bool scatter_copy(Process& process, const Gather& gather, const TakenRecv& to, std::uint32_t pd);

}  // namespace softib::live
