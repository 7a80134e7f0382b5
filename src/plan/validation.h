// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Published numbers and what the planner says instead, as rows that unit tests check and
// docs/validation.md shows. A row names its source; one that is missed stays in the list, with the
// reason in `note`.

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace softib::plan {

struct ValidationRow {
    std::string id = {};          ///< Of the acceptance row: "C1"; several rows may share one.
    std::string claim = {};       ///< What is compared: "ring all-reduce, 16 nodes".
    std::string parameters = {};  ///< What it was measured or derived with.
    double expected = 0;
    double tolerance = 0;               ///< Relative: 0.1 is 10 %. 0: exact.
    double tolerance_up = -1;           ///< Upwards, where it differs; negative: the same.
    std::string unit = {};              ///< "GB/s", "us", "switches".
    std::string source = {};            ///< Who published it.
    std::function<double()> ours = {};  ///< Computes our number; takes seconds at most.
    bool fitted = false;      ///< A constant of ours was chosen on this row; `note` names it.
    bool known_miss = false;  ///< We miss it, and `note` says why.
    std::string note = {};
};

/// (ours - expected) / expected; of an expected 0: 0 or infinity.
inline double error_of(const ValidationRow& row, double ours) {
    if (row.expected == 0) {
        return ours == 0 ? 0 : INFINITY;
    }
    return (ours - row.expected) / std::abs(row.expected);
}
inline bool holds(const ValidationRow& row, double ours) {
    const double error = error_of(row, ours);
    const double up = row.tolerance_up < 0 ? row.tolerance : row.tolerance_up;
    constexpr double kRounding = 1e-9;
    return error >= -row.tolerance - kRounding && error <= up + kRounding;
}

/// Component tables (T), links (L) and collectives (C).
std::vector<ValidationRow> fabric_rows();
/// Models and training steps (M).
std::vector<ValidationRow> training_rows();

}  // namespace softib::plan
