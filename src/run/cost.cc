// SPDX-License-Identifier: BSD-2-Clause
#include "run/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <vector>

#include "core/topo/link_speed.h"

namespace softib::run {

namespace {

// By docs/performance-sim.md: 6.7 to 12.2 million hops in a second, a million messages in 233 MiB,
// and fabrics of 8,192 to 45,000 hosts.
constexpr double kHopsPerSecond = 8e6;
constexpr double kMessageBytes = 230;
constexpr double kPortBytes = 2100;

/// Returns the mean number of cables between the first end port and all others.
double mean_hops(const topo::Fabric& fabric) {
    std::vector<std::uint32_t> distance(fabric.nodes.size(), UINT32_MAX);
    std::vector<std::uint32_t> reached;
    double sum = 0;
    double ends = 0;
    for (std::uint32_t i = 0; i < fabric.nodes.size() && reached.empty(); ++i) {
        if (fabric.nodes[i].kind == topo::NodeKind::kHca) {
            distance[i] = 0;
            reached.push_back(i);
        }
    }
    for (std::size_t next = 0; next < reached.size(); ++next) {
        const std::uint32_t from = reached[next];
        for (const topo::PortLink& link : fabric.nodes[from].ports) {
            if (link.peer == topo::kNoNode || distance[link.peer.value] != UINT32_MAX) {
                continue;
            }
            distance[link.peer.value] = distance[from] + 1;
            reached.push_back(link.peer.value);
            if (fabric.nodes[link.peer.value].kind == topo::NodeKind::kHca) {
                sum += distance[link.peer.value];
                ends += 1;
            }
        }
    }
    return ends == 0 ? 0 : sum / ends;
}

/// Returns the part of a schedule that can begin before the run ends: a sender's link carries no
/// more.
double part_begun(const spec::Scenario& scenario, const plan::Schedule& schedule) {
    const double bits = 8.0 * static_cast<double>(schedule.bytes());
    if (scenario.until == plan::kNever || scenario.until == 0 || bits == 0) {
        return 1;
    }
    const double picoseconds_per_bit =
        1000.0 / topo::link_speed(scenario.fabric.spec.generation).gbps;
    const double possible =
        static_cast<double>(scenario.until) / picoseconds_per_bit * schedule.sender_count();
    return std::min(possible / bits, 1.0);
}

}  // namespace

Cost cost_of(const spec::Scenario& scenario, const spec::Experiment& experiment) {
    const topo::Fabric& fabric = experiment.fabric;
    Cost cost;
    double ports = 0;
    for (const topo::Node& node : fabric.nodes) {
        ports += static_cast<double>(node.ports.size());
    }
    const auto switches = static_cast<double>(fabric.count(topo::NodeKind::kSwitch));
    cost.bytes = ports * kPortBytes + switches * static_cast<double>(fabric.nodes.size());
    const net::MessageConfig& hosts = experiment.options.hosts;
    double packets = 0;
    for (const plan::Schedule& schedule : experiment.schedules) {
        const double part = part_begun(scenario, schedule);
        const double messages = part * static_cast<double>(schedule.messages());
        const double data = part * static_cast<double>(schedule.bytes()) / hosts.mtu;
        cost.bytes += messages * kMessageBytes;
        // A message has a packet at least, and an acknowledgement.
        packets += std::max(data, messages) + std::max(data / hosts.ack_every, messages);
    }
    if (scenario.model == net::ModelKind::kPacket) {
        cost.seconds = packets * mean_hops(fabric) / kHopsPerSecond;
    }
    return cost;
}

bool fits_memory(const Cost& cost) {
    std::ifstream in("/proc/meminfo");
    std::string name;
    double kib = 0;
    std::string unit;
    while (in >> name >> kib) {
        if (name == "MemAvailable:") {
            return cost.bytes <= kib * 1024;
        }
        std::getline(in, unit);
    }
    return true;
}

std::string too_large(const Cost& cost) {
    return fmt::format(
        "this would take {}, more memory than is free: take fewer hosts or fewer messages, or the "
        "flow model",
        to_text(cost));
}

std::string to_text(const Cost& cost) {
    constexpr double kGib = 1024.0 * 1024 * 1024;
    const double minutes = cost.seconds / 60;
    const std::string memory = cost.bytes < kGib ? std::string("less than 1 GiB")
                                                 : fmt::format("{:.0f} GiB", cost.bytes / kGib);
    if (minutes < 1) {
        return memory;
    }
    return minutes < 120 ? fmt::format("{} and about {:.0f} minutes", memory, minutes)
                         : fmt::format("{} and about {:.0f} hours", memory, minutes / 60);
}

}  // namespace softib::run
