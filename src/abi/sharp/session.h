// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The conversation of a job's member with the aggregation manager, over its own connection to the
// daemon: the connection is the member's sign of life, so it stays open until the member leaves.
//
// Thread rule: any thread may call; commands go one at a time.

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

    /// Finds this program's fabric and the first device of a list ("mlx5_0:1,mlx5_1:1") that it
    /// has; without a list the first with an active port.
    Error open(const char* device_list);
    void close();

    std::uint32_t hca() const { return hca_; }

    /// Asks, and asks again while it is pending, for some seconds at most. `file` becomes the
    /// descriptor that came, or -1.
    Error command(const live::SharpCommand& command, live::SharpReply& reply, int* file = nullptr);

  private:
    std::mutex mutex_;
    int fd_ = -1;
    std::uint32_t hca_ = 0;
};

}  // namespace softib::abi::sharp
