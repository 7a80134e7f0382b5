// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Requests that wait for the SA. Ports take turns, one request each, so that a port that sends many
// delays only itself.

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/base/ids.h"

namespace softib::sm {

/// The sender of a request, to which its answer goes.
struct SaPeer {
    Lid lid{};
    Qpn qp{1};
    PKey pkey = kPKeyDefaultFull;
    std::uint8_t sl = 0;
};

struct SaQueueLimits {
    std::size_t per_port_max = 256;
    std::size_t requests_max = 65'536;
};

class SaRequestQueue {
  public:
    struct Request {
        SaPeer from;
        std::vector<std::uint8_t> message;
    };

    explicit SaRequestQueue(const SaQueueLimits& limits) : limits_(limits) {}

    std::size_t size() const { return size_; }
    /// Queues a request. Returns false if there is no room for it.
    bool push(Request request);
    std::optional<Request> pop();

  private:
    SaQueueLimits limits_;
    std::unordered_map<std::uint16_t, std::deque<Request>> waiting_;  ///< By LID.
    std::deque<Lid> turns_;  ///< Each LID with waiting requests, once, in the order of turns.
    std::size_t size_ = 0;
};

}  // namespace softib::sm
