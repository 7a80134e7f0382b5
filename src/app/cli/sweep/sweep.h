// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// `softib sim --sweep`: simulates every point of a sweep, each in a process of its own, and keeps
// the results in a database (database.h). A sweep that was interrupted goes on from there.

#include "run/run.h"

namespace softib::app::sweep {

/// Simulates the points of this process's part that have no result yet, and prints the results.
/// Returns the exit status of the command.
int run_sweep(const run::Run& run);

}  // namespace softib::app::sweep
