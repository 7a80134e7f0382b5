// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Prefetches memory that events will touch, in four steps, each of which reads what the step before
// has fetched. For an arrival: the records of link and packet, then the forwarding table and the
// lane it came by, then the port it goes to, then what queues it there. For a wake: the port and
// its lane, then the first packet, then the lane that packet came by and the packet behind it. A
// wrong guess only costs time.
//
// Events go through the steps in blocks, so that the cache misses of a block overlap. With windows
// (round.cc), which prefetch for switches by themselves, two steps are enough for HCAs.

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "net/engine/queues.h"
#include "net/engine/schedule.h"
#include "net/plant/plant.h"

namespace softib::net {

class LookAhead {
  public:
    /// Prefetches before an event is handled, if a block of events has passed since the last time.
    /// Sets `coming` to packets that HCAs will get soon.
    void look(Schedule& schedule, const Plant& plant, const Queues& queues,
              std::vector<std::uint32_t>& coming) {
        if (--until_ == 0 || schedule.queue().begins()) [[unlikely]] {
            look_now(schedule, plant, queues, coming);
        }
    }

  private:
    void look_now(Schedule& schedule, const Plant& plant, const Queues& queues,
                  std::vector<std::uint32_t>& coming);

    std::uint32_t until_ = 1;  ///< Events until memory is fetched again.
};

/// Returns the lowest lane of a port that has packets, or lane 0.
inline const Lane& first_waiting(const Plant& plant, std::uint32_t port) {
    const std::uint16_t waiting = plant.tx(port).waiting;
    return plant.lane(port,
                      static_cast<std::uint8_t>(waiting == 0 ? 0 : std::countr_zero(waiting)));
}

}  // namespace softib::net
