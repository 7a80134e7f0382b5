// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reads a source again and again, and keeps the last snapshot and the events for whoever shows
// them.
//
// Between two steps fresh() reads a source that is quick once more, so that a client that counts by
// the time of its question (Prometheus) gets the numbers of that time.
//
// Thread rule: step() belongs to one thread; all else may be called by any.

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

    /// Reads the source once. A source that cannot be read becomes an alarm, and is tried again by
    /// the next call.
    std::shared_ptr<const Snapshot> step();

    std::shared_ptr<const Snapshot> snapshot() const;
    /// Returns counters of now, without events, where the source is quick; else the last snapshot.
    /// Several questions within kFreshNs share a reading.
    std::shared_ptr<const Snapshot> fresh();
    Pace pace() const { return source_->pace(); }
    /// Whether the next step() need not wait for the next second. For the thread of step().
    bool has_more() const { return source_->has_more(); }
    std::vector<Event> events() const;
    std::vector<Event> alarms() const;
    std::vector<Event> events_since(std::uint64_t revision) const;
    /// Changes the book of events.
    void with_events(const std::function<void(EventBook&)>& change);

  private:
    static constexpr std::uint64_t kFreshNs = 100'000'000;

    std::expected<Reading, std::string> read();
    std::shared_ptr<Snapshot> failed(const Snapshot& before, std::string trouble);

    std::unique_ptr<Source> source_;
    std::mutex source_mutex_;      ///< For readings of the source, and for the next two.
    std::vector<Notice> notices_;  ///< That came between two steps.
    std::shared_ptr<const Snapshot> fresh_;
    Watch watch_;
    mutable std::mutex mutex_;  ///< For the next two. Taken after source_mutex_.
    std::shared_ptr<const Snapshot> last_ = std::make_shared<const Snapshot>();
    EventBook book_;
    std::int64_t clock_offset_us_ = 0;  ///< Of the wall's clock to the other; 0: not known yet.
};

}  // namespace softib::telemetry
