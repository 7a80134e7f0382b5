// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/plan/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/cli/html_page.h"
#include "app/fabric/term.h"
#include "plan/units.h"

namespace softib::app {

namespace {

constexpr std::size_t kColours = 6;  ///< Classes b0 to b5 and s0 to s5 of the style.

/// The range of a logarithmic axis, from the smallest to the largest value.
struct LogAxis {
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

std::string x_mark(double part, const std::string& text) {
    return fmt::format("<span class=\"x{}\" style=\"left:{:.2f}%\">{}</span>\n",
                       part > 0.97 ? " last" : "", 100 * part, escaped(text));
}

std::string y_mark(double part, const std::string& text) {
    return fmt::format("<span class=\"y\" style=\"bottom:calc({:.2f}% - .5em)\">{}</span>\n",
                       100 * part, escaped(text));
}

std::string grid_line(double part) {
    return fmt::format("<path class=\"grid\" d=\"M0 {0:.1f}H1000\"/>", 1000 * (1 - part));
}

std::string plot_box(const std::string& label, const std::string& lines, const std::string& texts) {
    return fmt::format(
        "<figure class=\"plot\" aria-label=\"{}\"><svg viewBox=\"0 0 1000 1000\" "
        "preserveAspectRatio=\"none\" aria-hidden=\"true\">{}</svg>\n{}</figure>\n",
        escaped(label), lines, texts);
}

/// Returns a path through points whose places are parts of a plot.
std::string path_of(const std::vector<std::pair<double, double>>& points, const char* classes) {
    std::string path;
    for (const auto& [x, y] : points) {
        path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', 1000 * x, 1000 * (1 - y));
    }
    return fmt::format("<path class=\"{}\" d=\"{}\"/>", classes, path);
}

std::string size_marks(const LogAxis& x) {
    std::string out;
    constexpr int kSteps = 6;
    for (int i = 0; i <= kSteps && x.high > x.low; ++i) {
        const double part = static_cast<double>(i) / kSteps;
        out += x_mark(
            part,
            plan::show_size(static_cast<std::uint64_t>(x.low * std::pow(x.high / x.low, part))));
    }
    return out;
}

/// A linear axis with some room at both ends.
struct LinearAxis {
    double low = INFINITY;
    double high = -INFINITY;

    void take(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
    void widen() {
        constexpr double kRoom = 0.07;
        const double room = std::max((high - low) * kRoom, std::abs(high) * 0.01);
        low = low > 0 ? std::max(0.0, low - room) : low - room;
        high += room;
    }
    double place(double value) const { return high <= low ? 0.5 : (value - low) / (high - low); }
};

/// Returns the names of the points of the front that have room for them.
std::string front_tags(const std::vector<ScatterPoint>& points,
                       const std::vector<std::size_t>& front, const LinearAxis& x,
                       const LinearAxis& y) {
    std::string out;
    std::vector<std::pair<double, double>> taken;
    for (const std::size_t i : front) {
        const double at_x = x.place(points[i].x);
        const double at_y = y.place(points[i].y);
        const bool near = std::ranges::any_of(taken, [&](const auto& other) {
            return std::abs(other.second - at_y) < 0.06 && std::abs(other.first - at_x) < 0.35;
        });
        if (!near) {
            taken.emplace_back(at_x, at_y);
            out += fmt::format(
                "<span class=\"tag{}\" style=\"left:{:.2f}%;top:{:.2f}%\">{}</span>\n",
                at_x > 0.6 ? " far" : "", 100 * at_x, 100 * (1 - at_y), escaped(points[i].tag));
        }
    }
    return out;
}

std::string point_html(const ScatterPoint& point, double x, double y, bool best,
                       const ScatterAxes& axes) {
    return fmt::format(
        "<button type=\"button\" class=\"pt{}{}{}\" style=\"left:{:.2f}%;top:{:.2f}%\" "
        "aria-label=\"{}: {} {:.4g}, {} {:.4g}\"><span class=\"tip\"><b>{}</b>{}</span></button>\n",
        best ? " best" : "", x > 0.5 ? " far" : "", y < 0.3 ? " low" : "", 100 * x, 100 * (1 - y),
        escaped(point.name), escaped(axes.x_name), point.x, escaped(axes.y_name), point.y,
        escaped(point.name), escaped(point.detail));
}

}  // namespace

std::vector<Tick> round_ticks(double low, double high) {
    constexpr double kSteps = 5;
    const double rough = (high - low) / kSteps;
    if (!(rough > 0)) {
        return {{0.5, fmt::format("{:.4g}", low)}};
    }
    const double power = std::pow(10, std::floor(std::log10(rough)));
    double step = 10 * power;
    for (const double each : {5.0, 2.0, 1.0}) {
        step = each * power >= rough ? each * power : step;
    }
    std::vector<Tick> ticks;
    for (double at = std::ceil(low / step) * step; at <= high + step * 1e-9; at += step) {
        const double value = std::abs(at) < step * 1e-9 ? 0 : at;
        ticks.push_back({(value - low) / (high - low), fmt::format("{:.6g}", value)});
    }
    return ticks;
}

std::string line_plot(const std::vector<Series>& series, const std::string& unit) {
    LogAxis x;
    LogAxis y;
    for (const Series& each : series) {
        for (const auto& [size, value] : each.points) {
            x.take(size);
            y.take(value);
        }
    }
    if (x.high == 0) {
        return "<p>There is nothing to plot.</p>\n";
    }
    std::string lines;
    std::string texts = size_marks(x);
    for (double value = std::pow(10, std::ceil(std::log10(y.low))); value <= y.high; value *= 10) {
        lines += grid_line(y.place(value));
        texts += y_mark(y.place(value), fmt::format("{:g}", value));
    }
    texts += fmt::format("<span class=\"yname\">{}</span>\n", escaped(unit));
    std::string legend;
    for (std::size_t i = 0; i < series.size(); ++i) {
        // When there are no more colours, they are used again with dashes.
        const std::string classes =
            fmt::format("s{}{}", i % kColours, i < kColours ? "" : " dashed");
        std::vector<std::pair<double, double>> points;
        for (const auto& [size, value] : series[i].points) {
            points.emplace_back(x.place(size), y.place(value));
            texts += fmt::format(
                "<i class=\"dot b{}\" style=\"left:{:.2f}%;top:{:.2f}%\" title=\"{}, {}: {:.4g} "
                "{}\"></i>\n",
                i % kColours, 100 * points.back().first, 100 * (1 - points.back().second),
                escaped(series[i].name), plan::show_size(static_cast<std::uint64_t>(size)), value,
                escaped(unit));
        }
        lines += path_of(points, classes.c_str());
        legend += fmt::format("<li><i class=\"swatch b{}\"></i>{}{}</li>\n", i % kColours,
                              escaped(series[i].name), i < kColours ? "" : " (dashes)");
    }
    return "<ul class=\"legend\">" + legend + "</ul>\n" + plot_box(unit + " by size", lines, texts);
}

std::string share_plot(const std::vector<Series>& series, const std::string& y_name,
                       const std::string& x_name, std::string (*text)(double)) {
    constexpr double kSeen = 0.995;  // The very slowest would press all others together.
    double most = 0;
    for (const Series& each : series) {
        for (const auto& [value, share] : each.points) {
            most = share <= 100 * kSeen ? std::max(most, value) : most;
        }
    }
    std::string lines;
    std::string texts =
        fmt::format("<span class=\"yname\">{}</span><span class=\"xname\">{}</span>",
                    escaped(y_name), escaped(x_name));
    constexpr int kSteps = 5;
    for (int i = 0; i <= kSteps; ++i) {
        const double part = static_cast<double>(i) / kSteps;
        lines += i > 0 ? grid_line(part) : "";
        texts += y_mark(part, fmt::format("{:.0f}", 100 * part)) + x_mark(part, text(part * most));
    }
    std::string legend;
    for (std::size_t i = 0; i < series.size(); ++i) {
        std::vector<std::pair<double, double>> points{{0, 0}};
        for (const auto& [value, share] : series[i].points) {
            if (value <= most) {
                points.emplace_back(value / most, share / 100);
            }
        }
        lines += path_of(points, fmt::format("s{}", i % kColours).c_str());
        legend += fmt::format("<li><i class=\"swatch b{}\"></i>{}</li>\n", i % kColours,
                              escaped(series[i].name));
    }
    return "<ul class=\"legend\">" + legend + "</ul>\n" + plot_box(y_name, lines, texts);
}

std::string bar_plot(const std::vector<std::pair<std::string, double>>& bars,
                     const std::string& unit) {
    double most = 0;
    for (const auto& [name, value] : bars) {
        most = std::max(most, value);
    }
    std::string out;
    for (const auto& [name, value] : bars) {
        out += fmt::format(
            "<span>{}</span><div><i style=\"width:{:.2f}%\"></i><span>{:.4g} {}</span></div>\n",
            escaped(name), most > 0 ? 80 * value / most : 0, value, escaped(unit));
    }
    return "<div class=\"bars\">\n" + out + "</div>\n";
}

std::string stacked_bar(const std::vector<Part>& parts, const Whole& whole) {
    constexpr double kLabelled = 0.075;  ///< The least part with room for its share.
    const double most = std::max({whole.value, whole.high, whole.scale});
    std::string bar;
    std::string names;
    double sum = 0;
    for (const Part& part : parts) {
        if (part.value <= 0) {
            continue;
        }
        const std::string share = fmt::format("{:.1f} %", 100 * part.value / whole.value);
        bar += fmt::format(
            "<span class=\"seg c{}\" style=\"flex:{:.3f} 1 0\" title=\"{}: {}, {}\">{}</span>",
            part.colour, 1000 * part.value / most, escaped(part.name), escaped(part.text), share,
            part.value / most < kLabelled
                ? ""
                : fmt::format("{:.0f} %", 100 * part.value / whole.value));
        names += fmt::format("<li><i class=\"swatch c{}\"></i>{} <b>{}</b></li>\n", part.colour,
                             escaped(part.name), escaped(part.text));
        sum += part.value;
    }
    std::string out = fmt::format("<div class=\"stack\" style=\"width:{:.2f}%\">{}</div>\n",
                                  100 * sum / most, bar);
    if (whole.high > 0) {
        out += fmt::format(
            "<div class=\"whisker\"><i style=\"left:{:.2f}%;right:{:.2f}%\"></i><span>{}</span>"
            "</div>\n",
            100 * whole.low / most, 100 - 100 * whole.high / most, escaped(whole.text));
    }
    return out + "<ul class=\"legend\">" + names + "</ul>\n";
}

std::vector<std::size_t> pareto_front(const std::vector<ScatterPoint>& points,
                                      bool more_is_better) {
    std::vector<std::size_t> order(points.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const double sign = more_is_better ? -1 : 1;
    std::ranges::sort(order, {},
                      [&](std::size_t i) { return std::pair(points[i].x, sign * points[i].y); });
    std::vector<std::size_t> front;
    double best = INFINITY;
    for (const std::size_t i : order) {
        if (sign * points[i].y < best) {
            best = sign * points[i].y;
            front.push_back(i);
        }
    }
    return front;
}

std::string scatter_plot(const std::vector<ScatterPoint>& points, const ScatterAxes& axes) {
    LinearAxis x;
    LinearAxis y;
    for (const ScatterPoint& point : points) {
        x.take(point.x_high > 0 ? point.x_low : point.x);
        x.take(std::max(point.x, point.x_high));
        y.take(point.y);
    }
    if (points.empty()) {
        return "<p>There is nothing to plot.</p>\n";
    }
    x.widen();
    y.widen();
    std::string lines;
    std::string texts;
    for (const Tick& tick : round_ticks(y.low, y.high)) {
        lines += grid_line(tick.part);
        texts += y_mark(tick.part, tick.text);
    }
    for (const Tick& tick : round_ticks(x.low, x.high)) {
        texts += x_mark(tick.part, tick.text);
    }
    texts += fmt::format("<span class=\"yname\">{}</span><span class=\"xname\">{}</span>\n",
                         escaped(axes.y_name), escaped(axes.x_name));
    for (const ScatterPoint& point : points) {
        if (point.x_high > point.x_low) {
            lines += path_of({{x.place(point.x_low), y.place(point.y)},
                              {x.place(point.x_high), y.place(point.y)}},
                             "range");
        }
    }
    const std::vector<std::size_t> front = pareto_front(points, axes.more_is_better);
    std::vector<std::pair<double, double>> steps;
    for (const std::size_t i : front) {
        if (!steps.empty()) {
            steps.emplace_back(x.place(points[i].x), steps.back().second);
        }
        steps.emplace_back(x.place(points[i].x), y.place(points[i].y));
    }
    lines += path_of(steps, "front");
    // Those of the front come last: others may be at the same place.
    for (const bool best : {false, true}) {
        for (std::size_t i = 0; i < points.size(); ++i) {
            if ((std::ranges::find(front, i) != front.end()) == best) {
                texts +=
                    point_html(points[i], x.place(points[i].x), y.place(points[i].y), best, axes);
            }
        }
    }
    return plot_box(axes.y_name + " against " + axes.x_name, lines,
                    texts + front_tags(points, front, x, y));
}

std::optional<std::string> find_idle_json(const std::vector<std::string>& given,
                                          const std::string& html) {
    return html == "-" && std::ranges::find(given, "--json") != given.end()
               ? std::optional<std::string>(
                     "--json changes nothing here: it needs --html with the name of a file")
               : std::nullopt;
}

}  // namespace softib::app
