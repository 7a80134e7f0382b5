// SPDX-License-Identifier: BSD-2-Clause
// Measures what several threads save. In a permutation of the hosts of a full fat tree, every host
// sends one message of 2 MB in packets of 4,096 bytes, each of which is acknowledged. Links have
// 400 Gb/s, cables 500 ns, switches 200 ns.
//
//   bench_parallel HOSTS RADIX [LANES [WIDTH [BYTES [THREADS]]]] < PERMUTATION
//
// PERMUTATION: destination of host 0, 1, … as numbers. Flows are spread over LANES lanes. WIDTH is
// the width of the event queue's buckets; 0 lets the queue choose. It prints one line: hosts,
// lanes, hops, CPU seconds, million hops per CPU second, events per hop, bytes per port, MiB at
// most, µs until the last message was done, the hash of all arrivals, and seconds by the clock.

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/routing/engine.h"
#include "core/topo/graph.h"
#include "core/topo/spec.h"
#include "measure.h"
#include "net/sim/fabric.h"
#include "net/sim/partition.h"
#include "net/tests/test_scale_hosts.h"
#include "parallel/threads.h"

namespace {

using namespace softib;
using bench::cpu_seconds;
using bench::peak_mib;
using bench::stop;

constexpr std::uint64_t kMessageBytes = 2'000'000;

struct Work {
    std::uint32_t hosts = 0;
    std::uint32_t radix = 0;
    std::uint8_t lanes = 1;
    unsigned width = 0;
    std::uint64_t bytes = kMessageBytes;
    std::uint32_t threads = 1;
    std::vector<std::uint32_t> destination;
};

/// The part of the fabric that one thread simulates.
struct Piece {
    Piece(const net::Routed& routed, const Work& work, std::span<const std::uint32_t> part_of,
          std::uint32_t number)
        : part(routed.topology, part_of, number),
          ends({}),
          net(part.fabric(),
              part.config({.data_vls = work.lanes,
                           .buffer_bytes = 98'304,
                           .cable_ps = 500'000,
                           .switch_ps = 200'000}),
              ends, work.width) {
        part.prepare(net.engine());
        part.write_routes(net.engine().plant(), routed.graph, routed.tables);
    }
    void start(const net::Routed& routed, const Work& work) {
        const auto node = [&](std::uint32_t host) {
            return routed.topology.hosts[host].hcas[0].value;
        };
        for (std::uint32_t i = 0; i < work.hosts; ++i) {
            const Lid from = routed.lids[node(i)];
            const Lid to = routed.lids[node(work.destination[i])];
            const auto sl = static_cast<std::uint8_t>(i % work.lanes);
            if (const std::uint32_t here = part.local(node(i)); here != net::kNone) {
                ends.start(net.engine(), net.engine().plant().port_of(here, 1), from, to,
                           work.bytes, sl);
            } else {
                ends.expect(from, to, work.bytes, sl);
            }
        }
    }

    net::Part part;
    net::ScaleHosts ends;
    net::ScaleHosts::Net net;
};

Work read_work(int argc, char** argv) {
    if (argc < 3) {
        stop("usage: bench_parallel HOSTS RADIX [LANES [WIDTH [BYTES [THREADS]]]] < PERMUTATION");
    }
    const auto number = [&](int place, std::uint64_t otherwise) {
        return argc > place ? static_cast<std::uint64_t>(std::atoll(argv[place])) : otherwise;
    };
    Work work{.hosts = static_cast<std::uint32_t>(number(1, 0)),
              .radix = static_cast<std::uint32_t>(number(2, 0)),
              .lanes = static_cast<std::uint8_t>(number(3, 1)),
              .width = static_cast<unsigned>(number(4, 0)),
              .bytes = number(5, kMessageBytes),
              .threads = static_cast<std::uint32_t>(number(6, 1)),
              .destination = {}};
    work.destination.resize(work.hosts);
    for (std::uint32_t& to : work.destination) {
        if (!(std::cin >> to) || to >= work.hosts) {
            stop("the permutation is too short, or names a host that is not there");
        }
    }
    return work;
}

std::vector<std::unique_ptr<Piece>> make_pieces(const Work& work) {
    auto fabric = topo::generate(
        {.shape = topo::Shape::kFatTree, .hosts = work.hosts, .radix = work.radix, .levels = 3});
    if (!fabric) {
        stop(fabric.error().message);
    }
    const auto routed = net::Routed::make(*std::move(fabric), "ftree", work.lanes);
    if (!routed) {
        stop(routed.error().message);
    }
    const auto part_of = net::assign_parts(routed->topology, work.threads);
    std::vector<std::unique_ptr<Piece>> pieces;
    for (std::uint32_t i = 0; i < work.threads; ++i) {
        pieces.push_back(std::make_unique<Piece>(*routed, work, part_of, i));
        pieces.back()->start(*routed, work);
    }
    return pieces;
}

void run(std::vector<std::unique_ptr<Piece>>& pieces) {
    if (pieces.size() == 1) {
        pieces[0]->net.run();
        return;
    }
    const auto parts = static_cast<std::uint32_t>(pieces.size());
    parallel::Meeting meeting(parts);
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < parts; ++i) {
        threads.emplace_back(
            [&, i] { net::run_part(pieces[i]->net, pieces[i]->part, parts, meeting.seat(i)); });
    }
}

}  // namespace

int main(int argc, char** argv) {
    const Work work = read_work(argc, argv);
    auto pieces = make_pieces(work);
    const double begin = cpu_seconds();
    const auto clock = std::chrono::steady_clock::now();
    run(pieces);
    const double cpu = cpu_seconds() - begin;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - clock;
    net::EngineStats sum;
    std::size_t bytes = 0;
    std::size_t ports = 0;
    net::TimePs last = 0;
    for (const auto& piece : pieces) {
        if (piece->ends.unfinished() != 0) {
            stop(fmt::format("{} messages did not arrive", piece->ends.unfinished()));
        }
        sum.hops += piece->net.engine().stats().hops;
        sum.events += piece->net.engine().stats().events;
        sum.log_hash += piece->net.engine().stats().log_hash;
        bytes += piece->net.engine().bytes();
        ports += piece->net.engine().plant().port_count();
        for (const auto& flow : piece->ends.flows()) {
            last = flow.done_at == net::kNever ? last : std::max(last, flow.done_at);
        }
    }
    fmt::print("{} {} {} {:.3f} {:.3f} {:.3f} {} {:.1f} {:.1f} {:016x} {:.3f}\n", work.hosts,
               work.lanes, sum.hops, cpu, static_cast<double>(sum.hops) / cpu * 1e-6,
               static_cast<double>(sum.events) / static_cast<double>(sum.hops), bytes / ports,
               peak_mib(), static_cast<double>(last) * 1e-6, sum.log_hash, wall.count());
    return 0;
}
