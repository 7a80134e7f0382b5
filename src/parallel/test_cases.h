// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Fabrics with traffic, shared by tests of parallel runs: several engines must give the same
// outcome as one.

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "core/base/prng.h"
#include "core/topo/spec.h"
#include "net/sim/fabric.h"
#include "net/sim/partition.h"
#include "net/tests/test_scale_hosts.h"

namespace softib::parallel::test {

using net::Routed;
using net::ScaleHosts;

/// The results of a run that must not depend on the number of engines.
struct Outcome {
    std::vector<net::TimePs> done;  ///< When each flow was done.
    std::uint64_t hash = 0;
    std::uint64_t hops = 0;
    std::uint64_t delivered = 0;
    std::uint64_t lost = 0;
    net::TimePs waited = 0;

    friend bool operator==(const Outcome&, const Outcome&) = default;
};

struct Case {
    std::string name;
    topo::Spec spec;
    std::string engine = "ftree";
    bool adaptive = false;
    bool marking = false;
    std::uint32_t lost_ppm = 0;
    std::uint8_t vls = 1;
    std::uint32_t buffer_bytes = 16'384;  ///< Small enough that credits run out.
};

inline std::vector<std::uint32_t> permutation(std::uint32_t hosts) {
    std::vector<std::uint32_t> to(hosts);
    std::iota(to.begin(), to.end(), 0U);
    Prng prng(7);
    for (std::uint32_t i = hosts - 1; i != 0; --i) {
        std::swap(to[i], to[prng.below(i + 1)]);
    }
    return to;
}

/// The engine of one part, with the routes, errors and traffic of a case.
struct Piece {
    Piece(const Routed& routed, const Case& what, std::span<const std::uint32_t> part_of,
          std::uint32_t number)
        : part(routed.topology, part_of, number),
          ends({.packet_bytes = 2048,
                .flags = what.adaptive ? net::packet_flag::kAdaptive : std::uint8_t{0}}),
          network(part.fabric(),
                  part.config({.data_vls = what.vls, .buffer_bytes = what.buffer_bytes}), ends),
          engine(network.engine()) {
        part.prepare(engine);
        part.write_routes(engine.plant(), routed.graph, routed.tables);
        if (what.adaptive) {
            part.write_adaptive_routes(engine.plant(), routed.graph, routed.tables);
        }
        for (std::uint32_t node = 0; node < engine.plant().node_count(); ++node) {
            if (what.marking && engine.plant().is_switch(node)) {
                engine.plant().set_marking(node, {.threshold = 15});
            }
        }
        for (std::uint32_t port = 0; port < engine.plant().port_count(); ++port) {
            if (what.lost_ppm != 0 && engine.plant().connected(port)) {
                engine.ports().set_errors(port, {.lost_ppm = what.lost_ppm, .seed = 11});
            }
        }
        if (what.marking) {
            link::DelayTable table;
            ends.control_congestion({}, table);
        }
        start(routed);
    }

    void start(const Routed& routed) {
        std::vector<std::uint32_t> hosts;
        for (const topo::Host& host : routed.topology.hosts) {
            hosts.push_back(host.hcas[0].value);
        }
        const std::vector<std::uint32_t> to = permutation(static_cast<std::uint32_t>(hosts.size()));
        for (std::uint32_t i = 0; i < hosts.size(); ++i) {
            const Lid from = routed.lids[hosts[i]];
            const Lid destination = routed.lids[hosts[to[i]]];
            const std::uint8_t sl = routed.tables.sl(routed.graph, from, destination);
            const std::uint32_t node = part.local(hosts[i]);
            if (node != net::kNone) {
                ends.start(engine, engine.plant().port_of(node, 1), from, destination, 100'000, sl);
            } else {
                ends.expect(from, destination, 100'000, sl);
            }
        }
    }

    net::Part part;
    ScaleHosts ends;
    ScaleHosts::Net network;
    net::Engine& engine;
};

/// Adds the results of one part to the outcome of all.
inline void add(const Piece& piece, Outcome& outcome) {
    outcome.done.resize(piece.ends.flows().size(), net::kNever);
    for (std::size_t i = 0; i < outcome.done.size(); ++i) {
        outcome.done[i] = std::min(outcome.done[i], piece.ends.flows()[i].done_at);
    }
    outcome.hash += piece.engine.stats().log_hash;
    outcome.hops += piece.engine.stats().hops;
    outcome.delivered += piece.engine.stats().delivered;
    outcome.lost += piece.engine.stats().lost;
    for (std::uint32_t port = 0; port < piece.engine.plant().port_count(); ++port) {
        outcome.waited += piece.engine.counts(port).xmit_wait;
    }
}

inline std::vector<Case> cases() {
    const topo::Spec tree{.shape = topo::Shape::kFatTree, .hosts = 64, .radix = 8, .levels = 3};
    const topo::Spec torus{
        .shape = topo::Shape::kTorus, .hosts = 48, .dimensions = {4, 3}, .hosts_per_switch = 4};
    return {{.name = "Static", .spec = tree},
            {.name = "Adaptive", .spec = tree, .adaptive = true},
            {.name = "Marking", .spec = tree, .marking = true},
            {.name = "Lossy", .spec = tree, .lost_ppm = 3000},
            {.name = "Torus", .spec = torus, .engine = "dor", .vls = 2}};
}

}  // namespace softib::parallel::test
