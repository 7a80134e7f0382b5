// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Published numbers beside those that the planner computes, as rows that unit tests check and
// docs/validation.md shows. The rows are files of TOML (collective/fabric_rows.toml), from which
// embed.py makes the functions below. A row names its source. A row that the planner misses stays
// in the list, with the reason in `note`.

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace softib::plan {

struct ValidationRow {
    std::string id = {};          ///< Name of the acceptance row: "C1"; several rows may share it.
    std::string claim = {};       ///< What is compared: "ring all-reduce, 16 nodes".
    std::string parameters = {};  ///< What the number was measured or derived with.
    double expected = 0;          ///< The published number.
    double tolerance = 0;         ///< Allowed relative error: 0.1 is 10 %; 0: none.
    double tolerance_up = -1;     ///< The same upwards, where it differs; negative: it does not.
    std::string unit = {};        ///< "GB/s", "us", "switches".
    std::string source = {};      ///< Where the number is published.
    std::function<double()> ours = {};  ///< Computes our number; takes seconds at most.
    bool fitted = false;      ///< Whether a constant of ours was fitted to it; `note` names which.
    bool known_miss = false;  ///< Whether we miss it; `note` says why.
    std::string note = {};
};

/// Returns the relative error (ours - expected) / |expected|; if 0 is expected, 0 or infinity.
inline double error_of(const ValidationRow& row, double ours) {
    if (row.expected == 0) {
        return ours == 0 ? 0 : INFINITY;
    }
    return (ours - row.expected) / std::abs(row.expected);
}
/// Returns whether our number is within the tolerance of the row.
inline bool holds(const ValidationRow& row, double ours) {
    const double error = error_of(row, ours);
    const double up = row.tolerance_up < 0 ? row.tolerance : row.tolerance_up;
    constexpr double kRounding = 1e-9;
    return error >= -row.tolerance - kRounding && error <= up + kRounding;
}

/// Returns the rows of component tables (T), links (L), collectives (C) and measurements on
/// machines (B).
std::vector<ValidationRow> fabric_rows();
/// Returns the rows of models and training steps (M).
std::vector<ValidationRow> training_rows();

}  // namespace softib::plan
