// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Checks a fabric from outside, between two events: whether credits add up, whether the counters at
// both ends of a cable agree, and whether anything is stuck for good.

#include <cstdint>
#include <string>
#include <vector>

#include "net/engine/engine.h"

namespace softib::net {

/// A lane that cannot send: its port has packets for it, and the buffer at the other end is full.
struct Stuck {
    std::uint32_t link = 0;
    std::uint8_t vl = 0;
    std::uint16_t dlid = 0;  ///< DLID of the packet that waits first.
    friend bool operator==(const Stuck&, const Stuck&) = default;
};

struct Deadlock {
    /// Lanes that wait in a circle: each waits for room that packets in the queue of the next one
    /// take, and the last waits for the first. Empty if there is no circle.
    std::vector<Stuck> cycle;
    std::uint32_t lanes = 0;    ///< Lanes that never move again: the circle and those behind it.
    std::uint64_t packets = 0;  ///< Packets in the queues of these lanes.
    /// Lanes whose receiver has an empty buffer and yet no credits: credits were lost.
    std::vector<Stuck> without_cause;

    bool any() const { return lanes != 0; }
    std::string text;  ///< A description for people; empty if nothing is stuck.
};

class Inspector {
  public:
    explicit Inspector(const Engine& engine)
        : plant_(engine.plant()), packets_(engine.queues().packets()) {}

    /// Returns a line for each lane whose blocks do not add up: each block must be a credit that
    /// the sender has, a credit on its way back, or taken by a packet.
    std::vector<std::string> check_credits() const;
    /// Returns a line for each link whose ends have not counted the same: packets sent, less those
    /// that are on the cable or were lost there, must be those received.
    std::vector<std::string> check_counters() const;
    /// Finds lanes that wait for each other, and will do so for ever unless something is discarded.
    /// The answer is exact at any moment, also while other packets move.
    Deadlock find_deadlock() const;
    /// Returns a line for each lane that has packets and no weight in the VL arbitration tables of
    /// its port, so that they never leave.
    std::vector<std::string> find_starved() const;

  private:
    bool cannot_send(std::uint32_t link, std::uint8_t vl) const;
    /// Packets that are queued in lane `by` and sit in the buffer of lane `owner`.
    struct Takes {
        std::uint32_t owner;
        std::uint32_t by;
    };
    /// Returns whose buffers queued packets take. Clears the suspicion of each lane whose buffer
    /// holds a packet that moves.
    std::vector<Takes> packets_in_buffers(std::vector<std::uint8_t>& suspect) const;
    Stuck stuck(std::uint32_t lane) const;
    /// Follows `next` until a lane comes again, and returns the circle of lanes that it is in;
    /// nothing if the way ends or leads to a lane that was seen before the call.
    std::vector<Stuck> cycle_from(std::uint32_t lane, const std::vector<std::uint32_t>& next,
                                  std::vector<std::uint8_t>& seen) const;
    std::string describe(const Deadlock& found) const;

    const Plant& plant_;
    const PacketPool& packets_;
};

}  // namespace softib::net
