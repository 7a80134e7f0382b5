// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A job member's connection to the daemon, over which it sends commands to the aggregation manager.
// The connection is the member's sign of life, so it stays open until the member leaves.
//
// Thread rule: any thread may call; commands are sent one at a time.

#include <cstdint>
#include <mutex>
#include <optional>

#include "core/sharp/error.h"
#include "runtime/shm/requests.h"

namespace softib::abi::sharp {

using softib::sharp::Error;

class Session {
  public:
    Session() = default;
    ~Session() { close(); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// Connects to the daemon of this program's fabric and chooses a device: the first of a list
    /// ("mlx5_0:1,mlx5_1:1") whose port is active or, without a list, the first whose port is.
    Error open(const char* device_list);
    void close();

    std::uint32_t hca() const { return hca_; }

    /// Sends a command, and sends it again while the answer is that it is pending, for some seconds
    /// at most. `*file` becomes the file descriptor that came with the answer, or -1.
    Error command(const shm::SharpCommand& command, shm::SharpReply& reply, int* file = nullptr);

  private:
    std::mutex mutex_;
    int fd_ = -1;
    std::uint32_t hca_ = 0;
};

}  // namespace softib::abi::sharp
