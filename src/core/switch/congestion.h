// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// When a switch marks a packet with FECN (IBA vol. 1, annex A10). A lane of an out port is
// congested when its queue is longer than the threshold allows. A congested lane with credits is
// the root of congestion, because its packets wait for its own cable. One without credits is a
// victim of a lane further on, and marks only if the port's Victim_Mask bit is set. Of the packets
// through a congested lane, one in (Marking_Rate + 1) is marked, and none that is shorter than
// Packet_Size.

#include <cstdint>

namespace softib::sw {

struct MarkingRule {
    std::uint8_t threshold = 0;      ///< 0: never marks; 1 (a long queue) to 15 (a short one).
    std::uint8_t packet_blocks = 0;  ///< Packet_Size: the shortest packet marked, in 64 bytes.
    std::uint16_t marking_rate = 0;  ///< Packets that go unmarked between two marked ones.
    bool victims_mark = false;       ///< Lanes without credits mark too (Victim_Mask).
    friend bool operator==(const MarkingRule&, const MarkingRule&) = default;
};

/// Returns the queue length from which on a lane is congested, in blocks. Annex A10 leaves the
/// scale of the threshold to the vendor; softib's is linear: 15 is a sixteenth of the buffer of one
/// receiving lane, 1 is fifteen sixteenths.
constexpr std::uint32_t congested_from(const MarkingRule& rule, std::uint32_t buffer_blocks) {
    return rule.threshold == 0 ? UINT32_MAX : buffer_blocks * (16U - rule.threshold) / 16;
}

class Marker {
  public:
    /// Counts a packet that joins a queue of `queued_blocks`. Returns true if it must carry FECN.
    constexpr bool marks(const MarkingRule& rule, std::uint32_t queued_blocks,
                         std::uint32_t buffer_blocks, std::uint32_t packet_blocks,
                         bool has_credits) {
        if (queued_blocks < congested_from(rule, buffer_blocks) ||
            (!has_credits && !rule.victims_mark) || packet_blocks < rule.packet_blocks) {
            return false;
        }
        if (passed_ < rule.marking_rate) {
            ++passed_;
            return false;
        }
        passed_ = 0;
        return true;
    }

  private:
    std::uint16_t passed_ = 0;
};

}  // namespace softib::sw
