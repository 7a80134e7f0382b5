// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Looks at what waits at the ports of an engine, at intervals that grow with the run: how long
// packets waited for a cable itself, and how long for the credits of the port behind it. Engines
// that carry one fabric together look at the same times.

#include <cstdint>
#include <vector>

#include "net/engine.h"
#include "net/hosts/message_hosts.h"
#include "net/model.h"

namespace softib::net {

class Looks {
  public:
    explicit Looks(std::uint32_t ports) : full_ps_(ports), blocked_ps_(ports) {}

    /// When the next look is due.
    TimePs next() const { return next_; }
    /// Looks if enough has happened since the last one. A look costs as much as an event for each
    /// port: `hops` and `ports` are those of the whole fabric.
    void look_if_worth(const Engine& engine, std::uint64_t hops, std::uint64_t ports);

    TimePs full_ps(std::uint32_t port) const { return full_ps_[port]; }
    TimePs blocked_ps(std::uint32_t port) const { return blocked_ps_[port]; }

  private:
    static constexpr TimePs kFirst = 1'000'000;

    void look(const Engine& engine);

    TimePs every_ = kFirst;
    TimePs after_ = kFirst;  ///< The same, longer while little happens.
    TimePs next_ = kFirst;
    TimePs looked_at_ = 0;
    std::uint64_t hops_then_ = 0;
    std::uint32_t looks_ = 0;
    std::vector<TimePs> full_ps_;     ///< By port.
    std::vector<TimePs> blocked_ps_;  ///< By port.
};

/// What went out of a port until now; the ends of the link are left to the caller.
LinkLoad load_of(const Engine& engine, std::uint32_t port, const Looks& looks);

/// What an engine and the hosts at its ends have counted.
ModelStats stats_of(const Engine& engine, const MessageHosts& hosts);

}  // namespace softib::net
