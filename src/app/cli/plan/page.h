// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Plots in the HTML pages of `softib plan`. Lines are SVG that stretches with the page; texts are
// HTML, and stay readable on a phone.

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace softib::app {

struct Series {
    std::string name;
    std::vector<std::pair<double, double>> points;  ///< Size and value, both above 0.
};

/// Returns a plot with a line for each series; both axes are logarithmic.
std::string line_plot(const std::vector<Series>& series, const std::string& unit);
/// Returns a plot of shares, in percent, by a value from 0 on; points are in ascending order.
std::string share_plot(const std::vector<Series>& series, const std::string& y_name,
                       const std::string& x_name, std::string (*text)(double));
/// Returns a plot with a bar for each name.
std::string bar_plot(const std::vector<std::pair<std::string, double>>& bars,
                     const std::string& unit);

/// A part of a whole.
struct Part {
    std::string name;
    double value = 0;
    std::size_t colour = 0;  ///< 0 to 11: class c0 to c11 of src/page/report/report.css.
    std::string text = {};   ///< The value for people.
};
/// What a bar of parts is drawn against.
struct Whole {
    double value = 0;          ///< The sum of the parts, or what they are parts of.
    double low = 0, high = 0;  ///< An interval of the sum, drawn below the bar; 0: none.
    std::string text = {};     ///< Words for the interval.
    double scale = 0;          ///< What the whole width stands for; 0: the largest of the above.
};
/// Returns a bar divided into its parts, and a list of their names and values.
std::string stacked_bar(const std::vector<Part>& parts, const Whole& whole);

/// A point of a scatter plot. Less of x is better.
struct ScatterPoint {
    double x = 0;
    double y = 0;
    std::string name = {};
    std::string tag = {};          ///< A short name, shown if the point is of the front.
    std::string detail = {};       ///< Further lines for who points at it.
    double x_low = 0, x_high = 0;  ///< The range of x; 0: none.
};
struct ScatterAxes {
    std::string x_name;
    std::string y_name;
    bool more_is_better = false;  ///< Whether more of y is better.
};
/// Returns the points that no other is better than in both, in ascending order of x.
std::vector<std::size_t> pareto_front(const std::vector<ScatterPoint>& points, bool more_is_better);
/// Returns a plot of points with their Pareto front. A point names itself to who points at it.
std::string scatter_plot(const std::vector<ScatterPoint>& points, const ScatterAxes& axes);

/// Returns an axis with round values from `low` to `high`: their places are parts of its length.
struct Tick {
    double part;
    std::string text;
};
std::vector<Tick> round_ticks(double low, double high);

/// Returns why --json, if it is among the given options, would change nothing: a page and JSON
/// cannot both go to standard output.
std::optional<std::string> find_idle_json(const std::vector<std::string>& given,
                                          const std::string& html);

}  // namespace softib::app
