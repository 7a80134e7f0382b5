// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Simulates one experiment on the model that its scenario asks for.

#include <expected>
#include <optional>
#include <string>

#include "plan/player.h"
#include "run/report.h"
#include "run/run.h"
#include "run/watch.h"

namespace softib::run {

/// Returns the title of a report: "fat-tree, 1024 hosts, 320 switches".
std::string title_of(const spec::Scenario& scenario, const topo::Fabric& fabric);

/// How a simulation ended.
struct Ran {
    bool stopped = false;  ///< The watch stopped it.
    double cpu_seconds = 0;
};
/// Plays to the end or to `until`, or until the watch stops it. `mtu`: the size by which the watch
/// hears how many packets there will be.
Ran play(plan::Player& player, plan::TimePs until, std::uint32_t mtu, Watch& watch, bool records);

/// Simulates an experiment. Returns the report; std::nullopt in all processes of an MPI job but the
/// first. `keeps_messages`: the report shall have all messages. The error says what the model
/// refuses.
std::expected<std::optional<Report>, std::string> simulate(const spec::Scenario& scenario,
                                                           const spec::Experiment& experiment,
                                                           const Place& place, Watch& watch,
                                                           bool keeps_messages = false);

}  // namespace softib::run
