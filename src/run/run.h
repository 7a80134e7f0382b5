// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A run of `softib sim` as a value: a scenario, what kind of run it is for, where it runs and what
// is written. make.h makes it from flags, files and texts; execute.h carries it out.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "net/sharp/sharp_simulation.h"
#include "spec/scenario/scenario.h"
#include "spec/scenario/serves.h"
#include "spec/scenario/sweep.h"

namespace softib::run {

// The kinds of runs. What a kind does not have cannot be asked of it.
struct Single {};
struct Compare {
    std::vector<spec::Variant> variants = {};
};
struct WhatIf {
    std::uint32_t draws = 1;  ///< How many times random failures are drawn.
};
struct Sweep {
    spec::Sweep axes = {};
    /// Everything that the points have in common, as text. Results of an earlier sweep count only
    /// if this text is the same.
    std::string common = {};
};
struct Sharp {
    net::SharpTask task = {};
};
/// In the order of spec::RunKind.
using Kind = std::variant<Single, Compare, WhatIf, Sweep, Sharp>;

/// Files that a user wants; "-" is standard output, empty: not wanted.
struct Outputs {
    bool json = false;
    std::string csv = {};
    std::string csv_links = {};
    std::vector<std::string> exports = {};  ///< FORMAT=FILE
    std::string html = {};
    std::string record = {};
    plan::TimePs record_every = 100'000'000;
    bool serve = false;
    std::string port = {};
};

/// Where it runs.
struct Place {
    std::uint32_t threads = 1;   ///< Threads that share one simulation.
    bool any_cost = false;       ///< Go on whatever it takes.
    bool job = false;            ///< The processes of an MPI job share one simulation.
    std::string libraries = {};  ///< The folder of the library that joins such a job.
};

/// How the points of a sweep are simulated.
struct SweepPlace {
    std::string database = {};
    std::string part = {};
    std::uint32_t jobs = 0;
    bool merge = false;
};

struct Run {
    spec::Scenario scenario = {};
    Kind kind = {};
    Outputs outputs = {};
    Place place = {};
    SweepPlace sweep = {};

    spec::RunKind kind_name() const { return static_cast<spec::RunKind>(kind.index()); }
};

/// Why something was refused.
struct Refusal {
    std::string text = {};
    bool misuse = true;  ///< What was asked for is wrong; else a file could not be read.
};

}  // namespace softib::run
