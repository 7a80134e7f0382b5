// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/flow_stage.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace softib::plan {

namespace {

using net::flow::FairRates;
using net::flow::Hop;
using net::flow::kWhole;
using net::flow::Rate;

constexpr double kRatePerByte = net::flow::kWorkPerByte;
/// Flows whose ends differ by less than this part of the time that has passed end at once, so that
/// rates are not computed anew for each.
constexpr double kStretch = 0.01;
/// Rates, in bytes per second, that differ by less than this are the same but for rounding.
constexpr double kSameRate = 64;

/// Numbers the links that take part from 0 on.
class LinkNumbers {
  public:
    explicit LinkNumbers(std::uint32_t links) : numbers_(links, UINT32_MAX) {}
    std::uint32_t of(std::uint32_t link) {
        if (numbers_[link] == UINT32_MAX) {
            numbers_[link] = static_cast<std::uint32_t>(links_.size());
            links_.push_back(link);
        }
        return numbers_[link];
    }
    const std::vector<std::uint32_t>& links() const { return links_; }

  private:
    std::vector<std::uint32_t> numbers_;
    std::vector<std::uint32_t> links_ = {};
};

}  // namespace

std::expected<std::unique_ptr<Stage>, std::string> FlowStage::make(
    topo::Fabric fabric, const net::SimulationOptions& options, double speed_factor) {
    auto start = net::route_at_start(std::move(fabric), options);
    if (!start) {
        return std::unexpected(start.error().message);
    }
    if (start->routed.subnets() > 1) {
        return std::unexpected(
            "collectives on the flow model stay in one subnet: "
            "leave subnets out, or take the model packet");
    }
    return std::unique_ptr<Stage>(new FlowStage(*std::move(start), options, speed_factor));
}

FlowStage::FlowStage(net::StartingRoutes start, const net::SimulationOptions& options,
                     double speed_factor)
    : start_(std::move(start)),
      network_(start_.routed, options.plant, options.hosts.adaptive,
               {.out_block_ps = options.hosts.pcie_block_ps,
                .in_block_ps = options.hosts.pcie_block_ps}),
      wire_{.mtu = options.hosts.mtu,
            .header_bytes = options.hosts.header_bytes,
            .first_header_bytes = options.hosts.first_header_bytes},
      speed_factor_(speed_factor) {}

std::expected<std::uint32_t, std::string> FlowStage::find_way(
    const NicFlow& flow, std::map<WayKey, std::uint32_t>& known, std::vector<Way>& ways) const {
    const WayKey key{network_.leaf_of(flow.from),
                     network_.adaptive() ? network_.leaf_of(flow.to) : flow.to};
    if (const auto found = known.find(key); found != known.end()) {
        return found->second;
    }
    Way way;
    const auto latency = network_.find_way(flow.from, flow.to, way.hops);
    if (!latency) {
        return std::unexpected(no_way(flow));
    }
    way.latency = *latency;
    std::erase_if(way.hops, [&](const Hop& hop) {
        return hop.link == network_.link_of(flow.from) || hop.link == network_.link_to(flow.to);
    });
    const auto number = static_cast<std::uint32_t>(ways.size());
    ways.push_back(std::move(way));
    known[key] = number;
    return number;
}

std::expected<Played, std::string> FlowStage::play(const Flows& flows, double flow_bytes_per_s) {
    Played played{.by_rates = true};
    std::vector<Way> ways;
    std::map<WayKey, std::uint32_t> known;
    std::vector<Moving> moving;
    moving.reserve(flows.size());
    for (const NicFlow& flow : flows) {
        if (flow.from == flow.to) {
            continue;
        }
        const auto way = find_way(flow, known, ways);
        if (!way) {
            return std::unexpected(way.error());
        }
        const auto bytes = static_cast<double>(std::max<std::uint64_t>(flow.bytes, 1));
        const auto wire = static_cast<double>(wire_.bytes_of(flow.bytes));
        moving.push_back({.out = network_.link_of(flow.from),
                          .in = network_.link_to(flow.to),
                          .way = *way,
                          .left = wire,
                          .limit = flow_bytes_per_s / speed_factor_ * wire / bytes});
        played.latency_us =
            std::max(played.latency_us, static_cast<double>(ways[*way].latency) / 1e6);
    }
    double now = 0;
    while (!moving.empty()) {
        share_nics(moving);
        if (!carries(moving, ways)) {
            share_switches(moving, ways);
        }
        double first = INFINITY;
        for (const Moving& each : moving) {
            first = std::min(first, each.left / each.rate);
        }
        const double until = first + kStretch * (now + first);
        double passed = 0;
        for (const Moving& each : moving) {
            const double takes = each.left / each.rate;
            passed = takes <= until ? std::max(passed, takes) : passed;
        }
        std::erase_if(moving,
                      [until](const Moving& each) { return each.left / each.rate <= until; });
        for (Moving& each : moving) {
            each.left -= each.rate * passed;
        }
        now += passed;
    }
    played.us = now / speed_factor_ * 1e6;
    return played;
}

/// Returns the rate of all flows if it is the same for all as far as NICs limit them: each flow is
/// on one of the NICs that have the least for each of their flows.
std::optional<double> FlowStage::common_rate(const std::vector<Moving>& moving) const {
    std::vector<std::uint32_t> flows(network_.link_count(), 0);
    for (const Moving& each : moving) {
        ++flows[each.out];
        ++flows[each.in];
    }
    const auto level = [&](std::uint32_t link) { return network_.capacity(link) / flows[link]; };
    Rate least = level(moving.front().out);
    for (const Moving& each : moving) {
        least = std::min({least, level(each.out), level(each.in)});
    }
    const bool common = std::ranges::all_of(moving, [&](const Moving& each) {
        return level(each.out) == least || level(each.in) == least;
    });
    return common ? std::optional(static_cast<double>(least) / kRatePerByte) : std::nullopt;
}

/// Sets the rate of each flow to what it would have if only NICs limited it.
void FlowStage::share_nics(std::vector<Moving>& moving) const {
    if (const auto rate = common_rate(moving)) {
        for (Moving& each : moving) {
            each.rate = each.limit > 0 ? std::min(*rate, each.limit) : *rate;
        }
        return;
    }
    LinkNumbers numbers(network_.link_count());
    for (const Moving& each : moving) {
        numbers.of(each.out);
        numbers.of(each.in);
    }
    std::vector<Rate> capacities;
    for (const std::uint32_t link : numbers.links()) {
        capacities.push_back(network_.capacity(link));
    }
    FairRates rates(std::move(capacities));
    std::vector<FairRates::FlowId> ids;
    for (const Moving& each : moving) {
        const Hop way[]{{numbers.of(each.out), kWhole}, {numbers.of(each.in), kWhole}};
        ids.push_back(rates.add(way));
    }
    for (const FairRates::FlowId id : ids) {
        rates.set_weight(id, 1);
    }
    rates.solve(0);
    for (std::size_t i = 0; i < moving.size(); ++i) {
        const double rate = static_cast<double>(rates.rate(ids[i])) / kRatePerByte;
        moving[i].rate = moving[i].limit > 0 ? std::min(rate, moving[i].limit) : rate;
    }
}

/// Returns whether the links between switches can carry these rates.
bool FlowStage::carries(const std::vector<Moving>& moving, const std::vector<Way>& ways) const {
    std::vector<double> sent(ways.size(), 0);  // By way.
    for (const Moving& each : moving) {
        sent[each.way] += each.rate;
    }
    std::vector<double> loads(network_.link_count(), 0);
    for (std::size_t way = 0; way < ways.size(); ++way) {
        for (const Hop& hop : ways[way].hops) {
            loads[hop.link] += sent[way] * hop.share / kWhole;
        }
    }
    for (std::uint32_t link = 0; link < loads.size(); ++link) {
        constexpr double kRounding = 1 + 1e-6;
        if (loads[link] * kRatePerByte > static_cast<double>(network_.capacity(link)) * kRounding) {
            return false;
        }
    }
    return true;
}

/// Lowers rates to what the links between switches can carry. The solver sees flows of one Way with
/// the same rate as one flow, whose weight is their number; a link of its own limits it to their
/// rate.
void FlowStage::share_switches(std::vector<Moving>& moving, const std::vector<Way>& ways) const {
    std::vector<std::uint32_t> order(moving.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto key = [&moving](std::uint32_t i) {
        return std::pair(moving[i].way, std::floor(moving[i].rate / kSameRate));
    };
    std::ranges::sort(order, {}, key);
    struct Bundle {
        std::size_t first;
        std::size_t last;
        FairRates::FlowId id;
    };
    LinkNumbers numbers(network_.link_count());
    std::vector<Bundle> bundles;
    for (std::size_t first = 0; first < order.size();) {
        std::size_t last = first + 1;
        while (last < order.size() && key(order[last]) == key(order[first])) {
            ++last;
        }
        const std::vector<Hop>& hops = ways[moving[order[first]].way].hops;
        if (!hops.empty()) {
            bundles.push_back({first, last, 0});
        }
        for (const Hop& hop : hops) {
            numbers.of(hop.link);
        }
        first = last;
    }
    std::vector<Rate> capacities;
    for (const std::uint32_t link : numbers.links()) {
        capacities.push_back(network_.capacity(link));
    }
    // The link that limits a bundle: it takes one part in kWhole of it, so that the product of rate
    // and weight stays small.
    const auto own = static_cast<std::uint32_t>(capacities.size());
    for (const Bundle& bundle : bundles) {
        capacities.push_back(
            static_cast<Rate>(moving[order[bundle.first]].rate * kRatePerByte / kWhole *
                              static_cast<double>(bundle.last - bundle.first)) +
            1);
    }
    FairRates rates(std::move(capacities));
    for (std::uint32_t i = 0; i < bundles.size(); ++i) {
        std::vector<Hop> way = ways[moving[order[bundles[i].first]].way].hops;
        for (Hop& hop : way) {
            hop.link = numbers.of(hop.link);
        }
        way.push_back({own + i, 1});
        bundles[i].id = rates.add(way);
    }
    for (const Bundle& bundle : bundles) {
        rates.set_weight(bundle.id, static_cast<std::uint32_t>(bundle.last - bundle.first));
    }
    rates.solve(0);
    for (const Bundle& bundle : bundles) {
        const double rate = static_cast<double>(rates.rate(bundle.id)) / kRatePerByte;
        for (std::size_t i = bundle.first; i < bundle.last; ++i) {
            moving[order[i]].rate = std::min(moving[order[i]].rate, rate);
        }
    }
}

}  // namespace softib::plan
