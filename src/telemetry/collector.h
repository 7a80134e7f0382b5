// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reads a source again and again, and keeps the last snapshot and the events for whoever shows
// them.
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
    std::vector<Event> events() const;
    std::vector<Event> alarms() const;
    std::vector<Event> events_since(std::uint64_t revision) const;
    /// Changes the book of events.
    void with_events(const std::function<void(EventBook&)>& change);

  private:
    std::shared_ptr<Snapshot> failed(const Snapshot& before, std::string trouble);

    std::unique_ptr<Source> source_;
    Watch watch_;
    mutable std::mutex mutex_;  ///< For the next two.
    std::shared_ptr<const Snapshot> last_ = std::make_shared<const Snapshot>();
    EventBook book_;
    std::int64_t clock_offset_us_ = 0;  ///< Of the wall's clock to the other; 0: not known yet.
};

}  // namespace softib::telemetry
