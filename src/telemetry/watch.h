// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Turns readings into events: links, nodes and cables that come and go, notices of the subnet
// manager, and numbers that break a rule.

#include <cstdint>
#include <vector>

#include "telemetry/events.h"
#include "telemetry/rules.h"
#include "telemetry/snapshot.h"

namespace softib::telemetry {

class Watch {
  public:
    explicit Watch(std::vector<Rule> rules) : rules_(std::move(rules)) {}

    /// Compares a snapshot with the one before it, and adds events to the book. The number of
    /// `before` is 0 if there is none.
    void follow(const Snapshot& before, const Snapshot& now, const std::vector<Notice>& notices,
                EventBook& book);

  private:
    void follow_inventory(const Snapshot& before, const Snapshot& now, EventBook& book) const;
    void follow_states(const Snapshot& before, const Snapshot& now, EventBook& book) const;
    void follow_silence(const Snapshot& now, EventBook& book) const;
    void follow_rules(const Snapshot& before, const Snapshot& now, EventBook& book);
    void follow_one_way(const Snapshot& before, const Snapshot& now, EventBook& book);

    std::vector<Rule> rules_;
    /// For how many nanoseconds a rule has been broken at a port, by [rule][port].
    std::vector<std::vector<std::uint64_t>> broken_ns_;
    /// For how many nanoseconds a port has sent packets of which none arrives, by port.
    std::vector<std::uint64_t> one_way_ns_;
    std::uint64_t revision_ = 0;  ///< Revision of the inventory whose ports index both lists.
};

/// Adds an event for a notice of the subnet manager to the book.
void tell_notice(const Notice& notice, const Inventory& inventory, EventBook& book);

}  // namespace softib::telemetry
