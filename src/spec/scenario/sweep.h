// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A sweep: lists of values for some keys of a scenario. Every combination of values is a point,
// which is one simulation.
//
//   base = "permutation.toml"      # a scenario; without it: the defaults and what this file says
//   seeds = 3                      # every point with the seeds 1, 2 and 3
//   [vary]                         # keys are long flags of `softib sim` with '_' for '-'
//   hosts = [64, 128, 256]
//   adaptive = [false, true]
//   traffic = ["permutation", "shift,shift=8"]
//   size = ["100kB", "2MB"]        # of all traffics
//
// From one point to the next, the seed changes first, then the last key of [vary]. Errors are
// sentences for the user that begin with FILE:LINE:COLUMN.

#include <cstdint>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "spec/scenario/scenario.h"

namespace softib::spec {

/// A key with the values that it takes.
struct SweepAxis {
    struct Choice {
        std::string value;
        std::string origin;  ///< "sweep.toml:7:10"
    };
    std::string key;
    std::vector<Choice> choices;
};

/// The value of every varied key, in the order of the axes.
using SweepPoint = std::vector<std::pair<std::string, std::string>>;

struct Sweep {
    std::string file;
    std::filesystem::path folder = {};  ///< Where paths among the values begin.
    std::vector<SweepAxis> axes = {};

    std::uint64_t point_count() const;
    /// Returns the point of this number, from 0 on.
    SweepPoint point(std::uint64_t number) const;
};

/// The most points of a sweep.
inline constexpr std::uint64_t kSweepPointsMax = 1'000'000;

/// Which kind of run a file asks for, besides its scenario.
struct RunWish {
    std::optional<Sweep> sweep = {};          ///< Its axes: `seeds` and [vary].
    bool whatif = false;                      ///< It has a section [whatif].
    std::optional<std::uint32_t> draws = {};  ///< Draws of random failures: `seeds` in [whatif].
    std::vector<Scenario::Given> given = {};  ///< The keys that say so.
    std::uint32_t depth = 0;                  ///< How many files have this one as their base.
};

/// Checks every value of every axis by setting it alone in a copy of `base`.
Result check_sweep(const Sweep& sweep, const Scenario& base);
/// Sets the keys of a point in a scenario. The error names the key.
Result apply_point(const Sweep& sweep, const SweepPoint& point, Scenario& scenario);

}  // namespace softib::spec
