// SPDX-License-Identifier: BSD-2-Clause
// Measures what simulating a packet costs. In a permutation of the hosts of a full fat tree, every
// host sends one message of 2 MB in packets of 4,096 bytes, each of which is acknowledged. Links
// have 400 Gb/s, switches 200 ns.
//
//   bench_packets HOSTS RADIX [LANES [BYTES [CABLE_NS]]] < PERMUTATION
//
// PERMUTATION: destination of host 0, 1, … as numbers. Flows are spread over LANES lanes. Cables
// take CABLE_NS, 500 if it is left out. It prints one line: hosts, lanes, hops, CPU seconds,
// million hops per CPU second, events per hop, bytes per port, MiB at most, µs until the last
// message was done, and the hash of all arrivals.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "core/topo/graph.h"
#include "core/topo/spec.h"
#include "measure.h"
#include "net/sim/simulation.h"

namespace {

using namespace softib;
using bench::cpu_seconds;
using bench::peak_mib;
using bench::stop;

constexpr std::uint64_t kMessageBytes = 2'000'000;

/// Records when the last message was done.
class Last : public net::MessageListener {
  public:
    void handle_message(std::uint64_t, net::MessageEvent event, net::TimePs at) override {
        at_ = std::max(at_, at);
        failed_ += event == net::MessageEvent::kFailed ? 1 : 0;
    }
    net::TimePs at() const { return at_; }
    std::uint64_t failed() const { return failed_; }

  private:
    net::TimePs at_ = 0;
    std::uint64_t failed_ = 0;
};

/// Returns options with which every packet has the size of the MTU on the wire, without headers,
/// and an acknowledgement of its own.
net::SimulationOptions options_with(std::uint8_t lanes, net::TimePs cable_ps) {
    net::SimulationOptions options{.engine = "ftree"};
    options.plant = {
        .data_vls = lanes, .buffer_bytes = 98'304, .cable_ps = cable_ps, .switch_ps = 200'000};
    options.hosts.header_bytes = options.hosts.first_header_bytes = 0;
    options.hosts.ack_bytes = 64;
    options.hosts.ack_every = 1;
    options.sl_max = static_cast<std::uint8_t>(lanes - 1);
    return options;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        stop("usage: bench_packets HOSTS RADIX [LANES [BYTES [CABLE_NS]]] < PERMUTATION");
    }
    const auto hosts = static_cast<std::uint32_t>(std::atoi(argv[1]));
    const auto radix = static_cast<std::uint32_t>(std::atoi(argv[2]));
    const auto lanes = static_cast<std::uint8_t>(argc > 3 ? std::atoi(argv[3]) : 1);
    const std::uint64_t bytes =
        argc > 4 ? static_cast<std::uint64_t>(std::atol(argv[4])) : kMessageBytes;
    const net::TimePs cable_ps =
        argc > 5 ? static_cast<net::TimePs>(std::atol(argv[5])) * 1000 : 500'000;
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
    auto simulation = net::Simulation::make(*std::move(fabric), options_with(lanes, cable_ps));
    if (!simulation) {
        stop(simulation.error().message);
    }
    Last last;
    simulation->set_listener(&last);
    const double begin = cpu_seconds();
    for (std::uint32_t i = 0; i < hosts; ++i) {
        simulation->send({.from = i,
                          .to = destination[i],
                          .bytes = bytes,
                          .sl = static_cast<std::uint8_t>(i % lanes)},
                         0);
    }
    while (!simulation->run_some(net::kNever, 1'000'000)) {
    }
    const double cpu = cpu_seconds() - begin;
    if (simulation->unfinished() + last.failed() != 0) {
        stop(fmt::format("{} messages did not arrive", simulation->unfinished() + last.failed()));
    }
    const net::ModelStats stats = simulation->stats();
    fmt::print("{} {} {} {:.3f} {:.3f} {:.3f} {} {:.1f} {:.1f} {:016x}\n", hosts, lanes, stats.hops,
               cpu, static_cast<double>(stats.hops) / cpu * 1e-6,
               static_cast<double>(stats.events) / static_cast<double>(stats.hops),
               simulation->bytes() / simulation->links().size(), peak_mib(),
               static_cast<double>(last.at()) * 1e-6, stats.log_hash);
    return 0;
}
