// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A verifier's report as text, for messages of tests.

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "core/routing/graph.h"
#include "core/routing/verifier.h"

namespace softib::routing {

inline std::string channel_text(const Graph& graph, Channel channel) {
    return fmt::format("{} port {} VL {}", to_string(graph.guid(graph.source(channel.link))),
                       graph.links()[channel.link].port, channel.vl);
}

inline void render_reach(const Graph& graph, const Reachability& reach,
                         std::vector<std::string>& lines) {
    if (reach.lost == 0) {
        lines.push_back(fmt::format("{} pairs of end ports reach each other, at most {} hops",
                                    reach.pairs, reach.hops_max));
    } else {
        lines.push_back(
            fmt::format("{} of {} pairs of end ports do not reach each other, {} of "
                        "them because of a loop",
                        reach.lost, reach.pairs, reach.looping));
    }
    for (const Fault& fault : reach.examples) {
        lines.push_back(fmt::format("  from switch {} to LID {}: {}",
                                    to_string(graph.guid(fault.sw)), fault.lid.value,
                                    fault.loop ? "runs in a circle" : "no path"));
    }
    if (reach.choices_lost != 0) {
        lines.push_back(fmt::format("{} choices of switches lead nowhere", reach.choices_lost));
    }
    if (reach.apart != 0) {
        lines.push_back(fmt::format("{} pairs are not joined by cables", reach.apart));
    }
    if (reach.switch_pairs_lost != 0) {
        lines.push_back(
            fmt::format("{} pairs of switches do not reach each other", reach.switch_pairs_lost));
    }
}

/// Returns the report as text, with one fact per line.
inline std::vector<std::string> render(const Graph& graph, const Report& report) {
    std::vector<std::string> lines;
    render_reach(graph, report.reach, lines);
    if (report.discarded != 0) {
        lines.push_back(
            fmt::format("at {} hops a switch has no lane for the service level", report.discarded));
    }
    if (report.acyclic()) {
        lines.push_back(
            fmt::format("no credit loop among {} channel dependencies", report.dependencies));
    } else {
        lines.push_back(fmt::format("credit loop of {} channels:", report.cycle.size()));
        for (const Channel& channel : report.cycle) {
            lines.push_back("  " + channel_text(graph, channel));
        }
    }
    if (report.one_way_sls != 0) {
        lines.push_back(
            fmt::format("{} pairs of switches have different service levels in the two directions",
                        report.one_way_sls));
    }
    const LinkLoad& load = report.load;
    lines.push_back(fmt::format(
        "all to all: {} to {} flows per link, {:.1f} on average, {} of {} links unused, balance "
        "{:.2f}",
        load.min, load.max, load.mean, load.unused, load.links, load.balance));
    for (const auto& [name, contention] :
         {std::pair("shift", report.shifts), std::pair("random", report.random)}) {
        if (contention.tried != 0) {
            lines.push_back(
                fmt::format("{} {} permutations: {:.2f} flows on the busiest link, {} "
                            "at worst",
                            contention.tried, name, contention.mean, contention.worst));
        }
    }
    return lines;
}

}  // namespace softib::routing
