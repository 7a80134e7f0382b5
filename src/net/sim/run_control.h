// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a simulation stops for while it runs: failures and repairs, looks at the ports, and credits
// that must be taken in. The same for a whole fabric and for each part of one. It decides when, and
// by which routes a damaged fabric goes on; the run does it.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "net/sim/looks.h"
#include "net/sim/repairs.h"

namespace softib::net {

/// What a run must be able to do to be controlled.
template <typename R>
concept Controlled = requires(R& run, const Hop& what, Routed routed) {
    // Returns the hops of the whole fabric so far, and how many ports it has.
    { run.all_hops() } -> std::same_as<std::uint64_t>;
    { run.all_ports() } -> std::same_as<std::uint64_t>;
    { run.running() } -> std::same_as<Engine&>;
    // Takes a cable or node out of service, and tells the ends of packets that are lost by it.
    { run.fail(what) } -> std::same_as<void>;
    // Returns the fabric without what has failed.
    { run.damaged() } -> std::same_as<const topo::Fabric&>;
    { run.take_routes(std::move(routed)) } -> std::same_as<void>;
};

class RunControl {
  public:
    /// How the manager repairs routes: the engine of each subnet, and what it has to say.
    struct Repairer {
        RepairOptions options;
        std::vector<std::string> engines;
        std::vector<std::string> notes;
    };
    /// `changes`: what happens to the fabric, in order. `ports`: ports of the engine.
    RunControl(std::vector<Change> changes, Repairer repairer, std::uint32_t ports)
        : changes_(std::move(changes)), repairer_(std::move(repairer)), looks_(ports) {}

    /// Returns whether anything ever happens to the fabric.
    bool has_changes() const { return !changes_.empty(); }
    /// Returns whether something happens to the fabric until a time, which may be kNever.
    bool change_due(TimePs until) const {
        return changed_ < changes_.size() && changes_[changed_].at <= until;
    }
    /// Returns when the run must stop next, `until` at the latest.
    TimePs next_stop(TimePs until) const { return std::min({until, looks_.next(), next_change()}); }
    /// Does what is due at `at`, which the run has reached.
    template <Controlled R>
    void stop(TimePs at, R& run) {
        if (at == looks_.next()) {
            looks_.look_if_worth(run.running(), run.all_hops(), run.all_ports());
            settle(run.running());
        }
        if (at == next_change()) {
            apply(changes_[changed_++], run);
        }
    }
    const Looks& looks() const { return looks_; }
    /// Returns the routing engine of each subnet: since a repair, that which could route it.
    const std::vector<std::string>& engines() const { return repairer_.engines; }
    const std::vector<std::string>& notes() const { return repairer_.notes; }

  private:
    TimePs next_change() const {
        return changed_ < changes_.size() ? changes_[changed_].at : kNever;
    }
    template <Controlled R>
    void apply(const Change& change, R& run) {
        if (!change.repair) {
            run.fail(change.what);
        } else if (auto routed = repair_routes(run.damaged(), repairer_.options, repairer_.engines,
                                               repairer_.notes)) {
            run.take_routes(*std::move(routed));
        }
    }
    /// Takes in credits twice a second of virtual time, which is often enough for lanes, unless
    /// nothing has moved since all had come back. Other parts may give credits back at any time.
    void settle(Engine& engine) {
        constexpr TimePs kEvery = 500'000'000'000;
        const bool rests = settled_ && engine.stats().hops == hops_then_ && !engine.border().any();
        if (!rests && engine.now() - settled_at_ >= kEvery) {
            settled_ = engine.settle_credits();
            settled_at_ = engine.now();
            hops_then_ = engine.stats().hops;
        }
    }

    std::vector<Change> changes_;
    std::size_t changed_ = 0;  ///< How many of the changes have been applied.
    Repairer repairer_;
    Looks looks_;
    TimePs settled_at_ = 0;
    bool settled_ = false;  ///< No credits were on their way then.
    std::uint64_t hops_then_ = 0;
};

}  // namespace softib::net
