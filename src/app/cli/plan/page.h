// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Plots in the HTML pages of `softib plan`.

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace softib::app {

struct Series {
    std::string name;
    std::vector<std::pair<double, double>> points;  ///< Size and value, both above 0.
};

/// Returns a plot, as SVG, with a line for each series; both axes are logarithmic.
std::string line_plot(const std::vector<Series>& series, const std::string& unit);
/// Returns a plot, as SVG, with a bar for each name.
std::string bar_plot(const std::vector<std::pair<std::string, double>>& bars,
                     const std::string& unit);

/// Returns why --json, if it is among the given options, would change nothing: a page and JSON
/// cannot both go to standard output.
std::optional<std::string> find_idle_json(const std::vector<std::string>& given,
                                          const std::string& html);

}  // namespace softib::app
