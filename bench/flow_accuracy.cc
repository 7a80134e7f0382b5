// SPDX-License-Identifier: BSD-2-Clause
// Measures how far the flow model is from the packet model. Each case runs in both models, on the
// same fabric with the same routes.
//
//   bench_flow_accuracy
//
// It prints a row of a Markdown table for each case: the mean time of the messages that the case is
// about and the time of the last one, by packets and by flows, both errors in per cent, and the CPU
// milliseconds of both. It exits with 1 if an error is beyond the bounds in the definition of the
// case, so that docs/flow-model.md, which has the table, cannot become wrong unseen.
//
// Links have 400 Gb/s, cables 25 ns, switches 200 ns, buffers 96 KiB. Packets have 4,096 bytes in
// all, are not acknowledged, and use one lane. In cases with several subnets, messages are sent as
// `softib sim` sends them: packets have 4,096 bytes of data and headers besides, on two lanes.

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/base/prng.h"
#include "core/topo/spec.h"
#include "measure.h"
#include "net/flow/flow_model.h"
#include "net/flow/flow_simulation.h"
#include "net/sim/fabric.h"
#include "net/sim/simulation.h"
#include "net/tests/test_scale_hosts.h"

namespace {

using namespace softib;
using bench::stop;
using net::flow::TimePs;

constexpr std::uint64_t kMiB = 1U << 20;
constexpr std::uint64_t kSeed = 42;

struct Transfer {
    std::uint32_t from;
    std::uint32_t to;
    std::uint64_t bytes;
    bool counts = true;  ///< Whether the case's times are those of this message (among others).
};
using Traffic = std::vector<Transfer>;

struct Bounds {
    double mean;  ///< Largest error of the mean time, in per cent.
    double last;  ///< Largest error of the last message's time, in per cent.
};

struct Case {
    std::string name;
    topo::Spec spec;
    Traffic traffic;
    Bounds bounds;
    bool adaptive = false;
    std::uint32_t cut_spines = 0;  ///< Number of spines whose cables are cut.
    std::uint32_t buffer_bytes = 98'304;
    TimePs cable_ps = 25'000;
};

struct Times {
    double mean_us = 0;
    double last_us = 0;
    double cpu_ms = 0;
};

double cpu_ms() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-3;
}

// Traffic.

std::vector<std::uint32_t> shuffled(std::uint32_t count, Prng& prng) {
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    for (std::uint32_t i = count - 1; i != 0; --i) {
        std::swap(order[i], order[prng.below(i + 1)]);
    }
    return order;
}

/// Every host sends to another one, and none to itself.
Traffic permutation(std::uint32_t hosts, std::uint64_t bytes) {
    Prng prng(kSeed);
    const std::vector<std::uint32_t> order = shuffled(hosts, prng);
    Traffic traffic;
    for (std::uint32_t i = 0; i < hosts; ++i) {
        traffic.push_back({order[i], order[(i + 1) % hosts], bytes});
    }
    return traffic;
}

Traffic shift(std::uint32_t hosts, std::uint32_t by, std::uint64_t bytes) {
    Traffic traffic;
    for (std::uint32_t i = 0; i < hosts; ++i) {
        traffic.push_back({i, (i + by) % hosts, bytes});
    }
    return traffic;
}

/// Hosts 1 to `senders` send to host 0.
Traffic incast(std::uint32_t senders, std::uint64_t bytes) {
    Traffic traffic;
    for (std::uint32_t i = 1; i <= senders; ++i) {
        traffic.push_back({i, 0, bytes});
    }
    return traffic;
}

Traffic all_to_all(std::uint32_t hosts, std::uint64_t bytes) {
    Traffic traffic;
    for (std::uint32_t by = 1; by < hosts; ++by) {
        for (const Transfer& transfer : shift(hosts, by, bytes)) {
            traffic.push_back(transfer);
        }
    }
    return traffic;
}

/// Every host sends `each` messages to hosts drawn at random, all at once.
Traffic random_pairs(std::uint32_t hosts, std::uint32_t each, std::uint64_t bytes) {
    Prng prng(kSeed);
    Traffic traffic;
    for (std::uint32_t i = 0; i < hosts * each; ++i) {
        const std::uint32_t from = i % hosts;
        const auto on = static_cast<std::uint32_t>(1 + prng.below(hosts - 1));
        traffic.push_back({from, (from + on) % hosts, bytes});
    }
    return traffic;
}

/// On each leaf but the first, half of the hosts send to host 0, and one host, the victim, sends to
/// the first host of the next leaf. Routes of ftree to the first hosts of leaves use one spine, so
/// the victim shares the cable to that spine with the others, and nothing else.
Traffic hotspot(std::uint32_t hosts, std::uint32_t per_leaf, std::uint64_t bytes) {
    Traffic traffic;
    for (std::uint32_t first = per_leaf; first < hosts; first += per_leaf) {
        for (std::uint32_t i = 0; i < per_leaf / 2; ++i) {
            traffic.push_back({first + i, 0, bytes, false});
        }
        const std::uint32_t next = first + per_leaf < hosts ? first + per_leaf : per_leaf;
        traffic.push_back({first + per_leaf - 1, next, bytes});
    }
    return traffic;
}

// Both models.

void cut(topo::Fabric& fabric, std::uint32_t spines) {
    for (topo::Node& node : fabric.nodes) {
        for (topo::PortLink& link : node.ports) {
            const auto is_cut = [&](const topo::Node& end) {
                return end.level == 1 && std::atoi(end.name.c_str() + 5) < static_cast<int>(spines);
            };
            if (link.peer != topo::kNoNode && (is_cut(node) || is_cut(fabric.node(link.peer)))) {
                link.peer = topo::kNoNode;
            }
        }
    }
}

net::Routed route(const Case& one) {
    auto topology = topo::generate(one.spec);
    if (!topology) {
        stop(topology.error().message);
    }
    cut(*topology, one.cut_spines);
    const bool tree = one.spec.shape == topo::Shape::kFatTree;
    auto routed = net::Routed::make(*std::move(topology), tree ? "ftree" : "minhop", 1);
    if (!routed) {
        stop(routed.error().message);
    }
    return *std::move(routed);
}

Times summary(const Case& one, const std::function<TimePs(std::size_t)>& end_of, double begin_ms) {
    Times times{.cpu_ms = cpu_ms() - begin_ms};
    double count = 0;
    for (std::size_t i = 0; i < one.traffic.size(); ++i) {
        if (one.traffic[i].counts) {
            const double us = static_cast<double>(end_of(i)) * 1e-6;
            times.mean_us += us;
            times.last_us = std::max(times.last_us, us);
            ++count;
        }
    }
    times.mean_us /= count;
    return times;
}

Times by_packets(const Case& one, const net::Routed& routed, const net::PlantConfig& plant) {
    const std::uint8_t flags = one.adaptive ? net::packet_flag::kAdaptive : std::uint8_t{0};
    net::Fabric<net::ScaleHosts> fabric(routed, plant, 0,
                                        net::ScaleConfig{.ack_bytes = 0, .flags = flags});
    if (one.adaptive && !fabric.use_adaptive_routing()) {
        stop(one.name + ": the routing engine found no choice of ports");
    }
    const double begin = cpu_ms();
    for (const Transfer& transfer : one.traffic) {
        fabric.ends().start(fabric.engine(), fabric.port(transfer.from), fabric.lid(transfer.from),
                            fabric.lid(transfer.to), transfer.bytes,
                            fabric.sl(transfer.from, transfer.to));
    }
    fabric.net().run();
    if (fabric.ends().unfinished() != 0) {
        stop(one.name + ": not all messages arrived");
    }
    return summary(one, [&](std::size_t i) { return fabric.ends().flows()[i].done_at; }, begin);
}

Times by_flows(const Case& one, const net::Routed& routed, const net::PlantConfig& plant) {
    const net::flow::FlowNetwork network(routed, plant, one.adaptive);
    const double begin = cpu_ms();
    net::flow::FlowModel model(network, {.wire = net::flow::WireFormat::bare()});
    std::vector<TimePs> ends(one.traffic.size());
    for (std::size_t i = 0; i < one.traffic.size(); ++i) {
        const Transfer& transfer = one.traffic[i];
        if (!model.add(
                {.from = transfer.from, .to = transfer.to, .bytes = transfer.bytes, .tag = i})) {
            stop(one.name + ": there is no route");
        }
    }
    while (!model.idle()) {
        for (const net::flow::Completion& completion : model.step()) {
            ends[completion.tag] = completion.delivered;
        }
    }
    return summary(one, [&](std::size_t i) { return ends[i]; }, begin);
}

/// Records when messages were delivered. Tags of messages are numbers from 0 on.
struct Deliveries : net::MessageListener {
    void handle_message(std::uint64_t tag, net::MessageEvent event, TimePs at) override {
        if (event == net::MessageEvent::kDelivered) {
            delivered_at[tag] = at;
        }
    }
    std::vector<TimePs> delivered_at;
};

Times by_model(const Case& one, net::Model& model) {
    Deliveries deliveries;
    deliveries.delivered_at.resize(one.traffic.size());
    model.set_listener(&deliveries);
    const double begin = cpu_ms();
    for (std::size_t i = 0; i < one.traffic.size(); ++i) {
        const Transfer& transfer = one.traffic[i];
        model.send({.from = transfer.from, .to = transfer.to, .bytes = transfer.bytes, .tag = i},
                   0);
    }
    while (!model.run_some(net::kNever, 1'000'000)) {
    }
    if (std::ranges::find(deliveries.delivered_at, TimePs{0}) != deliveries.delivered_at.end()) {
        stop(one.name + ": not all messages arrived");
    }
    return summary(one, [&](std::size_t i) { return deliveries.delivered_at[i]; }, begin);
}

/// Returns the times of a case with several subnets, by packets and by flows.
std::pair<Times, Times> by_both_models(const Case& one, const net::PlantConfig& plant) {
    net::SimulationOptions options{.engine = "ftree", .plant = plant};
    options.plant.data_vls = 0;
    options.hosts.ack_bytes = 0;
    options.hosts.adaptive = one.adaptive;
    const auto topology = topo::generate(one.spec);
    if (!topology) {
        stop(topology.error().message);
    }
    auto packets = net::Simulation::make(*topology, options);
    auto flows = net::flow::FlowSimulation::make(*topology, options);
    if (!packets || !flows) {
        stop(one.name + ": " + (packets ? flows.error() : packets.error()).message);
    }
    return {by_model(one, *packets), by_model(one, **flows)};
}

/// Prints the row of a case. Returns false if an error is beyond its bounds.
bool compare(const Case& one) {
    const net::PlantConfig plant{.data_vls = 1,
                                 .buffer_bytes = one.buffer_bytes,
                                 .cable_ps = one.cable_ps,
                                 .switch_ps = 200'000};
    const auto in_one_subnet = [&] {
        const net::Routed routed = route(one);
        const Times packets = by_packets(one, routed, plant);
        return std::pair(packets, by_flows(one, routed, plant));
    };
    const auto [packets, flows] =
        one.spec.subnets > 1 ? by_both_models(one, plant) : in_one_subnet();
    const double mean = (flows.mean_us / packets.mean_us - 1) * 100;
    const double last = (flows.last_us / packets.last_us - 1) * 100;
    fmt::print(
        "| {} | {:.1f} | {:.1f} | {:+.1f} % | {:.1f} | {:.1f} | {:+.1f} % | {:.1f} | {:.2f} |\n",
        one.name, packets.mean_us, flows.mean_us, mean, packets.last_us, flows.last_us, last,
        packets.cpu_ms, flows.cpu_ms);
    return std::abs(mean) <= one.bounds.mean && std::abs(last) <= one.bounds.last;
}

std::vector<Case> cases() {
    const auto star = [](std::uint32_t hosts) {
        return topo::Spec{.shape = topo::Shape::kSingleSwitch, .hosts = hosts};
    };
    const auto tree = [](std::uint32_t hosts, std::uint32_t radix, std::uint32_t levels) {
        return topo::Spec{
            .shape = topo::Shape::kFatTree, .hosts = hosts, .radix = radix, .levels = levels};
    };
    const topo::Spec flat = tree(128, 16, 2);
    const topo::Spec deep = tree(128, 8, 3);
    const Traffic permuted = permutation(128, kMiB);
    constexpr Bounds kExact{0.5, 0.5};
    constexpr Bounds kWrong{100, 100};  // For cases that show where the model fails.
    std::vector<Case> all;
    const auto add = [&](const char* name, const topo::Spec& spec, Traffic traffic,
                         Bounds bounds) -> Case& {
        all.push_back({name, spec, std::move(traffic), bounds});
        return all.back();
    };
    add("one message of 1 MiB, one switch", star(2), {{0, 1, kMiB}}, kExact);
    add("one message of 4 KiB, 3 switches", flat, {{0, 127, 4096}}, kExact);
    add("incast 2 to 1, 1 MiB, one switch", star(3), incast(2, kMiB), kExact);
    add("incast 32 to 1, 1 MiB, one switch", star(33), incast(32, kMiB), kExact);
    add("incast 32 to 1, 4 KiB, one switch", star(33), incast(32, 4096), {100, 1});
    add("incast 32 to 1, 1 MiB, 2 levels", flat, incast(32, kMiB), {30, 1});
    add("shift by 19, 1 MiB, 2 levels", flat, shift(128, 19, kMiB), kExact);
    add("permutation, 1 MiB, 2 levels", flat, permuted, kExact);
    add("permutation, 1 MiB, 3 levels", deep, permuted, {5, 1});
    add("permutation of 1,024, 1 MiB, 3 levels", tree(1024, 16, 3), permutation(1024, kMiB),
        {5, 12});
    add("permutation, 16 KiB, 2 levels", flat, permutation(128, 16'384), {5, 1});
    add("permutation, 1 MiB, 2 levels, half the spines", flat, permuted, kExact).cut_spines = 4;
    add("all-to-all of 64, 64 KiB each, 2 levels", tree(64, 16, 2), all_to_all(64, 65'536), {5, 1});
    add("random pairs, 1 a host, 1 MiB, 2 levels", flat, random_pairs(128, 1, kMiB), {5, 20});
    add("random pairs, 8 a host, 1 MiB, 2 levels", flat, random_pairs(128, 8, kMiB), {30, 35});
    add("permutation, 1 MiB, 2 levels, adaptive", flat, permuted, {15, 35}).adaptive = true;
    add("permutation, 1 MiB, 3 levels, adaptive", deep, permuted, {45, 65}).adaptive = true;
    Case& halved = add("permutation, 1 MiB, half the spines, adaptive", flat, permuted, {15, 25});
    halved.adaptive = true;
    halved.cut_spines = 4;
    add("victims of a hotspot, 1 MiB, 2 levels", flat, hotspot(128, 8, kMiB), kWrong);
    add("the same, adaptive", flat, hotspot(128, 8, kMiB), kWrong).adaptive = true;
    Traffic beside = incast(3, kMiB);
    for (Transfer& transfer : beside) {
        transfer.counts = false;
    }
    beside.push_back({1, 4, kMiB});
    add("another message of a sender in an incast 3 to 1", star(5), beside, kWrong);
    Case& distant =
        add("one message of 1 MiB, 200 m, buffers of 8 KiB", star(2), {{0, 1, kMiB}}, kWrong);
    distant.cable_ps = 1'000'000;
    distant.buffer_bytes = 8192;
    return all;
}

/// Returns the cases on fabrics of several subnets.
std::vector<Case> cases_over_routers() {
    const auto joined = [](std::uint32_t hosts, std::uint32_t subnets, std::uint32_t routers) {
        return topo::Spec{.shape = topo::Shape::kFatTree,
                          .hosts = hosts,
                          .radix = 16,
                          .levels = 2,
                          .subnets = subnets,
                          .routers = routers};
    };
    const topo::Spec two = joined(96, 2, 16);
    std::vector<Case> all;
    all.push_back({"one message of 1 MiB over a router", two, {{0, 95, kMiB}}, {0.5, 0.5}});
    all.push_back({"one message of 4 KiB over a router", two, {{0, 95, 4096}}, {0.5, 0.5}});
    all.push_back({"shift by half, 96 hosts in 2 subnets, 16 routers, 1 MiB",
                   two,
                   shift(96, 48, kMiB),
                   {5, 1}});
    all.push_back(
        {"permutation of 96 in 2 subnets, 16 routers, 1 MiB", two, permutation(96, kMiB), {5, 15}});
    all.push_back({"permutation of 120 in 3 subnets, 8 routers, 1 MiB",
                   joined(120, 3, 8),
                   permutation(120, kMiB),
                   {6, 3}});
    all.push_back({"permutation of 96 in 2 subnets, 16 routers, adaptive",
                   two,
                   permutation(96, kMiB),
                   {25, 5},
                   true});
    return all;
}

}  // namespace

int main() {
    bool within = true;
    std::vector<Case> all = cases();
    std::ranges::move(cases_over_routers(), std::back_inserter(all));
    for (const Case& one : all) {
        if (!compare(one)) {
            fmt::print(stderr, "{}: the error is beyond its bounds\n", one.name);
            within = false;
        }
    }
    return within ? 0 : 1;
}
