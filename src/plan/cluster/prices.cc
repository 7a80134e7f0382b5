// SPDX-License-Identifier: BSD-2-Clause
#include "plan/cluster/prices.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

namespace softib::plan {

namespace {

Range find_price(const Prices& prices, std::string_view name) {
    const auto found = std::ranges::find(prices, name, &Price::name);
    return found == prices.end() ? Range{} : Range{found->low, found->high};
}

/// Returns the price of an item of one kind, "gpu_h100", or of all ("gpu") if it has none.
Range price_of_kind(const Prices& prices, const std::string& name, const std::string& kind) {
    std::string own = name + "_";
    std::ranges::transform(kind, std::back_inserter(own), [](char c) {
        return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    });
    const Range range = find_price(prices, own);
    return range != Range{} ? range : find_price(prices, name);
}

const char* cable_price(topo::CableKind kind) {
    switch (kind) {
        case topo::CableKind::kDac:
            return "cable_dac";
        case topo::CableKind::kAcc:
            return "cable_acc";
        case topo::CableKind::kAoc:
            return "cable_aoc";
        case topo::CableKind::kMultiMode:
            return "cable_multi_mode";
        case topo::CableKind::kSingleMode:
            break;
    }
    return "cable_single_mode";
}

void add_line(Bill& bill, std::string what, double count, const Range& each, Range& sum) {
    if (count == 0) {
        return;
    }
    bill.lines.push_back({std::move(what), count, each, each * count});
    sum += each * count;
}

}  // namespace

Bill make_bill(const Cluster& cluster, const topo::Report& report, const Prices& prices) {
    Bill bill;
    const std::string generation = topo::link_speed(cluster.fabric.spec.generation).name;
    const Range port = price_of_kind(prices, "switch_port", generation);
    double ports = 0;
    // A port of a plane costs and consumes its part of one with a NIC's rate. Transceivers and
    // cables have a NIC's rate: each has the links of all planes side by side.
    const std::uint32_t planes = cluster.fabric.planes;
    const std::string of_planes = planes == 1 ? "" : fmt::format(" in {} planes", planes);
    for (const topo::LevelReport& level : report.levels) {
        add_line(bill,
                 fmt::format("switches of level {}{}, {} ports each", level.level, of_planes,
                             level.radix),
                 static_cast<double>(level.switches) * planes,
                 port * (static_cast<double>(level.radix) / planes), bill.network_usd);
        ports += static_cast<double>(level.ports_used);
    }
    add_line(bill, "NICs", static_cast<double>(report.hcas),
             price_of_kind(prices, "nic", generation), bill.network_usd);
    double transceivers = 0;
    for (const topo::CableReport& cable : report.cables) {
        add_line(
            bill,
            fmt::format("{}, {}{}", topo::to_string(cable.rule.kind), cable.between,
                        planes == 1 ? "" : fmt::format(", links of {} planes in each", planes)),
            cable.count, find_price(prices, cable_price(cable.rule.kind)), bill.network_usd);
        if (cable.rule.kind != topo::CableKind::kDac) {
            transceivers += 2.0 * cable.count;
        }
    }
    const Range node = find_price(prices, "node");
    add_line(bill, fmt::format("nodes of {} GPUs", cluster.gpus_per_node), cluster.nodes(),
             node != Range{}
                 ? node
                 : price_of_kind(prices, "gpu", cluster.gpu.name) * cluster.gpus_per_node,
             bill.nodes_usd);
    bill.network_w += find_price(prices, "switch_port_w") * ports;
    bill.network_w += find_price(prices, "nic_w") * static_cast<double>(report.hcas);
    bill.network_w += find_price(prices, "transceiver_w") * transceivers;
    const double node_w = cluster.node_power_w > 0
                              ? cluster.node_power_w
                              : cluster.gpus_per_node * cluster.gpu.power_w * 1.6;
    bill.nodes_w += Range{0.7 * node_w, node_w} * cluster.nodes();
    return bill;
}

Range RunningCost::all() const {
    Range sum = capital;
    sum += energy;
    sum += hosting;
    return sum;
}

RunningCost running_cost(const Bill& bill, std::uint32_t gpus, const Prices& prices) {
    constexpr double kHour = 3600;
    constexpr double kYear = 365.25 * 24 * kHour;
    if (const Range rent = find_price(prices, "gpu_hour"); rent != Range{}) {
        return {.capital = rent * (gpus / kHour)};
    }
    RunningCost cost;
    const Range years = find_price(prices, "depreciation_years");
    if (years.low > 0) {
        // What is used for longer costs less.
        cost.capital = {(bill.nodes_usd.low + bill.network_usd.low) / (years.high * kYear),
                        (bill.nodes_usd.high + bill.network_usd.high) / (years.low * kYear)};
    }
    const Range energy = find_price(prices, "energy_kwh");
    const Range pue = find_price(prices, "pue");
    const Range hosting = find_price(prices, "hosting_kw_month") * (12 / kYear);
    const double kw_low = (bill.nodes_w.low + bill.network_w.low) / 1e3;
    const double kw_high = (bill.nodes_w.high + bill.network_w.high) / 1e3;
    cost.energy = {kw_low * pue.low * energy.low / kHour, kw_high * pue.high * energy.high / kHour};
    cost.hosting = {kw_low * hosting.low, kw_high * hosting.high};
    return cost;
}

}  // namespace softib::plan
