// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The sources of telemetry's numbers: the arena of a softib fabric (arena_source.h), the
// performance agents of any subnet (mad/mad_source.h), or a recording that a simulation writes
// (recording.h). A reading has the counters of every cabled port at one moment, as totals that only
// grow.

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "core/base/port_state.h"
#include "core/counters/port_counters.h"
#include "telemetry/inventory.h"

namespace softib::telemetry {

using counters::PortCounts;

/// An event that the subnet manager reported: a trap, the end of a sweep, a port that came or went.
struct Notice {
    enum Kind : std::uint8_t {
        kSweep,
        kPortAppeared,
        kPortVanished,
        kTrap,
        kManagerState,
        kRoutingFailed,
        kSilentNode,
        kWarning,
    };
    Kind kind{};
    std::uint16_t trap = 0;  ///< The number of the trap.
    Lid lid{};               ///< The LID of the trap's issuer.
    Guid guid{};
    std::int64_t time_us = 0;
    std::string text;
};

struct Sample {
    std::uint64_t time_ns = 0;  ///< Monotonic time, for rates.
    std::int64_t wall_us = 0;   ///< Time since 1970, for people.
    std::vector<PortCounts> counts;
    std::vector<PortState> states;
    std::vector<std::uint8_t> fresh;  ///< 0: the port did not answer, and has its last counts.
    std::vector<std::string> silent;  ///< Nodes that did not answer.
};

struct Reading {
    std::shared_ptr<const Inventory> inventory;
    Sample sample;
    std::vector<Notice> notices;
    std::uint64_t instance = 0;  ///< Changes when the fabric was ended and started again.
};

/// How old numbers are when a client asks for them.
enum class Pace : std::uint8_t {
    kQuick,     ///< A reading is quick enough to make one for each request of a client.
    kSlow,      ///< A client gets the numbers of the last reading.
    kRecorded,  ///< The numbers are of another time: the virtual time of a simulation.
};

class Source {
  public:
    Source() = default;
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;
    virtual ~Source() = default;
    /// Checks, before anything is read, whether there is something to read. The error is a sentence
    /// that says why there will never be.
    virtual std::expected<void, std::string> check() { return {}; }
    /// Reads all ports. The error is a sentence that says why nothing can be read now; the next
    /// call tries again.
    virtual std::expected<Reading, std::string> read() = 0;
    virtual Pace pace() const { return Pace::kSlow; }
    /// Returns whether the next reading may be there already, as in a recording: the caller then
    /// need not wait.
    virtual bool has_more() const { return false; }
    /// Returns what this reads, for people: "fabric lab", "mlx5_0 port 1".
    virtual std::string name() const = 0;
};

}  // namespace softib::telemetry
