// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Priority flow control of Ethernet (IEEE 802.1Qbb). A receiver whose buffer holds more than XOFF
// of a priority from one sender tells that sender to pause, and to go on once no more than XON is
// left. Packets that are under way when the pause frame is sent need room above XOFF: the headroom.

#include <cstdint>

#include "core/link/credits.h"
#include "core/link/rate.h"

namespace softib::link {

struct PauseRule {
    std::uint32_t xoff_blocks = 0;  ///< XOFF, in blocks of 64 bytes; 0: the receiver never pauses.
    std::uint32_t xon_blocks = 0;
    std::uint32_t headroom_blocks = 0;  ///< Room above XOFF; packets beyond it are dropped.
};

/// Returns the headroom that a receiver needs. It is for the bytes that arrive while the receiver
/// reacts (`silicon_ps`), those that arrive during one round trip of the cable, a packet that the
/// sender has begun, a packet that delays the pause frame, and the pause frame itself.
constexpr std::uint32_t headroom_blocks(std::uint32_t ps_per_64_bytes, TimePs cable_ps,
                                        TimePs silicon_ps, std::uint32_t packet_bytes) {
    const auto under_way =
        static_cast<std::uint32_t>((2 * cable_ps + silicon_ps) / ps_per_64_bytes + 1);
    return under_way + 2 * blocks_of(packet_bytes) + 1;
}

/// The receiver's end of one priority of one cable. Its calls return what to tell the sender.
class PauseGate {
  public:
    enum class Tell : std::uint8_t { kNothing, kPause, kResume };

    /// Returns whether there is room for a packet.
    constexpr bool has_room(const PauseRule& rule, std::uint32_t blocks) const {
        return rule.xoff_blocks == 0 || held_ + blocks <= rule.xoff_blocks + rule.headroom_blocks;
    }
    constexpr Tell arrive(const PauseRule& rule, std::uint32_t blocks) {
        held_ += blocks;
        if (rule.xoff_blocks == 0 || paused_ || held_ <= rule.xoff_blocks) {
            return Tell::kNothing;
        }
        paused_ = true;
        return Tell::kPause;
    }
    constexpr Tell leave(const PauseRule& rule, std::uint32_t blocks) {
        held_ -= blocks;
        if (!paused_ || held_ > rule.xon_blocks) {
            return Tell::kNothing;
        }
        paused_ = false;
        return Tell::kResume;
    }

  private:
    std::uint32_t held_ = 0;
    bool paused_ = false;
};

}  // namespace softib::link
