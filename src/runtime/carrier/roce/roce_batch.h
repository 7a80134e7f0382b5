// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Sends packets by UDP sockets, in batches. Packets of one size for one destination (the last may
// be shorter) leave in one batch, which the kernel cuts into datagrams as late as it can, on a
// loopback interface never. Batches leave in the order in which they began.

#include <cstdint>
#include <vector>

#include "core/hca/context.h"
#include "runtime/carrier/roce/roce_socket.h"

namespace softib::carrier {

class RoceBatches {
  public:
    RoceBatches();

    /// Returns whether there is room for one more packet; if not, flush() must come first.
    bool has_room() const { return used_ < batches_.size(); }
    /// Adds a packet that must leave by this socket.
    void add(int fd, const hca::Transmit& transmit);
    /// Sends all batches. Returns false if the kernel has no room now; the rest stays.
    bool flush();
    bool empty() const { return used_ == first_; }

  private:
    struct Batch {
        int fd = -1;
        Gid to{};
        SocketAddress address;
        std::uint32_t packet_bytes = 0;  ///< Bytes of each packet but the last.
        std::uint32_t count = 0;
        std::uint32_t bytes = 0;
        bool closed = false;  ///< Whether a shorter packet has ended the batch.
        std::vector<std::uint8_t> room;
    };
    Batch& place_for(int fd, const Gid& to, std::uint32_t bytes);
    bool send(const Batch* from, std::uint32_t count, std::uint32_t& sent);

    std::vector<Batch> batches_;
    std::uint32_t first_ = 0;  ///< The first batch that has not left.
    std::uint32_t used_ = 0;   ///< The first batch that is not in use.
    bool batching_ = true;     ///< Whether batches may have more than one packet.
};

}  // namespace softib::carrier
