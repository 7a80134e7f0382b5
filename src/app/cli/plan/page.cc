// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/plan/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/cli/html_page.h"
#include "app/fabric/term.h"
#include "plan/units.h"

namespace softib::app {

namespace {

constexpr double kPlotHeight = 340;
constexpr double kPlotLeft = 70;
constexpr double kPlotBottom = 30;
constexpr double kPlotTop = 14;

/// The range of a logarithmic axis, from the smallest to the largest value.
struct Axis {
    double low = INFINITY;
    double high = 0;

    void take(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
    double place(double value) const {
        return high <= low ? 0.5 : std::log(value / low) / std::log(high / low);
    }
};

std::string grid_lines(const Axis& x, const Axis& y, const std::string& unit) {
    std::string out;
    const double right = kPictureWidth - 10;
    const double base = kPlotHeight - kPlotBottom;
    for (double value = std::pow(10, std::ceil(std::log10(y.low))); value <= y.high; value *= 10) {
        const double at = base - y.place(value) * (base - kPlotTop);
        out += fmt::format(
            "<path d=\"M{0} {1:.1f}H{2}\" stroke=\"#d1d9e0\"/>"
            "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:g}</text>\n",
            kPlotLeft, at, right, kPlotLeft - 6, at + 4, value);
    }
    out += axis_marks(kPlotLeft, right - 30, kPlotHeight - 8, 6, [&](double part) {
        return plan::show_size(static_cast<std::uint64_t>(x.low * std::pow(x.high / x.low, part)));
    });
    return out + fmt::format("<text x=\"4\" y=\"12\">{}</text>\n", escaped(unit));
}

}  // namespace

std::string line_plot(const std::vector<Series>& series, const std::string& unit) {
    Axis x;
    Axis y;
    for (const Series& each : series) {
        for (const auto& [size, value] : each.points) {
            x.take(size);
            y.take(value);
        }
    }
    if (x.high == 0) {
        return "<p>There is nothing to plot.</p>\n";
    }
    std::string out = grid_lines(x, y, unit);
    std::string legend;
    const double base = kPlotHeight - kPlotBottom;
    for (std::size_t i = 0; i < series.size(); ++i) {
        const char* const colour = kPageColours[i % kPageColours.size()];
        // When there are no more colours, they are used again with dashes.
        const char* const dashes = i < kPageColours.size() ? "" : " stroke-dasharray=\"7 4\"";
        std::vector<std::pair<double, double>> points;
        for (const auto& [size, value] : series[i].points) {
            points.emplace_back(kPlotLeft + x.place(size) * (kPictureWidth - kPlotLeft - 40),
                                base - y.place(value) * (base - kPlotTop));
        }
        out += curve(points, colour, dashes);
        legend += fmt::format(
            "<svg viewBox=\"0 0 24 8\" style=\"width:24px\"><path d=\"M0 4h24\" stroke=\"{}\" "
            "stroke-width=\"2\"{}/></svg> {} &nbsp; ",
            colour, dashes, escaped(series[i].name));
    }
    return "<p>" + legend + "</p>\n" + picture(kPlotHeight, out);
}

std::string bar_plot(const std::vector<std::pair<std::string, double>>& bars,
                     const std::string& unit) {
    double most = 0;
    for (const auto& [name, value] : bars) {
        most = std::max(most, value);
    }
    constexpr double kRow = 26;
    constexpr double kNames = 220;
    std::string out;
    double at = 4;
    for (const auto& [name, value] : bars) {
        const double wide = most > 0 ? value / most * (kPictureWidth - kNames - 130) : 0;
        out += fmt::format(
            "<text x=\"{0}\" y=\"{1:.0f}\" text-anchor=\"end\">{2}</text>"
            "<rect x=\"{3}\" y=\"{4:.0f}\" width=\"{5:.1f}\" height=\"18\" fill=\"#1f6feb\"/>"
            "<text x=\"{6:.1f}\" y=\"{1:.0f}\">{7:.4g} {8}</text>\n",
            kNames - 8, at + 14, escaped(name), kNames, at, wide, kNames + wide + 6, value,
            escaped(unit));
        at += kRow;
    }
    return picture(at + 4, out);
}

std::optional<std::string> find_idle_json(const std::vector<std::string>& given,
                                          const std::string& html) {
    return html == "-" && std::ranges::find(given, "--json") != given.end()
               ? std::optional<std::string>(
                     "--json changes nothing here: it needs --html with the name of a file")
               : std::nullopt;
}

}  // namespace softib::app
