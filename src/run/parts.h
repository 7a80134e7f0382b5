// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Runs one simulation on several threads, or on the processes of an MPI job. The result is the same
// to the last bit as on one thread.

#include <cstdint>
#include <expected>
#include <functional>
#include <string>

#include "plan/player.h"
#include "run/single.h"
#include "spec/scenario/scenario.h"

namespace softib::run {

/// Called once when the run is over; in an MPI job only in the first process.
using UsePlayer = std::function<void(plan::Player& player, const Ran& ran)>;
std::expected<void, std::string> run_on_threads(const spec::Scenario& scenario,
                                                const spec::Experiment& experiment,
                                                std::uint32_t threads, Watch& watch,
                                                const UsePlayer& use);
/// Runs the part of the simulation that this process has in the MPI job that it was started in.
/// `libraries`: the folder of the library that joins the job.
std::expected<void, std::string> run_in_job(const spec::Scenario& scenario,
                                            const spec::Experiment& experiment,
                                            const std::string& libraries, Watch& watch,
                                            const UsePlayer& use);

}  // namespace softib::run
