// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What ports count by lane and by service level, once start() was called: it costs every hop some
// time.

#include <cstdint>
#include <vector>

#include "core/counters/lane_counts.h"
#include "net/plant/lane.h"
#include "net/plant/packet.h"

namespace softib::net {

/// The total time for which a condition has held.
struct Lasting {
    TimePs since = kNever;  ///< When the condition began to hold; kNever: it does not.
    TimePs before_ps = 0;   ///< Total of the times that are over.

    void begin(TimePs now) { since = now; }
    void end(TimePs now) {
        before_ps += now - since;
        since = kNever;
    }
    bool now_so() const { return since != kNever; }
    TimePs total(TimePs now) const { return before_ps + (since < now ? now - since : 0); }
};

class LaneCounts {
  public:
    /// Lanes are numbered lane by lane: number n is at port n % ports.
    explicit LaneCounts(std::uint32_t ports) : ports_(ports) {}

    void start(std::uint32_t lanes);
    bool on() const { return !levels_.empty(); }

    // What happens at ports that count.
    /// A packet has begun to leave a port, by a lane that it keeps busy until `until`.
    void sent(std::uint32_t port, std::uint32_t lane, const Packet& packet, TimePs until);
    void received(std::uint32_t port, const Packet& packet);
    /// The first packet of a lane is about to leave its queue: it has waited since it became the
    /// first, or since the packet before it had left.
    void pop(std::uint32_t lane, const Lane& from, std::uint32_t congested_from, TimePs now);
    /// More waits for a lane than its threshold allows.
    void congested(std::uint32_t lane, TimePs now);
    /// A packet of a lane was dropped because it had waited too long.
    void late(std::uint32_t lane) {
        if (on()) {
            ++waits_[lane].discards;
        }
    }

    /// Returns the time for which some lane of a port was congested.
    TimePs time_congested(std::uint32_t port, TimePs now) const {
        return on() ? congested_[port].total(now) : 0;
    }
    /// Adds the counts of a port's service levels.
    void add_levels(counters::LaneCounts& counts, std::uint32_t port) const;
    /// Adds the counts of a lane, in units of `tick`. `vl`: its number at its port.
    void add_lane(counters::LaneCounts& counts, std::uint32_t lane, std::uint8_t vl,
                  const Lane& queue, TimePs tick, TimePs now) const;

  private:
    struct Level {
        std::uint64_t xmit_words = 0;
        std::uint64_t rcv_words = 0;
        std::uint64_t rcv_fecn = 0;
        std::uint64_t rcv_becn = 0;
    };
    /// How packets have waited at the sender of a lane.
    struct Waits {
        TimePs busy_until = 0;       ///< When the lane's latest packet will have left.
        TimePs wait_ps = 0;          ///< Time in which the lane had packets and did not send.
        Lasting congested;           ///< Time in which more waited than the marking threshold.
        std::uint64_t discards = 0;  ///< Packets dropped because they had waited too long.
    };
    static TimePs waiting_since(const Lane& lane, const Waits& waits, TimePs now);

    std::uint32_t ports_;
    std::vector<Level> levels_;  ///< By port, then by service level; empty: not counted.
    std::vector<Waits> waits_;   ///< By lane.
    std::vector<std::uint16_t> congested_lanes_;  ///< By port: bit n is lane n.
    std::vector<Lasting> congested_;              ///< By port: one of its lanes is congested.
};

}  // namespace softib::net
