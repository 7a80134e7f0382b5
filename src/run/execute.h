// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Carries out a run.

#include <expected>
#include <optional>
#include <string>
#include <variant>

#include "run/comparison.h"
#include "run/points.h"
#include "run/report.h"
#include "run/run.h"
#include "run/sharp.h"
#include "run/watch.h"
#include "run/what_if.h"

namespace softib::run {

/// What came of a run, in the order of run::Kind.
using Outcome = std::variant<Report, Comparison, WhatIfReport, SweepReport, SharpReport>;

/// Carries out a run. Returns std::nullopt in all processes of an MPI job but the first. The error
/// is for the user.
std::expected<std::optional<Outcome>, std::string> execute(const Run& run, Watch& watch);

/// Simulates one point of a sweep.
PointOutcome simulate_point(const Run& run, const spec::SweepPoint& point, Watch& watch);

/// Returns any outcome as JSON.
std::string to_json(const Outcome& outcome);

}  // namespace softib::run
