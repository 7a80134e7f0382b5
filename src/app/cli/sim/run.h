// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Runs an experiment on the model that its scenario asks for, and reports the results.

#include <cstdint>
#include <expected>
#include <functional>
#include <string>

#include "app/cli/sim/recorder.h"
#include "app/cli/sim/report.h"
#include "plan/player.h"
#include "spec/scenario/scenario.h"

namespace softib::app::sim {

/// Returns the title of a report: "fat-tree, 1024 hosts, 320 switches".
std::string title_of(const spec::Scenario& scenario, const topo::Fabric& fabric);

/// Called once with the report of a run; in an MPI job only in the first process.
using UseReport = std::function<void(const Report& report, const plan::Player& player)>;
/// Runs an experiment, and calls `use` with its report. `threads`: how many threads share the
/// simulation; 0: the processes of an MPI job share it. The error says what the model refuses.
std::expected<void, std::string> simulate(const spec::Scenario& scenario,
                                          const spec::Experiment& experiment, std::uint32_t threads,
                                          const UseReport& use, const RecordOptions& record = {});

}  // namespace softib::app::sim
