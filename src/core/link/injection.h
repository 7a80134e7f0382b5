// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How an HCA slows down a flow that causes congestion (IBA vol. 1, annex A10). A flow (a queue
// pair, or all of a service level) has an index, its CCTI, into the congestion control table that
// the congestion manager wrote. A BECN raises the index by CCTI_Increase, up to CCTI_Limit; after
// every CCTI_Timer it falls by one, down to CCTI_Min. The entry at the index gives the delay after
// a packet, as a multiple of the time that this packet took: multiplier / 2^shift.

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/link/rate.h"

namespace softib::link {

struct DelayTable {
    struct Entry {
        std::uint8_t shift = 0;        ///< 0 to 3.
        std::uint16_t multiplier = 0;  ///< 14 bits.
        friend bool operator==(const Entry&, const Entry&) = default;
    };
    static constexpr std::uint16_t kEntries = 128;

    std::array<Entry, kEntries> entry{};
    std::uint16_t limit = 0;  ///< CCTI_Limit: the index of the last entry that is used.
    friend bool operator==(const DelayTable&, const DelayTable&) = default;

    /// Returns the delay after a packet that took `packet_ps` on the link.
    constexpr TimePs delay(std::uint16_t index, TimePs packet_ps) const {
        return (packet_ps * entry[index].multiplier) >> entry[index].shift;
    }

    /// Returns a table in which each entry up to `last` gives a flow `numerator`/`denominator` of
    /// the rate of the entry before it.
    static constexpr DelayTable geometric(std::uint32_t numerator, std::uint32_t denominator,
                                          std::uint16_t last) {
        DelayTable table;
        table.limit = last < kEntries ? last : kEntries - 1;
        std::uint64_t rate = std::uint64_t{1} << 40;  // The rate of a flow without delay.
        for (std::uint16_t i = 1; i <= table.limit; ++i) {
            rate = rate * numerator / denominator;
            const std::uint64_t eighths = rate == 0 ? 0x3FFF : (std::uint64_t{8} << 40) / rate - 8;
            table.entry[i] = {
                3, static_cast<std::uint16_t>(eighths < 0x3FFF ? eighths : std::uint64_t{0x3FFF})};
        }
        return table;
    }
};

/// The entry of CACongestionSetting for one service level.
struct InjectionRule {
    std::uint16_t timer = 0;    ///< CCTI_Timer, in units of 1.024 us; 0: the index never falls.
    std::uint8_t increase = 1;  ///< CCTI_Increase.
    std::uint8_t minimum = 0;   ///< CCTI_Min.
    /// Trigger_Threshold: the HCA logs an event when the index reaches it; 0: never.
    std::uint8_t trigger = 0;
    friend bool operator==(const InjectionRule&, const InjectionRule&) = default;
};

/// The congestion control settings that a congestion manager wrote to a port of an HCA.
struct InjectionControl {
    std::array<InjectionRule, 16> rules{};  ///< By service level.
    DelayTable table;
    bool by_level = false;  ///< A flow is all of a service level, not a queue pair (Port_Control).
    friend bool operator==(const InjectionControl&, const InjectionControl&) = default;
};

inline constexpr TimePs kCctiTimerUnit = 1'024'000;

/// The injection state of one flow (its CCTI). The steps down that its timer would have made are
/// counted when the state is next read, so that the timer costs nothing.
class Injection {
  public:
    /// Raises the index. Returns true if it has just reached the trigger.
    constexpr bool handle_becn(const InjectionRule& rule, const DelayTable& table, TimePs now) {
        const std::uint16_t before = index(rule, now);
        const std::uint32_t after = std::uint32_t{before} + rule.increase;
        index_ = static_cast<std::uint16_t>(after < table.limit ? after : table.limit);
        return rule.trigger != 0 && before < rule.trigger && index_ >= rule.trigger;
    }
    /// Returns the CCTI, after the steps down that were due since the last call.
    constexpr std::uint16_t index(const InjectionRule& rule, TimePs now) {
        if (rule.timer != 0) {
            const TimePs period = rule.timer * kCctiTimerUnit;
            const TimePs steps = (now - stepped_at_) / period;
            stepped_at_ += steps * period;
            const std::uint32_t above = index_ > rule.minimum ? index_ - rule.minimum : 0U;
            index_ = static_cast<std::uint16_t>(rule.minimum + (steps < above ? above - steps : 0));
        } else if (index_ < rule.minimum) {
            index_ = rule.minimum;
        }
        return index_;
    }
    /// Returns the delay after a packet that took `packet_ps`, if no BECN comes meanwhile: the next
    /// packet may go as soon as the delay of the index at that time is over, so steps down during
    /// the delay make it shorter.
    constexpr TimePs delay(const InjectionRule& rule, const DelayTable& table, TimePs packet_ps,
                           TimePs now) {
        std::uint16_t at = index(rule, now);
        TimePs wait = table.delay(at, packet_ps);
        const TimePs period = rule.timer * kCctiTimerUnit;
        TimePs step = stepped_at_ + period - now;  // Until the index falls.
        for (; rule.timer != 0 && at > rule.minimum && step < wait; step += period) {
            wait = std::max(step, table.delay(--at, packet_ps));
        }
        return wait;
    }

  private:
    TimePs stepped_at_ = 0;
    std::uint16_t index_ = 0;
};

}  // namespace softib::link
