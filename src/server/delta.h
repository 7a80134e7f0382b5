// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A snapshot for the page: whole, in columns, and then what changed of it. A port is told again
// when its state, or the bucket of its load or of its waiting, or whether it counts errors, has
// changed.

#include <cstdint>
#include <string>
#include <vector>

#include "telemetry/snapshot.h"

namespace softib::server {

/// Load and waiting in buckets of a tenth; 0 is "nothing".
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

/// Returns only what changes from one moment to the next: time, and a list per column for state,
/// load, waiting and errors of all ports.
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
