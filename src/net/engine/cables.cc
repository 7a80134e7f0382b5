// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/cables.h"

#include <algorithm>
#include <utility>

#include "core/base/mix.h"
#include "core/link/rate.h"

namespace softib::net {

namespace {

constexpr std::uint32_t kMillion = 1'000'000;

link::PortStateMachine initialized() {
    link::PortStateMachine state;
    state.handle_other_end_found();
    state.handle_trained();
    return state;
}

void activate(link::PortStateMachine& state) {
    state.set_logical(PortState::kArmed);
    state.set_logical(PortState::kActive);
}

}  // namespace

link::PortStateMachine& Cables::state(std::uint32_t port) {
    if (states_.empty()) {
        link::PortStateMachine active = initialized();
        activate(active);
        states_.resize(ports_, active);
        trainings_.resize(ports_);
        downed_at_.resize(ports_);
    }
    return states_[port];
}

void Cables::initialize(std::uint32_t port) {
    managed_ = true;
    state(port) = initialized();
}

bool Cables::initialize_again(std::uint32_t port) {
    link::PortStateMachine& at = state(port);
    if (at.physical() == PortPhysicalState::kTraining || at.logical() == PortState::kInit) {
        return false;
    }
    at.set_physical(PortPhysicalState::kPolling);
    at.handle_other_end_found();
    at.handle_trained();
    return true;
}

bool Cables::end_training(std::uint32_t port, std::uint32_t training) {
    if (training != trainings_[port]) {
        return false;
    }
    link::PortStateMachine& at = state(port);
    if (at.physical() == PortPhysicalState::kLinkErrorRecovery) {
        at.handle_recovered();
        return true;
    }
    at.handle_trained();
    if (!managed_) {
        activate(at);
    }
    return true;
}

bool Cables::loses_all(std::uint32_t port) const {
    return !errors_.empty() && errors_[port].lost_ppm >= kMillion;
}

Cables::Fate Cables::fate(std::uint32_t port, std::uint64_t number, std::uint32_t name) const {
    if (errors_.empty()) {
        return Fate::kFine;
    }
    const CableErrors& errors = errors_[port];
    const std::uint64_t draw =
        mix(errors.seed ^ mix(number + (std::uint64_t{name} << 40))) % kMillion;
    const std::uint64_t broken = std::uint64_t{errors.lost_ppm} + errors.broken_ppm;
    return draw < errors.lost_ppm              ? Fate::kLost
           : draw < broken                     ? Fate::kBroken
           : draw < broken + errors.inside_ppm ? Fate::kBrokenInside
                                               : Fate::kFine;
}

bool Cables::count_broken(std::uint32_t port, std::uint64_t packets) {
    if (integrity_.empty() || integrity_[port].limit == 0) {
        return false;
    }
    Integrity& at = integrity_[port];
    const std::uint64_t good = packets - at.packets_then;
    at.broken = good >= at.broken ? 1 : static_cast<std::uint32_t>(at.broken - good) + 1;
    at.packets_then = packets + 1;
    if (at.broken <= at.limit) {
        return false;
    }
    at.broken = 0;
    return true;
}

std::uint32_t Cables::change_delay(std::uint32_t port, std::uint32_t extra_ps) {
    delays_.resize(ports_);
    return extra_ps - std::exchange(delays_[port], extra_ps);
}

void Cables::set_slow(std::uint32_t link, std::uint32_t block_ps) {
    slow_.resize(ports_);
    slow_[link].block_ps = block_ps;
}

void Cables::pause(std::uint32_t link, TimePs until) {
    slow_.resize(ports_);
    slow_[link].busy_until = std::max(slow_[link].busy_until, until);
}

/// A slow HCA takes a picosecond a packet at least: later packets must not overtake those that
/// wait.
TimePs Cables::handled_at(std::uint32_t link, std::uint16_t bytes, TimePs now) {
    Slow& slow = slow_[link];
    const TimePs takes = std::max<TimePs>(link::transmit_time(bytes, slow.block_ps), 1);
    slow.busy_until = std::max(slow.busy_until, now) + takes;
    return slow.busy_until;
}

}  // namespace softib::net
