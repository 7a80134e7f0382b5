// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The flows of message hosts whose rate congestion control limits (message_congestion.cc). A flow
// is a queue pair, or on InfiniBand a service level of a port if its manager says so; it outlives
// messages, and all of its messages share its rate.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>

#include "core/link/congestion.h"
#include "net/plant/units.h"

namespace softib::net {

class Flows {
  public:
    struct Flow {
        std::unique_ptr<link::Controller> control;
        TimePs next_at = 0;                 ///< The sender sends nothing before.
        TimePs notification_after = 0;      ///< The receiver sends no notification before.
        std::uint32_t in_flight = 0;        ///< Packets sent, not acknowledged, not given up.
        std::uint32_t parked_head = kNone;  ///< First message that waits until it may send.
        std::uint32_t parked_tail = kNone;  ///< Last message that waits until it may send.
        bool timed = false;                 ///< A timer is set that wakes the first of them.

        /// Returns whether as many packets are under way as may be.
        bool full() const { return in_flight != 0 && in_flight + 1 > control->window(); }
    };
    struct Key {
        std::uint64_t ends = 0;
        std::uint8_t sl = 0;
    };

    /// Returns the flow of a key, and sets `place` to its number; nullptr if there is none.
    /// `place` is the number if it is known already, otherwise kNone.
    Flow* find(const Key& key, std::uint32_t& place) {
        if (place == kNone && !numbers_[key.sl].empty()) {
            const auto found = numbers_[key.sl].find(key.ends);
            place = found == numbers_[key.sl].end() ? kNone : found->second;
        }
        return place == kNone ? nullptr : &flows_[place];
    }
    /// Makes the flow of a key, which must not be there.
    Flow& make(const Key& key, std::uint32_t& place, std::unique_ptr<link::Controller> control) {
        place = static_cast<std::uint32_t>(flows_.size());
        numbers_[key.sl].emplace(key.ends, place);
        flows_.emplace_back().control = std::move(control);
        return flows_.back();
    }
    Flow& at(std::uint32_t place) { return flows_[place]; }
    std::size_t bytes() const { return flows_.size() * sizeof(Flow); }

  private:
    std::deque<Flow> flows_;  ///< A deque, so that flows stay where they are.
    /// Numbers by service level and key; never iterated.
    std::array<std::unordered_map<std::uint64_t, std::uint32_t>, 16> numbers_;
};

}  // namespace softib::net
