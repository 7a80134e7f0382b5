// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reads a source again and again, and keeps the last snapshot and the events, for servers and
// commands that show them.
//
// Between two steps fresh() reads a quick source once more: a client such as Prometheus takes the
// time of its request for the time of the numbers, and so gets the numbers of that time.
//
// Thread rule: step() and has_more() belong to one thread; any thread may call the others.

#include <functional>
#include <memory>
#include <mutex>

#include "telemetry/events.h"
#include "telemetry/snapshot.h"
#include "telemetry/watch.h"

namespace softib::telemetry {

class Collector {
  public:
    Collector(std::unique_ptr<Source> source, std::vector<Rule> rules);

    /// Reads the source once, and returns the new snapshot. A source that cannot be read raises an
    /// alarm, and the next call tries again.
    std::shared_ptr<const Snapshot> step();

    /// Returns the snapshot of the last step.
    std::shared_ptr<const Snapshot> snapshot() const;
    /// Returns a snapshot with the counters of now, and rates of zero, if the source is quick; else
    /// the last snapshot. Calls within kFreshNs share a reading.
    std::shared_ptr<const Snapshot> fresh();
    Pace pace() const { return source_->pace(); }
    /// Returns whether step() may be called again at once, without waiting for the next second.
    bool has_more() const { return source_->has_more(); }
    std::vector<Event> events() const;
    std::vector<Event> alarms() const;
    /// Returns the events that changed after `revision` (Event::revision).
    std::vector<Event> events_since(std::uint64_t revision) const;
    /// Calls `change` with the event book, under its lock.
    /// Takes a saved topology for what should be there, before the first step.
    void expect(Inventory inventory);
    /// Takes the nodes and cables that are there now for all that should be there.
    void accept();
    void with_events(const std::function<void(EventBook&)>& change);

  private:
    static constexpr std::uint64_t kFreshNs = 100'000'000;

    std::expected<Reading, std::string> read();
    std::shared_ptr<Snapshot> failed(const Snapshot& before, std::string trouble);

    std::unique_ptr<Source> source_;
    std::mutex source_mutex_;      ///< Guards source_, notices_ and fresh_.
    std::vector<Notice> notices_;  ///< Notices that fresh() has read, for the next step.
    std::shared_ptr<const Snapshot> fresh_;
    Watch watch_;
    mutable std::mutex mutex_;  ///< Guards last_ and book_. Taken after source_mutex_.
    std::shared_ptr<const Snapshot> last_ = std::make_shared<const Snapshot>();
    EventBook book_;
    /// The clock of the day less the monotonic clock; 0: not known yet.
    std::int64_t clock_offset_us_ = 0;
};

}  // namespace softib::telemetry
