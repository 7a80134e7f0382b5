// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// `softib sim --sweep`: simulates every point of a sweep, a process for each at a time, and keeps
// the results in a database (database.h) from which a sweep that was interrupted goes on.

#include <cstdint>
#include <functional>
#include <string>

#include "app/cli/sweep/database.h"
#include "spec/scenario/sweep.h"

namespace softib::app::sweep {

struct Settings {
    std::string database = {};  ///< The file; empty: named after the sweep.
    std::string part = {};      ///< "2/8"; empty: the environment says it.
    std::uint32_t jobs = 0;     ///< Simulations at a time; 0: one for each core.
    bool merge = false;         ///< Only puts the parts' results together.
    std::string csv = {};       ///< Where all points go as comma separated values; "-": stdout.
    bool json = false;
    /// Everything that the points have in common, as text: a result counts only for the same.
    std::string common = {};
};

/// Simulates one point; called in a process of its own.
using Simulate = std::function<Outcome(const spec::SweepPoint& point)>;

/// Returns the exit status of the command.
int run_sweep(const spec::Sweep& sweep, const Settings& settings, const Simulate& simulate);

}  // namespace softib::app::sweep
