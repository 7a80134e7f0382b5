// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Estimates how long packets waited at each port of an engine: for the cable itself, and for the
// credits of the port behind it. It looks at all ports at intervals that grow with the run. Engines
// that carry one fabric together look at the same times.

#include <cstdint>
#include <vector>

#include "net/engine/engine.h"
#include "net/hosts/message_hosts.h"
#include "net/model.h"

namespace softib::net {

class Looks {
  public:
    explicit Looks(std::uint32_t ports) : full_ps_(ports), blocked_ps_(ports) {}

    /// Returns when the next look is due.
    TimePs next() const { return next_; }
    /// Looks at all ports if enough has happened since the last look, and sets next(). A look costs
    /// as much as an event for each port, so there must have been as many hops as there are ports.
    /// `hops` and `ports` are those of the whole fabric.
    void look_if_worth(const Engine& engine, std::uint64_t hops, std::uint64_t ports);

    TimePs full_ps(std::uint32_t port) const { return full_ps_[port]; }
    TimePs blocked_ps(std::uint32_t port) const { return blocked_ps_[port]; }

  private:
    static constexpr TimePs kFirst = 1'000'000;

    void look(const Engine& engine);

    TimePs every_ = kFirst;  ///< Time from look to look while much happens.
    TimePs after_ = kFirst;  ///< Time to the next look, longer while little happens.
    TimePs next_ = kFirst;
    TimePs looked_at_ = 0;
    std::uint64_t hops_then_ = 0;
    std::uint32_t looks_ = 0;
    std::vector<TimePs> full_ps_;     ///< By port.
    std::vector<TimePs> blocked_ps_;  ///< By port.
};

/// Returns what a port has sent until now; the caller sets the ends of the link.
LinkLoad load_of(const Engine& engine, std::uint32_t port, const Looks& looks);

/// Returns what an engine and the hosts at its ends have counted.
ModelStats stats_of(const Engine& engine, const MessageHosts& hosts);

}  // namespace softib::net
