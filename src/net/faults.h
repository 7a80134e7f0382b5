// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Faults at given times. A list of them is made by hand or drawn from a seed; the network runs up
// to each time and applies the fault. The same list on the same fabric gives the same run.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/prng.h"
#include "net/engine.h"

namespace softib::net {

enum class FaultKind : std::uint8_t {
    kDrop,           ///< `value` of a million packets sent by the port are lost …
    kCorrupt,        ///< … or arrive broken …
    kCorruptInside,  ///< … or leave broken, with a VCRC that is right.
    kLinkDown,       ///< The cable at the port.
    kNodeDown,       ///< `port` names any port of the node.
    kCreditLoss,     ///< The port loses `value` blocks of lane 0 for good.
    kSlow,           ///< The HCA takes `value` ps for 64 bytes.
    kRetrain,        ///< The cable at the port has too many errors, and is trained again.
    kPause,          ///< The HCA looks at nothing.
};
inline constexpr std::uint32_t kFaultKinds = 9;

struct Fault {
    TimePs at = 0;
    TimePs lasts = 0;  ///< kCreditLoss does not end.
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

/// Times and places at random; each kind comes up alike.
std::vector<Fault> draw_faults(const Engine& engine, const RandomFaults& wanted);

std::string to_string(const Engine& engine, const Fault& fault);

class FaultInjector {
  public:
    explicit FaultInjector(std::vector<Fault> faults, std::uint64_t seed = 1);

    /// Runs the network through all faults and their ends, then until nothing is left to do or
    /// `until`. `look(network)` is called before each.
    template <typename Net, typename Look>
    void run(Net& net, TimePs until, Look look) {
        for (const Step& step : steps_) {
            if (step.at > until) {
                break;
            }
            net.run(step.at);
            look(net);
            apply(net, step);
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
