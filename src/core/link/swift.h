// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Congestion control by delay (Swift: Kumar et al., SIGCOMM 2020). A flow has a window of packets.
// While ACKs come back sooner than a target, the window grows by `additive` in a round trip; when
// one comes later, the window shrinks in proportion to the excess, by `most_decrease` at most, and
// once in a round trip at most. A window below one packet is a pause between packets.
//
// The target is the round trip of the empty path, which the paper composes of a base and a part for
// each hop, plus the queueing that is allowed. Flow scaling adds to it for small windows, so that
// many flows of one port find room for a packet each, and fast flows give way to slow ones.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/link/congestion.h"

namespace softib::link {

struct SwiftRule {
    TimePs queueing_ps = 2'000'000;    ///< Allowed beyond the round trip of the empty path.
    double additive = 1.0;             ///< ai: packets that a window grows by in a round trip.
    double decrease = 0.8;             ///< beta: the part of the excess by which it shrinks.
    double most_decrease = 0.5;        ///< max_mdf: the part by which it shrinks at once at most.
    TimePs scaling_ps = 2'000'000;     ///< fs_range: the most that flow scaling adds to the target.
    double scaling_least = 0.1;        ///< fs_min_cwnd: the window at which it adds all of that.
    double scaling_most = 100;         ///< fs_max_cwnd: the window from which on it adds nothing.
    double least = 0.001;              ///< min_cwnd.
    std::uint32_t reset_timeouts = 5;  ///< Timeouts in a row after which the window is the least.
};

class SwiftController final : public Controller {
  public:
    SwiftController(const SwiftRule& rule, const FlowFacts& facts)
        : rule_(rule), facts_(facts), round_trip_ps_(facts.round_trip_ps) {
        // A larger window could not be under way without a later ACK than the target allows.
        const TimePs longest = facts.round_trip_ps + rule.queueing_ps + rule.scaling_ps;
        most_ = std::max(1.0, static_cast<double>(longest) / static_cast<double>(facts.packet_ps));
        window_ = std::clamp(
            static_cast<double>(facts.round_trip_ps) / static_cast<double>(facts.packet_ps), 1.0,
            most_);
    }

    void handle_ack(const Acknowledged& ack) override {
        timeouts_ = 0;
        round_trip_ps_ = ack.round_trip_ps;
        const TimePs goal = target();
        if (ack.round_trip_ps < goal) {
            const double grows = rule_.additive * ack.packets;
            set(window_ + (window_ >= 1 ? grows / window_ : grows), ack.now);
            return;
        }
        const double excess =
            static_cast<double>(ack.round_trip_ps - goal) / static_cast<double>(ack.round_trip_ps);
        shrink(std::max(1 - rule_.decrease * excess, 1 - rule_.most_decrease), ack.now);
    }
    void handle_loss(TimePs now) override {
        timeouts_ = 0;
        shrink(1 - rule_.most_decrease, now);
    }
    void handle_timeout(TimePs now) override {
        if (++timeouts_ >= rule_.reset_timeouts) {
            set(rule_.least, now);
        } else {
            shrink(1 - rule_.most_decrease, now);
        }
    }

    double window() const override { return window_; }
    TimePs delay(std::uint32_t, TimePs took, TimePs) override {
        if (window_ >= 1) {
            return 0;
        }
        const auto apart = static_cast<TimePs>(static_cast<double>(round_trip_ps_) / window_);
        return apart > took ? apart - took : 0;
    }
    /// Returns the round trip from which on the window shrinks.
    TimePs target() const {
        const double highest = 1 / std::sqrt(rule_.scaling_least);
        const double lowest = 1 / std::sqrt(rule_.scaling_most);
        const double part = (1 / std::sqrt(window_) - lowest) / (highest - lowest);
        return facts_.round_trip_ps + rule_.queueing_ps +
               static_cast<TimePs>(static_cast<double>(rule_.scaling_ps) *
                                   std::clamp(part, 0.0, 1.0));
    }

  private:
    void shrink(double factor, TimePs now) {
        if (!shrank_ || now - shrank_at_ >= round_trip_ps_) {
            set(window_ * factor, now);
        }
    }
    void set(double wanted, TimePs now) {
        const double before = window_;
        window_ = std::clamp(wanted, rule_.least, most_);
        if (window_ < before) {
            shrank_ = true;
            shrank_at_ = now;
        }
    }

    const SwiftRule& rule_;
    FlowFacts facts_;
    TimePs round_trip_ps_;  ///< The latest one.
    double window_ = 1;
    double most_ = 1;
    TimePs shrank_at_ = 0;
    std::uint32_t timeouts_ = 0;
    bool shrank_ = false;
};

}  // namespace softib::link
