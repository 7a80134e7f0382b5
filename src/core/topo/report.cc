// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/topo/subnets.h"

namespace softib::topo {

namespace {

std::string side_of(const Node& node) {
    return node.kind == NodeKind::kSwitch ? fmt::format("level {}", node.level)
           : node.kind == NodeKind::kHca  ? std::string("hosts")
                                          : std::string("routers");
}

std::vector<LevelReport> count_switches(const Fabric& fabric) {
    std::map<std::uint32_t, LevelReport> levels;
    for (const Node& node : fabric.nodes) {
        if (node.kind != NodeKind::kSwitch) {
            continue;
        }
        LevelReport& level = levels[node.level];
        level.level = node.level;
        ++level.switches;
        const auto ports = static_cast<std::uint32_t>(node.ports.size() - 1);
        level.radix = std::max(level.radix, ports);
        level.ports += ports;
        level.ports_used += static_cast<std::uint64_t>(std::ranges::count_if(
            node.ports, [](const PortLink& link) { return link.peer != kNoNode; }));
    }
    std::vector<LevelReport> result;
    for (const auto& [level, report] : levels) {
        result.push_back(report);
    }
    return result;
}

std::vector<CableReport> count_cables(const Fabric& fabric, const FloorPlan& plan,
                                      const std::vector<std::uint32_t>& racks) {
    // The key has the reach, so that the table begins with cables of the shortest reach.
    using Key = std::tuple<std::string, Generation, Width, std::uint32_t>;
    std::map<Key, CableReport> found;
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        const Node& node = fabric.nodes[i];
        for (std::size_t port = 1; port < node.ports.size(); ++port) {
            const PortLink& link = node.ports[port];
            // Each cable counts once, at the end that comes first.
            if (link.peer == kNoNode ||
                std::pair(link.peer.value, std::size_t{link.peer_port.value}) <
                    std::pair(i, port)) {
                continue;
            }
            const std::uint32_t length = cable_length_cm(plan, racks[i], racks[link.peer.value]);
            const CableRule& rule = cable_for(link.generation, length);
            const auto [low, high] = std::minmax({side_of(node), side_of(fabric.node(link.peer))});
            const std::string between = high == low ? "inside " + low : low + " and " + high;
            CableReport& report = found[Key(between, link.generation, link.width, rule.reach_cm)];
            report.between = between;
            report.generation = link.generation;
            report.width = link.width;
            report.rule = rule;
            ++report.count;
            report.length_cm += length;
            report.longest_cm = std::max(report.longest_cm, length);
        }
    }
    std::vector<CableReport> result;
    for (const auto& [key, report] : found) {
        result.push_back(report);
    }
    return result;
}

std::vector<LidBudget> count_lids(const Fabric& fabric, std::uint8_t lmc) {
    std::vector<LidBudget> subnets(subnet_count(fabric), LidBudget{.lmc = lmc});
    for (const Node& node : fabric.nodes) {
        LidBudget& subnet = subnets[node.subnet.value];
        ++(node.kind == NodeKind::kHca      ? subnet.hca_ports
           : node.kind == NodeKind::kSwitch ? subnet.switches
                                            : subnet.routers);
    }
    return subnets;
}

std::string render_lids(const Report& report) {
    std::string text;
    for (std::size_t i = 0; i < report.subnets.size(); ++i) {
        const LidBudget& lids = report.subnets[i];
        text += fmt::format("LIDs       {}{} of {} with LMC {} ({})\n",
                            report.subnets.size() == 1 ? "" : fmt::format("subnet {}: ", i),
                            lids.used(lids.lmc), LidBudget::kLimit, lids.lmc,
                            lids.fits() ? fmt::format("LMC {} would fit", lids.lmc_max())
                                        : std::string("too many: take a smaller LMC or fewer "
                                                      "hosts"));
    }
    return text;
}

std::string metres(std::uint64_t cm) {
    return cm % 100 == 0 ? fmt::format("{} m", cm / 100)
                         : fmt::format("{:.1f} m", static_cast<double>(cm) / 100);
}

std::string reach_text(const CableRule& rule) {
    return rule.reach_cm == UINT32_MAX ? "beyond" : "to " + metres(rule.reach_cm);
}

std::string rules_text(Generation generation) {
    std::string text;
    for (const CableRule& rule : cable_rules(generation)) {
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(rule.kind),
                            reach_text(rule));
    }
    return text;
}

std::string gigabits(std::uint64_t mbps) {
    return mbps >= 10'000'000 ? fmt::format("{:.1f} Tb/s", static_cast<double>(mbps) / 1e6)
                              : fmt::format("{:g} Gb/s", static_cast<double>(mbps) / 1e3);
}

double percent(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::uint8_t LidBudget::lmc_max() const {
    constexpr std::uint8_t kLmcMax = 7;
    std::uint8_t best = 0;
    for (std::uint8_t with = 1; with <= kLmcMax && used(with) <= kLimit; ++with) {
        best = with;
    }
    return best;
}

Report make_report(const Fabric& fabric, const FloorPlan& asked, std::uint8_t lmc) {
    Report report;
    report.hosts = fabric.hosts.size();
    report.hcas = fabric.count(NodeKind::kHca);
    report.levels = count_switches(fabric);
    report.plan = complete_plan(asked, fabric);
    const auto racks = place_in_racks(fabric, report.plan);
    report.racks = static_cast<std::uint32_t>(
        (fabric.hosts.size() + report.plan.hosts_per_rack - 1) / report.plan.hosts_per_rack);
    report.cables = count_cables(fabric, report.plan, racks);
    report.bisection = find_bisection(fabric);
    report.diameter = find_diameter(fabric);
    report.subnets = count_lids(fabric, lmc);
    report.lids = *std::ranges::max_element(
        report.subnets, {}, [&](const LidBudget& subnet) { return subnet.used(lmc); });
    return report;
}

std::vector<std::string> assumptions(const Report& report) {
    const FloorPlan& plan = report.plan;
    std::vector<std::string> result{
        fmt::format("{} hosts in a rack, {} racks in a row, in the order of the hosts; racks are "
                    "{} apart, rows {}",
                    plan.hosts_per_rack, plan.racks_per_row, metres(plan.rack_cm),
                    metres(plan.row_cm)),
        "a switch stands in the middle one of the racks of its lower neighbours, and finds room "
        "there",
        fmt::format("a cable has {} inside a rack, else {} up to a tray and as much down, the way "
                    "along and across rows, and {} more",
                    metres(plan.inside_cm), metres(plan.climb_cm), metres(plan.slack_cm))};
    std::vector<Generation> generations;
    for (const CableReport& cable : report.cables) {
        if (std::ranges::find(generations, cable.generation) == generations.end()) {
            generations.push_back(cable.generation);
            result.push_back(fmt::format("{}: {}", link_speed(cable.generation).name,
                                         rules_text(cable.generation)));
        }
    }
    result.emplace_back(
        "bisection: the largest flow from the first half of the hosts, in their order, to the "
        "second");
    return result;
}

std::string render_report(const Fabric& fabric, const Report& report) {
    std::string text =
        fmt::format("{}{}: {} hosts, {} HCAs, {} switches\n\n", fabric.name,
                    fabric.shape ? fmt::format(" ({})", to_string(*fabric.shape)) : "",
                    report.hosts, report.hcas, fabric.count(NodeKind::kSwitch));
    text += fmt::format("{:10} {:>8} {:>6} {:>12} {:>6}\n", "switches", "count", "radix",
                        "ports used", "");
    for (const LevelReport& level : report.levels) {
        text += fmt::format("{:10} {:>8} {:>6} {:>12} {:>5.1f}%\n",
                            fmt::format("level {}", level.level), level.switches, level.radix,
                            fmt::format("{}/{}", level.ports_used, level.ports),
                            percent(level.ports_used, level.ports));
    }
    text += fmt::format("\n{:22} {:10} {:26} {:>9} {:>7} {:>9} {:>10}\n", "cables between", "speed",
                        "kind", "reach", "count", "longest", "together");
    for (const CableReport& cable : report.cables) {
        text += fmt::format(
            "{:22} {:10} {:26} {:>9} {:>7} {:>9} {:>10}\n", cable.between,
            fmt::format("{}x {}", lanes(cable.width), link_speed(cable.generation).name),
            to_string(cable.rule.kind), reach_text(cable.rule), cable.count,
            metres(cable.longest_cm), metres((cable.length_cm + 50) / 100 * 100));
    }
    text += fmt::format("\nbisection  {} of {} ({:.1f}%)\n", gigabits(report.bisection.mbps),
                        gigabits(report.bisection.full_mbps),
                        percent(report.bisection.mbps, report.bisection.full_mbps));
    text += fmt::format("diameter   {} cables between switches, {} from host to host\n",
                        report.diameter, report.diameter + 2);
    text += render_lids(report);
    text += "\nassumed:\n";
    for (const std::string& sentence : assumptions(report)) {
        text += fmt::format("- {}\n", sentence);
    }
    return text;
}

}  // namespace softib::topo
