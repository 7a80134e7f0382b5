// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Looks at a fabric from outside, between two events: do credits add up, do the counters of both
// ends of a cable agree, and is anything stuck for good.

#include <cstdint>
#include <string>
#include <vector>

#include "net/plant.h"

namespace softib::net {

/// A lane that cannot send: its port has packets for it, and the buffer at the other end is full.
struct Stuck {
    std::uint32_t link = 0;
    std::uint8_t vl = 0;
    std::uint16_t dlid = 0;  ///< DLID of the packet that waits first.
    friend bool operator==(const Stuck&, const Stuck&) = default;
};

struct Deadlock {
    /// Each waits for room that packets in the queue of the next one take; the last waits for the
    /// first. Empty: nothing waits in a circle.
    std::vector<Stuck> cycle;
    std::uint32_t lanes = 0;    ///< All that never move again, the circle and those behind it.
    std::uint64_t packets = 0;  ///< In their queues.
    /// Lanes whose receiver has an empty buffer and yet no credits: credits were lost.
    std::vector<Stuck> without_cause;

    bool any() const { return lanes != 0; }
    std::string text;  ///< The same for people; empty if there is nothing to tell.
};

class Inspector {
  public:
    explicit Inspector(const Plant& plant) : plant_(plant) {}

    /// One line per lane whose blocks are not all somewhere: with the sender as credits, on their
    /// way back, or under a packet.
    std::vector<std::string> check_credits() const;
    /// One line per link whose ends have not counted the same: sent, less what is on the cable or
    /// was lost there, is received.
    std::vector<std::string> check_counters() const;
    /// Whether some lanes wait for each other, and will for ever if nothing is discarded. Exact at
    /// any moment, also while other packets move.
    Deadlock find_deadlock() const;

  private:
    bool cannot_send(std::uint32_t link, std::uint8_t vl) const;
    std::string describe(const Deadlock& found) const;

    const Plant& plant_;
};

}  // namespace softib::net
