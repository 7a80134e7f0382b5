// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How long packets may wait at the ports of switches (core/switch/lifetime.h), and which lanes have
// stalled because packets waited longer.

#include <cstdint>
#include <vector>

#include "core/switch/lifetime.h"
#include "net/plant/lane.h"

namespace softib::net {

class Waits {
  public:
    Waits(const sw::WaitingLimits& initial, std::uint32_t ports)
        : limits_{initial}, limits_of_(ports) {}

    void set(std::uint32_t port, const sw::WaitingLimits& limits);
    const sw::WaitingLimits& of(std::uint32_t port) const { return limits_[limits_of_[port]]; }

    /// A time by which a packet must have left, and why.
    struct Deadline {
        TimePs at = kNever;    ///< kNever: the packet has no limit.
        bool of_head = false;  ///< By the limit for the head of a queue (HOQLife).
    };
    /// Returns when the first packet of a port's lane must be dropped. `since_units`: when the
    /// packet came into the switch.
    Deadline deadline(std::uint32_t port, const Lane& lane, std::uint32_t since_units,
                      TimePs now) const;
    /// Returns when a packet that comes to a port now, or to the head of a queue next, must have
    /// left.
    TimePs deadline_of_next(std::uint32_t port, TimePs now) const;

    // Stalls, by lane.
    bool any_stalls() const { return !stalls_.empty(); }
    bool stalled(std::uint32_t lane, TimePs now) { return stalls_[lane].stalled(now); }
    void sent(std::uint32_t lane) { stalls_[lane].sent(); }
    /// Notes that a packet at the head of a port's lane was dropped. `lanes`: how many there are.
    void dropped_head(std::uint32_t port, std::uint32_t lane, std::uint32_t lanes, TimePs now);

    /// Events that only check limits and are pending.
    std::uint64_t watching = 0;

  private:
    std::vector<sw::WaitingLimits> limits_;  ///< All limits in use, each once.
    std::vector<std::uint16_t> limits_of_;   ///< By port: place of its limits in limits_.
    /// By lane; empty until a packet was dropped at a head.
    std::vector<sw::StallCounter> stalls_;
};

}  // namespace softib::net
