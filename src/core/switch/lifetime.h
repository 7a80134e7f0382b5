// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How long a switch keeps a packet (IBA vol. 1, 18.2.5.4): in all no longer than its lifetime limit
// (SwitchInfo.LifeTimeValue), and at the head of a queue no longer than PortInfo.HOQLife. A lane at
// whose head VLStallCount packets in a row were dropped is stalled: it drops everything for eight
// times HOQLife.

#include <cstdint>

namespace softib::sw {

/// The largest code that is a limit; higher codes mean that there is none.
inline constexpr std::uint8_t kLifetimeCodeMax = 19;
inline constexpr std::uint8_t kLifetimeForever = 20;
inline constexpr std::uint32_t kStallFactor = 8;

/// Returns the time that a code stands for, 4.096 us times 2^code; UINT64_MAX if there is no limit.
constexpr std::uint64_t lifetime_ps(std::uint8_t code) {
    return code > kLifetimeCodeMax ? UINT64_MAX : std::uint64_t{4'096'000} << code;
}

/// The limits of waiting at one out port, as the subnet manager wrote them.
struct WaitingLimits {
    std::uint8_t lifetime = kLifetimeForever;  ///< SwitchInfo.LifeTimeValue.
    std::uint8_t hoq_life = kLifetimeForever;  ///< PortInfo.HOQLife.
    std::uint8_t vl_stall_count = 0;           ///< PortInfo.VLStallCount; 0: lanes never stall.
    /// Returns whether a packet can ever wait too long here.
    constexpr bool any() const {
        return lifetime <= kLifetimeCodeMax || hoq_life <= kLifetimeCodeMax;
    }
    friend bool operator==(const WaitingLimits&, const WaitingLimits&) = default;
};

/// Counts the packets in a row that one lane of one out port dropped at the head of its queue.
class StallCounter {
  public:
    /// Counts a packet that was dropped because it stood at the head for too long. `count` is
    /// VLStallCount; 0: the lane never stalls.
    constexpr void dropped(std::uint8_t count, std::uint64_t now_ps, std::uint64_t hoq_ps) {
        if (count != 0 && ++in_a_row_ >= count) {
            until_ps_ = now_ps + kStallFactor * hoq_ps;
            in_a_row_ = 0;
        }
    }
    constexpr void sent() { in_a_row_ = 0; }
    constexpr bool stalled(std::uint64_t now_ps) const { return now_ps < until_ps_; }

  private:
    std::uint64_t until_ps_ = 0;
    std::uint8_t in_a_row_ = 0;
};

}  // namespace softib::sw
