// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What `softib plan train`, `search` and `models` print: text for a terminal or a pipe, and a page
// of HTML with the timeline of a step. answer/train.h has the JSON.

#include <optional>
#include <string>
#include <vector>

#include "answer/train.h"

namespace softib::app::train {

using Report = answer::StepReport;
using Search = answer::SearchReport;

inline constexpr double kGiB = 1024.0 * 1024 * 1024;
std::string seconds_text(double seconds);  ///< "3.15 s"
std::string share_text(double part);       ///< "43.1 %"

/// Tables of a report, each row as its cells.
using Rows = std::vector<std::vector<std::string>>;
/// Returns the parts of a step: name, time, share of the step.
Rows part_rows(const plan::Step& step);
/// Returns the exchanges of each dimension of parallelism: name, ranks, time that is not hidden by
/// computation, bytes on NVLink, bytes on the fabric.
Rows byte_rows(const Report& report);
/// Returns how the job computes: what, its value, and who says so.
Rows choice_rows(const Report& report);
/// Returns the parts of a GPU's memory use: name, GiB.
Rows memory_rows(const plan::MemoryUse& memory);
/// Returns one line with the time of a step, MFU and tokens a second, and a second line with the
/// days of training if the user has said on how many tokens.
std::string summary(const Report& report);

std::string to_text(const Report& report);
/// Returns the report as a page; `load` is that of the fabric, if it is known.
std::string to_html(const Report& report, const std::optional<plan::FabricLoad>& load);

std::string to_text(const Search& search);
std::string to_html(const Search& search);

std::string models_text();

}  // namespace softib::app::train
