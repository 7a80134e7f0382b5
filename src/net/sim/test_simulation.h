// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Simulations of small fabrics, for tests: sends messages and keeps when each was delivered and
// acknowledged.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/topo/spec.h"
#include "net/sim/simulation.h"

namespace softib::net {

class TestSimulation : public MessageListener {
  public:
    struct Outcome {
        TimePs delivered_at = kNever;
        TimePs acknowledged_at = kNever;
        TimePs failed_at = kNever;
    };

    TestSimulation(const topo::Spec& spec, const SimulationOptions& options)
        : simulation_(make(spec, options)) {
        simulation_.set_listener(this);
    }
    TestSimulation(const TestSimulation&) = delete;
    TestSimulation& operator=(const TestSimulation&) = delete;

    Simulation& simulation() { return simulation_; }
    /// Sends a message. Its outcome has the number of the message, counted from 0.
    void send(Message message, TimePs at = 0) {
        message.tag = outcomes_.size();
        outcomes_.emplace_back();
        simulation_.send(message, at);
    }
    void run(TimePs until = kNever) {
        while (!simulation_.run_some(until, 100'000)) {
        }
    }
    const Outcome& outcome(std::size_t i) const { return outcomes_[i]; }
    const std::vector<Outcome>& outcomes() const { return outcomes_; }
    TimePs last_delivered() const {
        TimePs last = 0;
        for (const Outcome& each : outcomes_) {
            last = std::max(last, each.delivered_at);
        }
        return last;
    }
    /// Expects that credits and counters add up and that nothing is stuck.
    void expect_sound() {
        for (const std::string& line : simulation_.check()) {
            ADD_FAILURE() << line;
        }
    }

    void handle_message(std::uint64_t tag, MessageEvent event, TimePs at) override {
        Outcome& outcome = outcomes_[tag];
        switch (event) {
            case MessageEvent::kDelivered:
                outcome.delivered_at = at;
                break;
            case MessageEvent::kAcknowledged:
                outcome.acknowledged_at = at;
                break;
            case MessageEvent::kFailed:
                outcome.failed_at = at;
                break;
        }
    }

  private:
    static Simulation make(const topo::Spec& spec, const SimulationOptions& options) {
        auto fabric = topo::generate(spec);
        EXPECT_TRUE(fabric) << (fabric ? "" : fabric.error().message);
        auto made = Simulation::make(*std::move(fabric), options);
        EXPECT_TRUE(made) << (made ? "" : made.error().message);
        return *std::move(made);
    }

    Simulation simulation_;
    std::vector<Outcome> outcomes_;
};

inline topo::Spec single_switch(std::uint32_t hosts) {
    return {.shape = topo::Shape::kSingleSwitch, .hosts = hosts};
}
inline topo::Spec fat_tree(std::uint32_t hosts, std::uint32_t radix, std::uint32_t levels) {
    return {.shape = topo::Shape::kFatTree, .hosts = hosts, .radix = radix, .levels = levels};
}

}  // namespace softib::net
