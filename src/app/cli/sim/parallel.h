// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Runs one simulation on several threads, or on the processes of an MPI job, with the result of one
// thread to the last bit.

#include <cstdint>
#include <expected>
#include <functional>
#include <string>

#include "app/cli/sim/progress.h"
#include "plan/player.h"
#include "spec/scenario/scenario.h"

namespace softib::app::sim {

/// Calls `use` when the run is over, in the process that reports. Errors are for the user.
using UsePlayer = std::function<void(const plan::Player& player, const Ran& ran)>;
std::expected<void, std::string> run_on_threads(const spec::Scenario& scenario,
                                                const spec::Experiment& experiment,
                                                std::uint32_t threads, const UsePlayer& use);
/// As one process of the job that this one was started in.
std::expected<void, std::string> run_in_job(const spec::Scenario& scenario,
                                            const spec::Experiment& experiment,
                                            const UsePlayer& use);

}  // namespace softib::app::sim
