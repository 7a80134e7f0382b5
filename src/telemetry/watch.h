// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Turns readings into events: links, nodes and cables that come and go, notices of the subnet
// manager, and numbers that break a rule.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "telemetry/events.h"
#include "telemetry/expected.h"
#include "telemetry/outage.h"
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

    /// Returns what is down at the last snapshot that was followed.
    const Outage& outage() const { return outage_; }
    /// Takes a saved topology for what should be there, before the first snapshot.
    void expect(Inventory inventory) {
        expected_.follow(std::make_shared<const Inventory>(std::move(inventory)), true);
    }
    /// Takes what is there now for all that should be: what is missing is no alarm any more.
    void accept() { expected_.accept(); }

  private:
    void follow_inventory(const Snapshot& before, const Snapshot& now, EventBook& book) const;
    void follow_states(const Snapshot& before, const Snapshot& now, EventBook& book);
    void tell_outage(const std::map<std::string, std::string, std::less<>>& with, std::int64_t time,
                     EventBook& book) const;
    void follow_flaps(const Snapshot& before, const Snapshot& now, EventBook& book);
    void follow_silence(const Snapshot& now, EventBook& book) const;
    void follow_rules(const Snapshot& before, const Snapshot& now, EventBook& book);
    void follow_one_way(const Snapshot& before, const Snapshot& now, EventBook& book);

    /// How often a cable went down of late.
    struct Flaps {
        struct Seen {
            std::uint64_t time_ns = 0;
            std::uint64_t times = 0;
        };
        std::deque<Seen> times;
        std::string peer;
    };

    std::vector<Rule> rules_;
    Expected expected_;
    Outage outage_;
    std::map<std::string, Flaps, std::less<>> flaps_;  ///< Cables by the name of a port.
    /// For how many nanoseconds a rule has been broken at a port, by [rule][port].
    std::vector<std::vector<std::uint64_t>> broken_ns_;
    /// For how many nanoseconds a port has sent packets of which none arrives, by port.
    std::vector<std::uint64_t> one_way_ns_;
    std::uint64_t revision_ = 0;  ///< Revision of the inventory whose ports index both lists.
};

/// Adds an event for a notice of the subnet manager to the book.
void tell_notice(const Notice& notice, const Inventory& inventory, EventBook& book);

}  // namespace softib::telemetry
