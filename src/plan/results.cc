// SPDX-License-Identifier: BSD-2-Clause
#include "plan/results.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace softib::plan {

namespace {

constexpr double kPsPerUs = 1e6;

/// Returns the rate of `bytes` in `time`, in Gb/s.
double rate_gbps(std::uint64_t bytes, TimePs time) {
    return time == 0 ? 0 : static_cast<double>(bytes) * 8000 / static_cast<double>(time);
}

TrafficResult summarise_traffic(const Player& player, std::uint32_t number) {
    const Schedule& schedule = player.schedules()[number];
    TrafficResult result{.pattern = to_string(schedule.traffic().pattern),
                         .senders = schedule.sender_count(),
                         .message_bytes = schedule.traffic().bytes,
                         .messages = schedule.messages(),
                         .started_at = kNever};
    std::vector<double> completion_us;
    std::vector<double> gbps;
    for (const MessageRecord& message : player.messages()) {
        if (message.traffic != number) {
            continue;
        }
        result.started_at = std::min(result.started_at, message.started_at);
        result.failed += message.failed ? 1 : 0;
        if (message.delivered_at == kNever) {
            result.unfinished += !message.failed && player.has_begun(message) ? 1U : 0U;
            result.partial_bytes += message.failed ? 0 : message.arrived();
            continue;
        }
        ++result.delivered;
        result.bytes += message.bytes;
        result.finished_at = std::max(result.finished_at, message.delivered_at);
        const TimePs took = message.delivered_at - message.started_at;
        completion_us.push_back(static_cast<double>(took) / kPsPerUs);
        if (took != 0) {
            gbps.push_back(rate_gbps(message.bytes, took));
        }
    }
    const std::uint64_t begun = result.delivered + result.failed + result.unfinished;
    result.not_begun = result.messages - std::min(result.messages, begun);
    result.bytes += result.partial_bytes;
    result.ended_at = result.done() ? result.finished_at : player.model().now();
    result.gbps = rate_gbps(result.bytes, result.duration());
    result.completion_us = Distribution(std::move(completion_us));
    result.message_gbps = Distribution(std::move(gbps));
    return result;
}

std::vector<Flow> list_flows(const Player& player) {
    std::vector<Flow> flows;
    flows.reserve(player.messages().size());
    for (const MessageRecord& message : player.messages()) {
        if (message.from != message.to) {
            flows.push_back({message.from, message.to});
        }
    }
    std::ranges::sort(flows);
    flows.erase(std::ranges::unique(flows).begin(), flows.end());
    return flows;
}

LinkResult summarise_link(const topo::Fabric& fabric, const net::LinkLoad& load, TimePs duration,
                          std::uint32_t flows) {
    const auto part = [&](TimePs time) {
        return duration == 0
                   ? 0
                   : std::min(1.0, static_cast<double>(time) / static_cast<double>(duration));
    };
    const auto is_host = [&](const net::Hop& hop) {
        return fabric.nodes[hop.node].kind != topo::NodeKind::kSwitch;
    };
    return {.name = name_of(fabric, load.at),
            .peer = name_of(fabric, load.peer),
            .use = part(load.busy_ps),
            .wait = part(load.wait_ps),
            // A host always has its next packet waiting for the cable, which is no congestion.
            .full = is_host(load.at) ? 0 : part(load.full_ps),
            .gbps = rate_gbps(load.bytes, duration),
            .host = is_host(load.at) || is_host(load.peer),
            .flows = flows,
            .load = load};
}

std::vector<std::uint32_t> rank_links(const std::vector<LinkResult>& links, std::uint32_t most) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < links.size(); ++i) {
        if (links[i].load.bytes != 0) {
            order.push_back(i);
        }
    }
    std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t i) {
        return std::pair(std::max(links[i].full, links[i].wait), links[i].use);
    });
    order.resize(std::min<std::size_t>(order.size(), most));
    return order;
}

}  // namespace

Results summarise(const Player& player, const topo::Fabric& fabric, const Ends& ends,
                  const ResultOptions& options) {
    Results results;
    bool all_done = true;
    for (std::uint32_t i = 0; i < player.schedules().size(); ++i) {
        results.traffics.push_back(summarise_traffic(player, i));
        results.duration = std::max(results.duration, results.traffics.back().finished_at);
        all_done &= results.traffics.back().done();
    }
    // A message that is given up has loaded links until then.
    for (const MessageRecord& message : player.messages()) {
        results.duration = std::max(results.duration, message.failed ? message.ended_at : 0);
    }
    if (!all_done) {
        results.duration = player.model().now();
    }
    const std::vector<net::LinkLoad> loads = player.model().links();
    const FlowPaths paths(player.model(), loads, list_flows(player), options.adaptive);
    for (std::size_t i = 0; i < loads.size(); ++i) {
        results.links.push_back(
            summarise_link(fabric, loads[i], results.duration, paths.flows_on()[i]));
        if (fabric.nodes[loads[i].at.node].kind != topo::NodeKind::kSwitch) {
            results.link_gbps = std::max(results.link_gbps, loads[i].gbps);
        }
    }
    results.busiest = rank_links(results.links, options.busiest_max);
    results.trees = find_trees(fabric, ends, loads, paths, results.duration);
    results.stats = player.model().stats();
    return results;
}

Totals total_of(const Results& results) {
    Totals totals;
    std::uint64_t bytes = 0;
    TimePs started_at = kNever;
    TimePs ended_at = 0;
    std::vector<double> completion_us;
    std::vector<double> gbps;
    for (const TrafficResult& traffic : results.traffics) {
        totals.messages += traffic.messages;
        totals.delivered += traffic.delivered;
        totals.failed += traffic.failed;
        totals.done &= traffic.done();
        bytes += traffic.bytes;
        started_at = std::min(started_at, traffic.started_at);
        ended_at = std::max(ended_at, traffic.ended_at);
        std::ranges::copy(traffic.completion_us.values(), std::back_inserter(completion_us));
        std::ranges::copy(traffic.message_gbps.values(), std::back_inserter(gbps));
    }
    if (totals.delivered == totals.messages) {
        totals.finished_us = static_cast<double>(ended_at) / kPsPerUs;
    }
    totals.gbps = rate_gbps(bytes, ended_at - std::min(started_at, ended_at));
    totals.completion_us = Distribution(std::move(completion_us));
    totals.message_gbps = Distribution(std::move(gbps));
    return totals;
}

}  // namespace softib::plan
