// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a simulation stops for while it runs: failures and repairs, looks at the ports, and credits
// that must be taken in. The same for a whole fabric and for each part of one.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "net/sim/looks.h"
#include "net/sim/repairs.h"

namespace softib::net {

class RunControl {
  public:
    /// `changes`: what happens to the fabric, in order. `ports`: ports of the engine.
    RunControl(std::vector<Change> changes, std::uint32_t ports)
        : changes_(std::move(changes)), looks_(ports) {}

    /// Returns whether anything ever happens to the fabric.
    bool has_changes() const { return !changes_.empty(); }
    /// Returns whether something happens to the fabric until a time, which may be kNever.
    bool change_due(TimePs until) const {
        return changed_ < changes_.size() && changes_[changed_].at <= until;
    }
    /// Returns when the run must stop next, `until` at the latest.
    TimePs next_stop(TimePs until) const { return std::min({until, looks_.next(), next_change()}); }
    /// Does what is due at `at`, which the engine has reached. `hops()` returns those of the whole
    /// fabric, which has `ports`; `apply(change)` makes a change.
    template <typename Hops, typename Apply>
    void stop(TimePs at, Engine& engine, std::uint64_t ports, Hops hops, Apply apply) {
        if (at == looks_.next()) {
            looks_.look_if_worth(engine, hops(), ports);
            settle(engine);
        }
        if (at == next_change()) {
            apply(changes_[changed_++]);
        }
    }
    const Looks& looks() const { return looks_; }

  private:
    TimePs next_change() const {
        return changed_ < changes_.size() ? changes_[changed_].at : kNever;
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
    Looks looks_;
    TimePs settled_at_ = 0;
    bool settled_ = false;  ///< No credits were on their way then.
    std::uint64_t hops_then_ = 0;
};

}  // namespace softib::net
