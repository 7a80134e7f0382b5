// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Runs an experiment by the model that its scenario asks for, and reports what it showed.

#include <cstdint>
#include <expected>
#include <functional>
#include <string>

#include "app/cli/sim/recorder.h"
#include "app/cli/sim/report.h"
#include "plan/player.h"
#include "spec/scenario/scenario.h"

namespace softib::app::sim {

/// "fat-tree, 1024 hosts, 320 switches"
std::string title_of(const spec::Scenario& scenario, const topo::Fabric& fabric);

/// Calls `use` with what the run showed; in a job of an MPI only in its first process. The error
/// says what the model refuses. `threads`: the most that one simulation takes.
using UseReport = std::function<void(const Report& report, const plan::Player& player)>;
std::expected<void, std::string> simulate(const spec::Scenario& scenario,
                                          const spec::Experiment& experiment, std::uint32_t threads,
                                          const UseReport& use, const RecordOptions& record = {});

}  // namespace softib::app::sim
