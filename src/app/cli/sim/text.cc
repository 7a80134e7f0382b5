// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>

#include "app/cli/sim/write.h"
#include "app/fabric/term.h"
#include "plan/units.h"

namespace softib::app::sim {

namespace {

using plan::show_rate;
using plan::show_time;

constexpr int kWaitColumn = 4;  ///< Index of XmitWait among the columns of links.

std::string percent(double part) {
    return fmt::format("{:.0f} %", 100 * part);
}

std::string micro(double us) {
    return show_time(static_cast<plan::TimePs>(us * 1e6));
}

std::string head(const run::Report& report) {
    const plan::Results& results = report.results;
    std::string text = fmt::format("{}: routes by {}, {}\n", painted(report.title, Colour::kBold),
                                   report.engine, report.network);
    const double done =
        static_cast<double>(report.has_packets() ? results.stats.hops : results.stats.events);
    text += fmt::format("{} of virtual time; {:.3g} million {} in {:.2f} s",
                        show_time(results.duration), done / 1e6,
                        report.has_packets() ? "hops" : "events", report.cpu_seconds);
    if (report.cpu_seconds > 0.01) {
        text += fmt::format(" ({:.1f} million a second)", done / 1e6 / report.cpu_seconds);
    }
    text += fmt::format("; seed {}, log {:016x}\n", report.seed, results.stats.log_hash);
    if (!report.has_packets()) {
        text += fmt::format("{}\n", run::kNoPackets);
    }
    if (report.stopped) {
        text += painted("stopped before the end: these are the results so far\n", Colour::kYellow);
    }
    return text;
}

std::string traffics(const plan::Results& results) {
    Table table({"TRAFFIC", "SENDERS", "MESSAGE", "DELIVERED", "TIME", "TOGETHER", "PER SENDER",
                 "OF LINK"});
    for (const plan::TrafficResult& each : results.traffics) {
        const double sender = each.senders == 0 ? 0 : each.gbps / static_cast<double>(each.senders);
        std::string done = fmt::format("{}/{}", each.delivered, each.messages);
        table.row({each.pattern, std::to_string(each.senders), plan::show_size(each.message_bytes),
                   each.delivered == each.messages ? done : painted(done, Colour::kYellow),
                   show_time(each.duration()), show_rate(each.gbps), show_rate(sender),
                   results.link_gbps == 0 ? "" : percent(sender / results.link_gbps)});
    }
    return table.text();
}

/// Returns a histogram of a distribution as a line of characters: the darker, the more values, from
/// the smallest value to the largest.
std::string shades(const plan::Distribution& of) {
    constexpr std::uint32_t kBins = 16;
    constexpr std::string_view kShades = " .:-=+*#@";
    std::uint64_t most = 1;
    const auto bins = of.histogram(kBins);
    for (const plan::Distribution::Bin& bin : bins) {
        most = std::max(most, bin.count);
    }
    std::string text = "|";
    for (const plan::Distribution::Bin& bin : bins) {
        text += kShades[(bin.count * (kShades.size() - 1) + most - 1) / most];
    }
    return text + "|";
}

std::string completions(const plan::Results& results) {
    Table table({"COMPLETION", "MIN", "MEDIAN", "90 %", "99 %", "MAX", "HISTOGRAM", "GOT 1 %",
                 "MEDIAN", "MEAN"});
    for (const plan::TrafficResult& each : results.traffics) {
        const plan::Distribution& us = each.completion_us;
        if (us.empty()) {
            continue;
        }
        table.row({each.pattern, micro(us.min()), micro(us.percentile(50)),
                   micro(us.percentile(90)), micro(us.percentile(99)), micro(us.max()), shades(us),
                   show_rate(each.message_gbps.percentile(1)),
                   show_rate(each.message_gbps.percentile(50)),
                   show_rate(each.message_gbps.mean())});
    }
    return table.text();
}

std::string links(const run::Report& report) {
    const plan::Results& results = report.results;
    if (results.busiest.empty()) {
        return "";
    }
    std::vector<std::string> header{"LINK", "TO", "USE", "FULL", "FLOWS", "CARRIES"};
    if (report.has_packets()) {
        header.insert(header.begin() + kWaitColumn, "XMITWAIT");
    }
    Table table(header);
    for (const std::uint32_t i : results.busiest) {
        const plan::LinkResult& link = results.links[i];
        const Colour colour = link.full >= 0.5   ? Colour::kRed
                              : link.wait >= 0.2 ? Colour::kYellow
                                                 : Colour::kNone;
        std::vector<std::string> row{painted(link.name, colour),  link.peer,
                                     percent(link.use),           percent(link.full),
                                     run::flows_on(report, link), show_rate(link.gbps)};
        if (report.has_packets()) {
            row.insert(row.begin() + kWaitColumn, percent(link.wait));
        }
        table.row(std::move(row));
    }
    return table.text();
}

}  // namespace

std::string basis_text(std::span<const std::string> basis) {
    std::string text = basis.empty() ? "" : "\n";
    for (const std::string& sentence : basis) {
        text += fmt::format("- {}\n", sentence);
    }
    return text;
}

std::string to_text(const run::Report& report) {
    const plan::Results& results = report.results;
    std::string text = head(report) + "\n" + traffics(results) + "\n" + completions(results);
    if (const std::string busy = links(report); !busy.empty()) {
        text += "\n" + busy;
    }
    if (!results.trees.empty()) {
        text += "\n";
        for (const plan::CongestionTree& tree : results.trees) {
            text += tree.text + "\n";
        }
    }
    for (const std::string& note : report.notes) {
        text += painted("note: ", Colour::kYellow) + note + "\n";
    }
    const net::ModelStats& stats = results.stats;
    if (stats.discarded + stats.lost != 0) {
        text += fmt::format("{} packets were discarded and {} lost; {} were sent again\n",
                            stats.discarded, stats.lost, stats.resent);
    }
    if (stats.routed != 0) {
        text += fmt::format("{} packets went from subnet to subnet\n", stats.routed);
    }
    if (stats.marked != 0) {
        text += report.roce ? fmt::format("{} packets were marked (ECN), and senders got {} CNPs\n",
                                          stats.marked, stats.notifications)
                            : fmt::format("{} packets were marked (FECN)\n", stats.marked);
    }
    if (stats.pauses != 0) {
        text += fmt::format("{} pause frames were sent (PFC)\n", stats.pauses);
    }
    if (stats.context_misses != 0) {
        text += fmt::format("{} packets found their connection's state not in the adapter\n",
                            stats.context_misses);
    }
    return text + basis_text(report.basis);
}

}  // namespace softib::app::sim
