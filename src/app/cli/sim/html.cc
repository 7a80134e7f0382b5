// SPDX-License-Identifier: BSD-2-Clause
// A report as one page of HTML, which loads no script, no font and no picture.
#include <fmt/format.h>

#include <algorithm>

#include "app/cli/html_page.h"
#include "app/cli/sim/write.h"
#include "plan/units.h"

namespace softib::app::sim {

namespace {

constexpr double kHeight = 260;
constexpr double kLeft = 60;
constexpr double kBottom = 30;

std::string micro_text(double us) {
    return plan::show_time(static_cast<plan::TimePs>(us * 1e6));
}

std::string percent_text(double part) {
    return fmt::format("{:.0f} %", 100 * part);
}

/// Returns the axes of a plot over time, from 0 to `max_us`.
std::string axes(double max_us, const char* vertical) {
    return fmt::format(
               "<path class=\"axis\" d=\"M{0} 10V{1}H{2}\"/>\n"
               "<text x=\"4\" y=\"20\">{3}</text>\n",
               kLeft, kHeight - kBottom, kPictureWidth - 10, vertical) +
           axis_marks(kLeft, kPictureWidth - 40, kHeight - 8, 5,
                      [&](double part) { return part == 0 ? "0" : micro_text(part * max_us); });
}

struct Curve {
    std::string name;
    plan::Distribution us;
};

/// Returns a plot of the part of messages that were complete, over the time that they took.
std::string completion_plot(const std::vector<Curve>& curves) {
    double max_us = 0;
    for (const Curve& each : curves) {
        max_us = std::max(max_us, each.us.max());
    }
    if (max_us == 0) {
        return "<p>No message was delivered.</p>\n";
    }
    std::string out = axes(max_us, "100 %");
    const double high = kHeight - kBottom - 10;
    for (std::size_t i = 0; i < curves.size(); ++i) {
        const plan::Distribution& us = curves[i].us;
        const char* const colour = kPageColours[i % kPageColours.size()];
        std::vector<std::pair<double, double>> points;
        constexpr int kPoints = 200;
        for (int point = 0; point <= kPoints && !us.empty(); ++point) {
            const double part = static_cast<double>(point) / kPoints;
            points.emplace_back(
                kLeft + us.percentile(100 * part) / max_us * (kPictureWidth - kLeft - 40),
                kHeight - kBottom - part * high);
        }
        out += curve(points, colour) +
               fmt::format("<text x=\"{}\" y=\"{}\" style=\"fill:{}\">{}</text>\n", kLeft + 12,
                           26 + 16 * static_cast<int>(i), colour, escaped(curves[i].name));
    }
    return picture(kHeight, out);
}

std::string histogram_plot(const plan::TrafficResult& traffic) {
    constexpr std::uint32_t kBins = 40;
    const auto bins = traffic.completion_us.histogram(kBins);
    std::uint64_t most = 1;
    for (const plan::Distribution::Bin& bin : bins) {
        most = std::max(most, bin.count);
    }
    constexpr double kTall = 120;
    std::string out;
    const double wide =
        (kPictureWidth - 20) / static_cast<double>(std::max<std::size_t>(bins.size(), 1));
    for (std::size_t i = 0; i < bins.size(); ++i) {
        const double high = kTall * static_cast<double>(bins[i].count) / static_cast<double>(most);
        out += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
            "fill=\"#1f6feb\"><title>{} to {}: {}</title></rect>\n",
            10 + wide * static_cast<double>(i), 10 + kTall - high, wide * 0.9, high,
            micro_text(bins[i].from), micro_text(bins[i].to), bins[i].count);
    }
    if (!bins.empty()) {
        out += fmt::format(
            "<text x=\"10\" y=\"{0}\">{1}</text>"
            "<text x=\"{2}\" y=\"{0}\" text-anchor=\"end\">{3}</text>\n",
            kTall + 28, micro_text(bins.front().from), kPictureWidth - 10,
            micro_text(bins.back().to));
    }
    return picture(kTall + 36, out);
}

/// Returns a strip of cells for all links; the redder a cell, the busier its link. If there are
/// many links, several share a cell, which has the colour of the busiest.
std::string heat_strip(const plan::Results& results, bool hosts) {
    std::vector<const plan::LinkResult*> links;
    for (const plan::LinkResult& link : results.links) {
        if (link.host == hosts) {
            links.push_back(&link);
        }
    }
    constexpr std::size_t kCellsMax = 2000;
    constexpr std::size_t kColumns = 100;
    const std::size_t each = std::max<std::size_t>((links.size() + kCellsMax - 1) / kCellsMax, 1);
    constexpr double kCell = (kPictureWidth - 20) / kColumns;
    std::string out;
    std::size_t cell = 0;
    for (std::size_t first = 0; first < links.size(); first += each, ++cell) {
        const auto end =
            links.begin() + static_cast<std::ptrdiff_t>(std::min(first + each, links.size()));
        const auto busiest = std::max_element(
            links.begin() + static_cast<std::ptrdiff_t>(first), end,
            [](const plan::LinkResult* a, const plan::LinkResult* b) { return a->use < b->use; });
        out += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
            "class=\"cell\" fill=\"red\" fill-opacity=\"{:.2f}\"><title>{} to {}: "
            "{}</title></rect>\n",
            10 + kCell * static_cast<double>(cell % kColumns),
            5 + kCell * static_cast<double>(cell / kColumns), kCell, kCell,
            std::clamp((*busiest)->use, 0.0, 1.0), escaped((*busiest)->name),
            escaped((*busiest)->peer), percent_text((*busiest)->use));
    }
    const double rows = static_cast<double>((cell + kColumns - 1) / kColumns);
    return picture(10 + kCell * std::max(rows, 1.0), out);
}

std::string traffic_table(const plan::Results& results) {
    std::vector<Cells> rows;
    for (const plan::TrafficResult& each : results.traffics) {
        rows.push_back({each.pattern, std::to_string(each.senders),
                        plan::show_size(each.message_bytes),
                        fmt::format("{} of {}", each.delivered, each.messages),
                        plan::show_time(each.duration()), plan::show_rate(each.gbps),
                        micro_text(each.completion_us.percentile(50)),
                        micro_text(each.completion_us.percentile(99)),
                        plan::show_rate(each.message_gbps.mean())});
    }
    return page_table({"traffic", "senders", "message", "delivered", "time", "together", "median",
                       "99 %", "per message"},
                      rows);
}

std::string link_table(const run::Report& report) {
    const plan::Results& results = report.results;
    std::vector<Cells> rows;
    for (const std::uint32_t i : results.busiest) {
        const plan::LinkResult& link = results.links[i];
        rows.push_back({link.name, link.peer, percent_text(link.use), percent_text(link.full),
                        report.has_packets() ? percent_text(link.wait) : "?",
                        run::flows_on(report, link), plan::show_rate(link.gbps)});
    }
    return page_table({"link", "to", "use", "full", "XmitWait", "flows", "carries"}, rows);
}

std::string sentences(const run::Report& report) {
    std::string out;
    for (const plan::CongestionTree& tree : report.results.trees) {
        out += fmt::format("<li>{}</li>\n", escaped(tree.text));
    }
    return out.empty() ? "<p>No link was full for long.</p>\n" : "<ul>\n" + out + "</ul>\n";
}

}  // namespace

std::string basis_html(std::span<const std::string> basis) {
    std::string out = basis.empty() ? "" : "<h2>What the figures are worth</h2>\n";
    for (const std::string& sentence : basis) {
        out += fmt::format("<p class=\"note\">{}</p>\n", escaped(sentence));
    }
    return out;
}

std::string to_html(const run::Report& report) {
    const plan::Results& results = report.results;
    std::string out = page_head(report.title);
    out += fmt::format(
        "<p>Routes by {}, {}; {} of virtual time, {} {}, seed {}, log {:016x}.</p>\n",
        escaped(report.engine), escaped(report.network), plan::show_time(results.duration),
        report.has_packets() ? results.stats.hops : results.stats.events,
        report.has_packets() ? "packets on cables" : "events", report.seed, results.stats.log_hash);
    if (!report.has_packets()) {
        out += fmt::format("<p class=\"note\">{}</p>\n", run::kNoPackets);
    }
    if (report.stopped) {
        out += "<p class=\"note\">The run was stopped before its end.</p>\n";
    }
    for (const std::string& note : report.notes) {
        out += fmt::format("<p class=\"note\">{}</p>\n", escaped(note));
    }
    out += "<h2>Traffic</h2>\n" + traffic_table(results);
    std::vector<Curve> curves;
    for (const plan::TrafficResult& each : results.traffics) {
        curves.push_back({each.pattern, each.completion_us});
    }
    out += "<h2>Messages done after a time</h2>\n" + completion_plot(curves);
    for (const plan::TrafficResult& each : results.traffics) {
        out += fmt::format("<h2>Completion times of {}</h2>\n", escaped(each.pattern)) +
               histogram_plot(each);
    }
    out += "<h2>What was in the way</h2>\n" + sentences(report);
    out += "<h2>Busiest links</h2>\n" + link_table(report);
    out +=
        "<h2>Use of links between switches</h2>\n"
        "<p>A cell is a link, the redder the busier; point at one to see its name.</p>\n" +
        heat_strip(results, false);
    out += "<h2>Use of links of hosts</h2>\n" + heat_strip(results, true);
    return out + basis_html(report.basis) + page_foot();
}

std::string to_html(const run::Comparison& comparison) {
    std::string out = page_head(comparison.title) + "<ul>\n";
    std::vector<Curve> curves;
    for (const run::Compared& each : comparison.variants) {
        out += fmt::format("<li>{}: routes by {}, {}</li>\n", escaped(each.name),
                           escaped(each.report.engine), escaped(each.report.network));
        curves.push_back({each.name, run::figures_of(each.report).totals.completion_us});
    }
    out += "</ul>\n<h2>Side by side</h2>\n" + page_table(run::comparison_rows(comparison)) +
           "<h2>Messages done after a time</h2>\n" + completion_plot(curves);
    for (const run::Compared& each : comparison.variants) {
        out += fmt::format("<h2>{}: what was in the way</h2>\n", escaped(each.name)) +
               sentences(each.report);
        for (const std::string& note : each.report.notes) {
            out += fmt::format("<p class=\"note\">{}</p>\n", escaped(note));
        }
        out += "<h3>Use of links between switches</h3>\n" + heat_strip(each.report.results, false);
    }
    return out + basis_html(basis_of(comparison)) + page_foot();
}

}  // namespace softib::app::sim
