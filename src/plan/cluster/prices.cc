// SPDX-License-Identifier: BSD-2-Clause
#include "plan/cluster/prices.h"

#include <fmt/format.h>

#include <algorithm>

namespace softib::plan {

namespace {

Range find_price(const Prices& prices, std::string_view name) {
    const auto found = std::ranges::find(prices, name, &Price::name);
    return found == prices.end() ? Range{} : Range{found->low, found->high};
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
                 find_price(prices, "switch_port") * (static_cast<double>(level.radix) / planes),
                 bill.network_usd);
        ports += static_cast<double>(level.ports_used);
    }
    add_line(bill, "NICs", static_cast<double>(report.hcas), find_price(prices, "nic"),
             bill.network_usd);
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
             node != Range{} ? node : find_price(prices, "gpu") * cluster.gpus_per_node,
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

}  // namespace softib::plan
