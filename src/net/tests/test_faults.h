// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Faults at given times. A list of them is made by hand or drawn from a seed; the network runs up
// to each time and applies the fault. The same list on the same fabric gives the same run.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/prng.h"
#include "net/engine/engine.h"

namespace softib::net {

enum class FaultKind : std::uint8_t {
    kDrop,           ///< `value` of a million packets that the port sends are lost.
    kCorrupt,        ///< `value` of a million packets that the port sends arrive broken.
    kCorruptInside,  ///< The same, but broken before the VCRC was made: only the ICRC tells.
    kLinkDown,       ///< The cable at the port is down.
    kNodeDown,       ///< A node is down; `port` names any of its ports.
    kCreditLoss,     ///< The port loses `value` blocks of lane 0 for good.
    kSlow,           ///< The HCA takes `value` ps for 64 bytes.
    kRetrain,        ///< The cable at the port has too many errors, and is trained again.
    kPause,          ///< The HCA handles nothing that comes in.
};
inline constexpr std::uint32_t kFaultKinds = 9;

struct Fault {
    TimePs at = 0;
    TimePs lasts = 0;  ///< How long the fault lasts; kCreditLoss does not end.
    FaultKind kind{};
    std::uint32_t port = 0;
    std::uint32_t value = 0;
    friend bool operator==(const Fault&, const Fault&) = default;
};

struct RandomFaults {
    std::uint64_t seed = 1;
    std::uint32_t count = 10;
    TimePs until = 100'000'000;
    TimePs lasts_max = 20'000'000;
    bool credit_loss = false;
    bool nodes = true;
};

/// Draws faults at random times and places; each kind is equally likely.
std::vector<Fault> draw_faults(const Engine& engine, const RandomFaults& wanted);

std::string to_string(const Engine& engine, const Fault& fault);

class FaultInjector {
  public:
    explicit FaultInjector(std::vector<Fault> faults, std::uint64_t seed = 1);

    /// Runs the network through all faults and their ends, then to `until` or until nothing is left
    /// to do. Calls look(network) before each fault begins or ends, and once at the end.
    template <typename Net, typename Look>
    void run(Net& net, TimePs until, Look look) {
        for (const Step& step : steps_) {
            if (step.at > until) {
                break;
            }
            net.run(step.at);
            look(net);
            apply(net.engine(), step);
        }
        net.run(until);
        look(net);
    }

  private:
    struct Step {
        TimePs at;
        bool begins;
        Fault fault;
    };
    void apply(Engine& engine, const Step& step) const;

    std::vector<Step> steps_;  ///< By time.
    std::uint64_t seed_;
};

}  // namespace softib::net
