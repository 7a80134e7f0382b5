// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How a RoCE adapter slows a flow down after notifications of congestion (DCQCN: Zhu et al.,
// SIGCOMM 2015). A notification reduces the rate by the fraction alpha / 2, where `alpha` is an
// estimate of how congested the path is. Without notifications alpha decays, and the rate grows in
// three phases: in the first the target rate stays and each step goes half the way to it, in the
// second the target also grows a little with each step, in the third a lot. A step is due after a
// time, and after a number of bytes sent.
//
// Rates are fractions of the link's rate. The steps that a timer would make are made when the state
// is next used, so that a flow needs no timer events.

#include <algorithm>
#include <cstdint>

#include "core/link/congestion.h"
#include "core/link/rate.h"

namespace softib::link {

struct DcqcnRule {
    double gain = 1.0 / 256;                    ///< g: how much one notification moves alpha.
    TimePs alpha_period_ps = 55'000'000;        ///< The time between two decays of alpha.
    TimePs increase_period_ps = 55'000'000;     ///< The time after which the rate grows by a step.
    std::uint64_t increase_bytes = 10'000'000;  ///< Bytes after which the rate grows by a step.
    std::uint32_t fast_steps = 5;               ///< F: steps of fast recovery, the first phase.
    double additive = 0.001;                    ///< R_AI: the target's growth in the second phase.
    double hyper = 0.01;                        ///< R_HAI: the target's growth in the third phase.
    double least = 0.001;                       ///< The lowest rate of a flow.
    TimePs notification_gap_ps = 50'000'000;    ///< The least time between two CNPs of a receiver.
};

/// The rate of one flow, kept by its sender.
class Dcqcn {
  public:
    void handle_notification(const DcqcnRule& rule, TimePs now) {
        advance(rule, now);
        target_ = rate_;
        rate_ = std::max(rule.least, rate_ * (1 - alpha_ / 2));
        alpha_ = (1 - rule.gain) * alpha_ + rule.gain;
        time_steps_ = byte_steps_ = 0;
        bytes_ = 0;
        decayed_at_ = grown_at_ = now;
    }
    /// Counts a packet that took `took` on the link. Returns the time to wait before the next one.
    TimePs delay(const DcqcnRule& rule, std::uint32_t bytes, TimePs took, TimePs now) {
        advance(rule, now);
        bytes_ += bytes;
        if (rate_ < 1 && bytes_ >= rule.increase_bytes) {
            bytes_ -= rule.increase_bytes;
            ++byte_steps_;
            grow(rule);
        }
        return rate_ >= 1 ? 0 : static_cast<TimePs>(static_cast<double>(took) * (1 / rate_ - 1));
    }
    double rate() const { return rate_; }
    double alpha() const { return alpha_; }

  private:
    void advance(const DcqcnRule& rule, TimePs now) {
        if (rate_ >= 1) {
            decayed_at_ = grown_at_ = now;
            return;
        }
        for (; now - decayed_at_ >= rule.alpha_period_ps; decayed_at_ += rule.alpha_period_ps) {
            alpha_ *= 1 - rule.gain;
        }
        for (; now - grown_at_ >= rule.increase_period_ps && rate_ < 1;
             grown_at_ += rule.increase_period_ps) {
            ++time_steps_;
            grow(rule);
        }
    }
    void grow(const DcqcnRule& rule) {
        if (std::min(time_steps_, byte_steps_) > rule.fast_steps) {
            target_ += rule.hyper;
        } else if (std::max(time_steps_, byte_steps_) > rule.fast_steps) {
            target_ += rule.additive;
        }
        target_ = std::min(target_, 1.0);
        rate_ = (rate_ + target_) / 2;
        // Halving the distance never reaches the full rate, so the last bit of it is skipped.
        if (1 - rate_ < 1e-4) {
            rate_ = 1;
            time_steps_ = byte_steps_ = 0;
            bytes_ = 0;
        }
    }

    double rate_ = 1;
    double target_ = 1;
    double alpha_ = 1;
    std::uint64_t bytes_ = 0;
    TimePs decayed_at_ = 0;
    TimePs grown_at_ = 0;
    std::uint32_t time_steps_ = 0;
    std::uint32_t byte_steps_ = 0;
};

class DcqcnController final : public Controller {
  public:
    DcqcnController(const DcqcnRule& rule, const FlowFacts&) : rule_(rule) {}

    void handle_notification(TimePs now) override { flow_.handle_notification(rule_, now); }
    TimePs delay(std::uint32_t bytes, TimePs took, TimePs now) override {
        return flow_.delay(rule_, bytes, took, now);
    }

  private:
    const DcqcnRule& rule_;
    Dcqcn flow_;
};

}  // namespace softib::link
