// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A snapshot for the web page: first the whole, in columns, then only what changed. A port counts
// as changed when its PortMark differs: its state, the bucket of its load or of its waiting, or
// whether it counts errors.

#include <cstdint>
#include <string>
#include <vector>

#include "telemetry/snapshot.h"

namespace softib::server {

/// The values of a port that decide whether it has changed. Load (of what it sends) and waiting are
/// in buckets: 0 for none, 1 to 10 for tenths.
struct PortMark {
    std::uint8_t state = 0;
    std::uint8_t load = 0;
    std::uint8_t wait = 0;
    std::uint8_t errors = 0;
    bool operator==(const PortMark&) const = default;
};
PortMark mark_of(const telemetry::Snapshot& snapshot, std::uint32_t port);

/// Returns the whole snapshot as JSON, a list per column.
std::string snapshot_json(const telemetry::Snapshot& snapshot);

/// Returns, as JSON, the part of a snapshot that changes from one moment to the next: time, and a
/// list per column for state, load, waiting and errors of all ports.
std::string moment_json(const telemetry::Snapshot& snapshot);

/// Makes the messages of the event stream.
class DeltaMaker {
  public:
    /// Returns what changed since the last call, as JSON in one line.
    std::string next(const telemetry::Snapshot& snapshot);

  private:
    std::vector<PortMark> told_;
    std::uint64_t revision_ = 0;
};

}  // namespace softib::server
