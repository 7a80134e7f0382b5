// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Tables and plots of `softib plan`, as pages.

#include <string>
#include <utility>
#include <vector>

namespace softib::app {

struct Series {
    std::string name;
    std::vector<std::pair<double, double>> points;  ///< Size and value, both above 0.
};

/// Lines over sizes, both axes logarithmic.
std::string line_plot(const std::vector<Series>& series, const std::string& unit);
/// A bar for each name.
std::string bar_plot(const std::vector<std::pair<std::string, double>>& bars,
                     const std::string& unit);
std::string page_table(const std::vector<std::string>& header,
                       const std::vector<std::vector<std::string>>& rows);

}  // namespace softib::app
