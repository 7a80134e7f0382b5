// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// `softib sim --sweep`: simulates every point of a sweep, each in a process of its own, and keeps
// the results in a database (database.h). A sweep that was interrupted goes on from there.

#include <cstdint>
#include <functional>
#include <string>

#include "app/cli/sweep/database.h"
#include "spec/scenario/sweep.h"

namespace softib::app::sweep {

struct Settings {
    std::string database = {};  ///< The file; empty: named after the sweep.
    std::string part = {};      ///< "2/8"; empty: the environment tells it (share.h).
    std::uint32_t jobs = 0;     ///< Simulations at a time; 0: one for each core.
    bool merge = false;         ///< Only put the results of all parts together.
    std::string csv = {};       ///< The file for comma-separated values of all points; "-": stdout.
    bool json = false;
    /// Everything that the points have in common, as text. A stored result is used again only if
    /// this text is the same.
    std::string common = {};
};

/// Simulates one point; called in a process of its own.
using Simulate = std::function<Outcome(const spec::SweepPoint& point)>;

/// Simulates the points of this process's part that have no result yet, and prints the results.
/// Returns the exit status of the command.
int run_sweep(const spec::Sweep& sweep, const Settings& settings, const Simulate& simulate);

}  // namespace softib::app::sweep
