// SPDX-License-Identifier: BSD-2-Clause
#include "net/tests/test_faults.h"

#include <fmt/format.h>

namespace softib::net {

namespace {

constexpr const char* kNames[kFaultKinds] = {"drop",      "corrupt",   "corrupt inside",
                                             "link down", "node down", "credit loss",
                                             "slow",      "retrain",   "pause"};

bool is_adapter(const Engine& engine, std::uint32_t port) {
    return !engine.plant().is_switch(engine.plant().node_of(port));
}

}  // namespace

std::vector<Fault> draw_faults(const Engine& engine, const RandomFaults& wanted) {
    Prng prng(wanted.seed);
    std::vector<std::uint32_t> ports;
    std::vector<std::uint32_t> adapters;
    for (std::uint32_t port = 0; port < engine.plant().port_count(); ++port) {
        if (engine.plant().connected(port) && engine.plant().peer(port) != port) {
            ports.push_back(port);
            if (is_adapter(engine, port)) {
                adapters.push_back(port);
            }
        }
    }
    std::vector<Fault> faults;
    while (faults.size() < wanted.count) {
        Fault fault;
        fault.kind = static_cast<FaultKind>(prng.below(kFaultKinds));
        fault.at = prng.below(wanted.until);
        fault.lasts = 1 + prng.below(wanted.lasts_max);
        fault.port = ports[prng.below(ports.size())];
        switch (fault.kind) {
            case FaultKind::kDrop:
            case FaultKind::kCorrupt:
            case FaultKind::kCorruptInside:
                fault.value = static_cast<std::uint32_t>(1 + prng.below(100'000));
                break;
            case FaultKind::kLinkDown:
            case FaultKind::kRetrain:
                break;
            case FaultKind::kNodeDown:
                if (!wanted.nodes) {
                    continue;
                }
                break;
            case FaultKind::kCreditLoss:
                if (!wanted.credit_loss) {
                    continue;
                }
                fault.value = static_cast<std::uint32_t>(1 + prng.below(100));
                break;
            case FaultKind::kSlow:
                fault.port = adapters[prng.below(adapters.size())];
                fault.value = static_cast<std::uint32_t>(1 + prng.below(20'000));
                break;
            case FaultKind::kPause:
                fault.port = adapters[prng.below(adapters.size())];
                break;
        }
        faults.push_back(fault);
    }
    return faults;
}

std::string to_string(const Engine& engine, const Fault& fault) {
    return fmt::format("{} ns: {} at {}, {}, for {} ns", fault.at / link::kPsPerNs,
                       kNames[static_cast<std::size_t>(fault.kind)],
                       engine.plant().name(fault.port), fault.value, fault.lasts / link::kPsPerNs);
}

FaultInjector::FaultInjector(std::vector<Fault> faults, std::uint64_t seed) : seed_(seed) {
    for (const Fault& fault : faults) {
        steps_.push_back({fault.at, true, fault});
        if (fault.kind != FaultKind::kCreditLoss && fault.kind != FaultKind::kPause &&
            fault.kind != FaultKind::kRetrain) {
            steps_.push_back({fault.at + fault.lasts, false, fault});
        }
    }
    std::ranges::stable_sort(steps_, {}, &Step::at);
}

void FaultInjector::apply(Engine& engine, const Step& step) const {
    const Fault& fault = step.fault;
    const std::uint32_t value = step.begins ? fault.value : 0;
    switch (fault.kind) {
        case FaultKind::kDrop:
            engine.ports().set_errors(fault.port, {.lost_ppm = value, .seed = seed_});
            break;
        case FaultKind::kCorrupt:
            engine.ports().set_errors(fault.port, {.broken_ppm = value, .seed = seed_});
            break;
        case FaultKind::kCorruptInside:
            engine.ports().set_errors(fault.port, {.inside_ppm = value, .seed = seed_});
            break;
        case FaultKind::kLinkDown:
            engine.ports().set_link(fault.port, !step.begins);
            break;
        case FaultKind::kNodeDown:
            engine.ports().set_node(engine.plant().node_of(fault.port), !step.begins);
            break;
        case FaultKind::kCreditLoss:
            engine.ports().steal_credits(fault.port, 0, static_cast<std::uint16_t>(value));
            break;
        case FaultKind::kSlow:
            engine.ports().set_slow(fault.port, value);
            break;
        case FaultKind::kRetrain:
            engine.ports().retrain(fault.port, fault.lasts);
            break;
        case FaultKind::kPause:
            engine.ports().pause(fault.port, fault.at + fault.lasts);
            break;
    }
}

}  // namespace softib::net
