// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// When a switch marks a packet with FECN (IBA vol. 1, annex A10). A port's lane is congested when
// more waits for it than its threshold allows. It is the root of congestion if it has credits,
// because then packets wait for its own cable; without credits it is a victim of a lane further on,
// and marks only if its Victim_Mask bit is set. One in (Marking_Rate + 1) packets through a
// congested lane is marked, and none that is shorter than Packet_Size.

#include <cstdint>

namespace softib::sw {

struct MarkingRule {
    std::uint8_t threshold = 0;      ///< 0: never marks; 1 (much must wait) to 15 (little).
    std::uint8_t packet_blocks = 0;  ///< Shorter packets are not marked, in units of 64 bytes.
    std::uint16_t marking_rate = 0;  ///< Packets that go unmarked between two marked ones.
    bool victims_mark = false;
    friend bool operator==(const MarkingRule&, const MarkingRule&) = default;
};

/// Blocks in a queue from which on its lane is congested; the annex leaves the scale to the maker.
/// Ours is even: 15 is a sixteenth of the buffer of one receiving lane, 1 is fifteen sixteenths.
constexpr std::uint32_t congested_from(const MarkingRule& rule, std::uint32_t buffer_blocks) {
    return rule.threshold == 0 ? UINT32_MAX : buffer_blocks * (16U - rule.threshold) / 16;
}

class Marker {
  public:
    /// Counts a packet that lines up behind `queued_blocks`. Returns true if it must carry FECN.
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
