// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The only maker of runs, for the command line, files and libraries.

#include <expected>

#include "run/asked.h"
#include "run/run.h"

namespace softib::run {

/// Makes a run in which everything that was asked for acts. The error names what would not, with
/// the place where it was given.
std::expected<Run, Refusal> make_run(const Asked& asked);

}  // namespace softib::run
