// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Writes what came of a run of `softib sim`, in each form that the user asked for. An overload for
// each outcome and form that run::kinds_written_as() has; write.cc checks that they agree.

#include <span>
#include <string>
#include <vector>

#include "run/execute.h"

namespace softib::app::sim {

// What the figures are worth, at the end of a report.
std::string basis_text(std::span<const std::string> basis);
std::string basis_html(std::span<const std::string> basis);

// Text for a terminal or a pipe.
std::string to_text(const run::Report& report);
std::string to_text(const run::Comparison& comparison);
std::string to_text(const run::WhatIfReport& whatif);
std::string to_text(const run::SweepReport& report);
std::string to_text(const run::SharpReport& report);

// A page of HTML that loads nothing else.
std::string to_html(const run::Report& report);
std::string to_html(const run::Comparison& comparison);
std::string to_html(const run::WhatIfReport& whatif);

/// Writes the files that the run names, and the report on standard output. Returns the exit status.
[[nodiscard]] int write_outcome(const run::Outputs& outputs, const run::Outcome& outcome);

/// Makes sure that the files of a run can be written, before it begins. `read`: the files that the
/// command line names. Returns the exit status, 0 if nothing is wrong.
[[nodiscard]] int check_files(const run::Run& run, std::vector<std::string> read);

}  // namespace softib::app::sim
