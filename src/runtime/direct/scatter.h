// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Moves a message: gathers it from the sender's buffers and scatters it over the buffers of a
// receive request.

#include <cstdint>

#include "core/base/check.h"
#include "core/hca/receive_queue.h"
#include "runtime/direct/recv_queue.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/types.h"

namespace softib::direct {

class Process;

/// The sender's buffers, as addresses that this process, or a GPU for it, can read.
struct Gather {
    struct Part {
        const char* from;
        std::uint64_t bytes;
        bool on_gpu;
        bool is_zeros;  ///< All bytes are 0, and `from` has only some of them.
    };
    /// A part for each buffer, and one for the GRH before a datagram.
    static constexpr std::uint32_t kPartsMax = hca::kSgesMax + 1;
    Part parts[kPartsMax];
    std::uint32_t count = 0;
    std::uint64_t bytes = 0;

    void add(const char* from, std::uint64_t n, bool on_gpu = false) {
        add(Part{.from = from, .bytes = n, .on_gpu = on_gpu, .is_zeros = false});
    }
    /// Adds `n` zero bytes, which is what a read of a null memory region gives.
    void add_zeros(std::uint64_t n);

  private:
    void add(const Part& part) {
        SOFTIB_CHECK(count < kPartsMax);
        parts[count++] = part;
        bytes += part.bytes;
    }
};

/// Writes `n` bytes of a part, from its byte `offset` on, to `addr` in a memory region. Returns
/// false if the memory could not be reached.
bool write_part(Process& process, const Gather::Part& part, std::uint64_t offset, std::uint64_t n,
                const shm::MrShared& to, std::uint64_t addr);

/// Returns whether a receive request has room for a message of `bytes` bytes.
inline bool holds(const shm::TakenRecv& request, std::uint64_t bytes) {
    return hca::room_in({request.sges, request.num_sge}) >= bytes;
}

/// Checks whether the buffers of a receive request can take a message of `bytes` bytes, before its
/// first byte moves. Returns kSuccess, or the error status for the receiver's completion.
hca::WcStatus scatter_check(const shm::Arena& arena, const shm::TakenRecv& to, std::uint32_t pd,
                            std::uint64_t bytes);

/// Moves the message. Returns false if the receiver's memory could not be reached.
bool scatter_copy(Process& process, const Gather& gather, const shm::TakenRecv& to,
                  std::uint32_t pd);

}  // namespace softib::direct
