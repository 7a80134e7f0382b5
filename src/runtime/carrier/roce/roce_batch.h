// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Packets on their way into UDP sockets. Those for one destination that are of one size (the last
// may be shorter) leave in one batch, which the kernel cuts into datagrams as late as it can: on a
// loopback interface never. Batches leave in the order in which they began.

#include <cstdint>
#include <vector>

#include "core/hca/context.h"
#include "runtime/carrier/roce/roce_socket.h"

namespace softib::carrier {

class RoceBatches {
  public:
    RoceBatches();

    /// Whether one more packet finds a place; if not, first flush().
    bool has_room() const { return used_ < batches_.size(); }
    /// Puts a packet in line for leaving by this socket.
    void add(int fd, const hca::Transmit& transmit);
    /// Sends all; false: the kernel has no room now, and the rest stays.
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
        bool closed = false;  ///< Its last one is there.
        std::vector<std::uint8_t> room;
    };
    Batch& place_for(int fd, const Gid& to, std::uint32_t bytes);
    bool send(const Batch* from, std::uint32_t count, std::uint32_t& sent);

    std::vector<Batch> batches_;
    std::uint32_t first_ = 0;  ///< Those before have left.
    std::uint32_t used_ = 0;
    bool batching_ = true;
};

}  // namespace softib::carrier
