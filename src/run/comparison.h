// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// `softib sim --compare`: the same traffic on several networks, side by side.

#include <cstdint>
#include <string>
#include <vector>

#include "plan/results.h"
#include "run/report.h"

namespace softib::run {

/// A network and the report of the simulation on it.
struct Compared {
    std::string name = {};  ///< "ib", "roce+ecmp=spray"
    Report report = {};
};

struct Comparison {
    std::string title = {};
    std::vector<Compared> variants = {};  ///< Not empty.
};

/// The figures of one network that are compared, over all its traffics together.
struct ComparedFigures {
    plan::Totals totals = {};
    std::uint64_t dropped = 0;  ///< Packets that switches, HCAs and cables lost.
    double xmit_wait = 0;       ///< Part of the run that a port with traffic waited, on average.
    std::uint64_t victims = 0;  ///< Flows that waited behind congestion which others caused.
};
ComparedFigures figures_of(const Report& report);
/// Returns a table for people. The first row has the names of the networks; each other row has the
/// name of a figure and its value on each network.
std::vector<std::vector<std::string>> comparison_rows(const Comparison& comparison);

/// Returns what the figures are worth: a sentence that not all networks have begins with the names
/// of those that have it.
std::vector<std::string> basis_of(const Comparison& comparison);

std::string to_json(const Comparison& comparison);
/// Returns comma-separated values, a line of figures for each network. A figure that the model does
/// not know is empty.
std::string to_csv(const Comparison& comparison);

}  // namespace softib::run
