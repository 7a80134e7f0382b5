// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How long a switch keeps a packet (IBA vol. 1, 18.2.5.4): no longer than its lifetime limit in all
// (SwitchInfo.LifeTimeValue), and no longer than HOQLife at the head of a queue (PortInfo). After
// VLStallCount packets in a row were dropped at its head, a lane is stalled: it drops everything
// for eight times HOQLife.

#include <cstdint>

namespace softib::sw {

/// Codes above this are for ever.
inline constexpr std::uint8_t kLifetimeCodeMax = 19;
inline constexpr std::uint8_t kLifetimeForever = 20;
inline constexpr std::uint32_t kStallFactor = 8;

/// 4.096 us times 2 to the code; UINT64_MAX for ever.
constexpr std::uint64_t lifetime_ps(std::uint8_t code) {
    return code > kLifetimeCodeMax ? UINT64_MAX : std::uint64_t{4'096'000} << code;
}

/// The limits of waiting at one out port, as its manager wrote them.
struct WaitingLimits {
    std::uint8_t lifetime = kLifetimeForever;  ///< SwitchInfo.LifeTimeValue.
    std::uint8_t hoq_life = kLifetimeForever;  ///< PortInfo.HOQLife.
    std::uint8_t vl_stall_count = 0;           ///< PortInfo.VLStallCount; 0: lanes never stall.
    constexpr bool any() const {
        return lifetime <= kLifetimeCodeMax || hoq_life <= kLifetimeCodeMax;
    }
    friend bool operator==(const WaitingLimits&, const WaitingLimits&) = default;
};

/// Counts HOQ discards in a row on one lane of one out port.
class StallCounter {
  public:
    /// A packet was dropped because it stood at the head too long. `count`: VLStallCount, 0 never
    /// stalls.
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
