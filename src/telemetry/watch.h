// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Makes events of readings: links, nodes and cables that come and go, what the subnet manager
// tells, and numbers that rules forbid.

#include <cstdint>
#include <vector>

#include "telemetry/events.h"
#include "telemetry/rules.h"
#include "telemetry/snapshot.h"

namespace softib::telemetry {

class Watch {
  public:
    explicit Watch(std::vector<Rule> rules) : rules_(std::move(rules)) {}

    /// Compares a snapshot with the one before it, which has no number at the beginning.
    void follow(const Snapshot& before, const Snapshot& now, const std::vector<Notice>& notices,
                EventBook& book);

  private:
    void follow_inventory(const Snapshot& before, const Snapshot& now, EventBook& book) const;
    void follow_states(const Snapshot& before, const Snapshot& now, EventBook& book) const;
    void follow_silence(const Snapshot& before, const Snapshot& now, EventBook& book) const;
    void follow_rules(const Snapshot& before, const Snapshot& now, EventBook& book);
    void follow_one_way(const Snapshot& before, const Snapshot& now, EventBook& book);

    std::vector<Rule> rules_;
    /// Nanoseconds that a rule has been broken at a port, by [rule][port].
    std::vector<std::vector<std::uint64_t>> broken_ns_;
    std::vector<std::uint64_t> one_way_ns_;  ///< The same for cables that lose all one way.
    std::uint64_t revision_ = 0;             ///< Of the inventory that these are for.
};

/// Makes an event of what the subnet manager told.
void tell_notice(const Notice& notice, const Inventory& inventory, EventBook& book);

}  // namespace softib::telemetry
