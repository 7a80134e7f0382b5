// SPDX-License-Identifier: BSD-2-Clause
// What a packet costs in virtual time: a permutation of the hosts of a full fat tree, every host
// sends one message of 2 MB in packets of 4,096 bytes, each is acknowledged. 400 Gb/s, cables of
// 500 ns, switches of 200 ns.
//
//   bench_packets HOSTS RADIX [LANES [WIDTH [BYTES]]] < PERMUTATION
//
// PERMUTATION: destination of host 0, 1, … as numbers. Flows are spread over LANES lanes. WIDTH: of
// the event queue's buckets, 0 chosen. It prints one line: hosts, lanes, hops, CPU seconds, million
// hops per CPU second, events per hop, bytes per port, MiB at most, µs until the last message was
// done, and the hash of all arrivals.

#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "core/routing/engine.h"
#include "core/topo/fabric.h"
#include "net/hosts/scale_hosts.h"
#include "net/routes.h"

namespace {

using namespace softib;

constexpr std::uint64_t kMessageBytes = 2'000'000;

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/// The most that was resident at once. Not rusage's, which begins with what the parent had.
double peak_mib() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:")) {
            return std::atof(line.c_str() + 6) / 1024;
        }
    }
    return 0;
}

[[noreturn]] void stop(const std::string& message) {
    fmt::print(stderr, "{}\n", message);
    std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        stop("usage: bench_packets HOSTS RADIX [LANES [WIDTH [BYTES]]] < PERMUTATION");
    }
    const auto hosts = static_cast<std::uint32_t>(std::atoi(argv[1]));
    const auto radix = static_cast<std::uint32_t>(std::atoi(argv[2]));
    const auto lanes = static_cast<std::uint8_t>(argc > 3 ? std::atoi(argv[3]) : 1);
    std::vector<std::uint32_t> destination(hosts);
    for (std::uint32_t& to : destination) {
        if (!(std::cin >> to) || to >= hosts) {
            stop("the permutation is too short, or names a host that is not there");
        }
    }
    auto fabric = topo::generate(
        {.shape = topo::Shape::kFatTree, .hosts = hosts, .radix = radix, .levels = 3});
    if (!fabric) {
        stop(fabric.error().message);
    }
    net::ScaleHosts ends({});
    net::ScaleHosts::Net net(
        *fabric,
        {.data_vls = lanes, .buffer_bytes = 98'304, .cable_ps = 500'000, .switch_ps = 200'000},
        ends, argc > 4 ? static_cast<unsigned>(std::atoi(argv[4])) : 0);
    {
        const auto graph = routing::graph_of(*fabric);
        const auto tables = routing::find_engine("ftree")->route(*graph, {});
        if (!tables) {
            stop(tables.error().message);
        }
        net::write_routes(net, *fabric, *graph, *tables);
    }
    const std::vector<Lid> lids = net::lids_of(*fabric);
    std::vector<std::uint32_t> node;
    for (const topo::Host& host : fabric->hosts) {
        node.push_back(host.hcas[0].value);
    }
    *fabric = {};
    const double begin = cpu_seconds();
    for (std::uint32_t i = 0; i < hosts; ++i) {
        ends.start(net, net.port_of(node[i], 1), lids[node[i]], lids[node[destination[i]]],
                   argc > 5 ? static_cast<std::uint64_t>(std::atol(argv[5])) : kMessageBytes,
                   static_cast<std::uint8_t>(i % lanes));
    }
    net.run();
    const double cpu = cpu_seconds() - begin;
    if (ends.unfinished() != 0) {
        stop(fmt::format("{} messages did not arrive", ends.unfinished()));
    }
    const net::EngineStats& stats = net.stats();
    net::TimePs last = 0;
    for (const auto& flow : ends.flows()) {
        last = std::max(last, flow.done_at);
    }
    fmt::print("{} {} {} {:.3f} {:.3f} {:.3f} {} {:.1f} {:.1f} {:016x}\n", hosts, lanes, stats.hops,
               cpu, static_cast<double>(stats.hops) / cpu * 1e-6,
               static_cast<double>(stats.events) / static_cast<double>(stats.hops),
               net.bytes() / net.port_count(), peak_mib(), static_cast<double>(last) * 1e-6,
               stats.log_hash);
    return 0;
}
