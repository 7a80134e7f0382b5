// SPDX-License-Identifier: BSD-2-Clause
// Measures what routing costs and how good it is: CPU seconds of every engine and of the verifier
// on generated fabrics, and the number of flows on the busiest link of permutations, also after the
// loss of cables.
//
//   bench_routing             everything, about half a minute
//   bench_routing speed       the first table only
//   bench_routing quality     the second table only
//   bench_routing dump FILE   the engines on a fabric that ibnetdiscover printed
//   bench_routing net HOSTS RADIX LEVELS PERCENT SEED
//                             a fat tree that lost PERCENT of its cables, for ibsim or softib up
//                             --from

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/base/prng.h"
#include "core/routing/engine.h"
#include "core/routing/verifier.h"
#include "core/topo/graph.h"
#include "core/topo/netlist.h"
#include "core/topo/spec.h"
#include "measure.h"

namespace {

using namespace softib;
using bench::cpu_seconds;
using bench::stop;
using routing::Engine;
using routing::Graph;
using routing::Report;

struct Case {
    const char* name;
    topo::Spec spec;
    std::vector<std::string> engines;
    std::vector<int> lanes = {8};
};

topo::Spec tree(std::uint32_t hosts, std::uint32_t radix, std::uint32_t levels) {
    return {.shape = topo::Shape::kFatTree, .hosts = hosts, .radix = radix, .levels = levels};
}

std::vector<Case> cases() {
    const topo::Spec torus{.shape = topo::Shape::kTorus,
                           .hosts = 2048,
                           .dimensions = {8, 8, 8},
                           .hosts_per_switch = 4};
    const topo::Spec dragonfly{.shape = topo::Shape::kDragonfly,
                               .hosts = 1056,
                               .hosts_per_switch = 4,
                               .groups = 33,
                               .switches_per_group = 8};
    return {
        {"fat tree, 2 levels", tree(2048, 64, 2), {"minhop", "updn", "ftree"}},
        {"fat tree, 2 levels", tree(2048, 64, 2), {"nue"}, {1, 8}},
        {"fat tree, 3 levels", tree(8192, 64, 3), {"minhop", "updn", "ftree", "nue"}, {1}},
        {"fat tree, 3 levels", tree(24576, 64, 3), {"minhop", "updn", "ftree"}},
        {"fat tree, 3 levels", tree(40960, 64, 3), {"minhop", "updn", "ftree"}},
        {"torus 8x8x8", torus, {"minhop", "updn", "dor"}},
        {"torus 8x8x8", torus, {"nue"}, {1, 2, 3, 4, 5, 6, 7, 8}},
        {"dragonfly", dragonfly, {"minhop", "updn", "dragonfly"}},
        {"dragonfly", dragonfly, {"nue"}, {1, 2, 4, 8}},
    };
}

Graph graph_or_stop(const topo::Fabric& fabric) {
    auto graph = routing::graph_of(fabric);
    if (!graph) {
        stop(graph.error().message);
    }
    return *std::move(graph);
}

topo::Fabric fabric_or_stop(const topo::Spec& spec) {
    auto fabric = topo::generate(spec);
    if (!fabric) {
        stop(fabric.error().message);
    }
    return *std::move(fabric);
}

void speed() {
    fmt::print("{:20} {:>6} {:>8}  {:10} {:>5}  {:>8} {:>8}  {:>6} {:>6} {:>7}  {}\n", "fabric",
               "hosts", "switches", "engine", "lanes", "route s", "verify s", "shift", "random",
               "balance", "credit loops");
    for (const Case& c : cases()) {
        const Graph graph = graph_or_stop(fabric_or_stop(c.spec));
        for (const std::string& name : c.engines) {
            for (const int lanes : c.lanes) {
                const double start = cpu_seconds();
                const auto tables = routing::find_engine(name)->route(
                    graph, {.data_vls = static_cast<std::uint8_t>(lanes)});
                const double routed = cpu_seconds();
                if (!tables) {
                    stop(tables.error().message);
                }
                const Report report = verify(graph, *tables);
                const double verified = cpu_seconds();
                fmt::print(
                    "{:20} {:6} {:8}  {:10} {:5}  {:8.3f} {:8.3f}  {:6.2f} {:6.2f} {:7.2f}  {}{}\n",
                    c.name, graph.host_count(), graph.switch_count(), name, tables->vls,
                    routed - start, verified - routed, report.shifts.mean, report.random.mean,
                    report.load.balance, report.acyclic() ? "none" : "yes",
                    report.arrives() ? "" : ", not all reached");
                std::fflush(stdout);
            }
        }
    }
}

/// Returns the fabric without this share of the cables between switches.
topo::Fabric damaged(topo::Fabric fabric, std::uint32_t percent, std::uint64_t seed) {
    Prng prng(seed);
    std::vector<std::pair<std::uint32_t, std::size_t>> cables;
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        for (std::size_t port = 1; port < fabric.nodes[i].ports.size(); ++port) {
            const topo::NodeIndex peer = fabric.nodes[i].ports[port].peer;
            if (fabric.nodes[i].kind == topo::NodeKind::kSwitch && peer != topo::kNoNode &&
                peer.value > i && fabric.node(peer).kind == topo::NodeKind::kSwitch) {
                cables.emplace_back(i, port);
            }
        }
    }
    const std::size_t lost = (cables.size() * percent + 99) / 100;
    for (std::size_t k = 0; k < lost; ++k) {
        std::swap(cables[k], cables[k + prng.below(cables.size() - k)]);
        topo::PortLink& link = fabric.nodes[cables[k].first].ports[cables[k].second];
        fabric.nodes[link.peer.value].ports[link.peer_port.value] = {};
        link = {};
    }
    return fabric;
}

void quality() {
    struct Tree {
        const char* name;
        topo::Spec spec;
        std::uint32_t percent;
    };
    constexpr std::uint64_t kSeeds = 40;
    constexpr std::uint64_t kSeedsOfAuto = 5;
    fmt::print("{:24} {:>4} {:>6}  {:8} {:>8} {:>8} {:>8}  {:>6} {:>8}\n", "tree", "lost", "seeds",
               "engine", "shift", "least", "most", "random", "max load");
    for (const Tree& t : {Tree{"2 levels, 512 hosts", tree(512, 32, 2), 0},
                          Tree{"2 levels, 512 hosts", tree(512, 32, 2), 1},
                          Tree{"2 levels, 512 hosts", tree(512, 32, 2), 5},
                          Tree{"3 levels, 432 hosts", tree(432, 12, 3), 0},
                          Tree{"3 levels, 432 hosts", tree(432, 12, 3), 1},
                          Tree{"3 levels, 432 hosts", tree(432, 12, 3), 3}}) {
        const topo::Fabric whole = fabric_or_stop(t.spec);
        for (const char* name : {"minhop", "updn", "ftree", "nue", "auto"}) {
            // auto tries several engines, which takes longer.
            const bool tries = std::strcmp(name, "auto") == 0;
            const std::uint64_t seeds = t.percent == 0 ? 1 : tries ? kSeedsOfAuto : kSeeds;
            double mean = 0;
            double least = 1e9;
            double most = 0;
            double random = 0;
            double load = 0;
            for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
                const Graph graph = graph_or_stop(damaged(whole, t.percent, seed));
                const auto tables = routing::find_engine(name)->route(graph, {.data_vls = 1});
                if (!tables) {
                    stop(tables.error().message);
                }
                const Report report = verify(graph, *tables);
                if (!report.arrives()) {
                    stop(fmt::format("{}: seed {} is not reached", name, seed));
                }
                const auto share = 1 / static_cast<double>(seeds);
                mean += report.shifts.mean * share;
                least = std::min(least, report.shifts.mean);
                most = std::max(most, report.shifts.mean);
                random += report.random.mean * share;
                load += static_cast<double>(report.load.max) * share;
            }
            fmt::print("{:24} {:3}% {:6}  {:8} {:8.2f} {:8.2f} {:8.2f}  {:6.2f} {:8.0f}\n", t.name,
                       t.percent, seeds, name, mean, least, most, random, load);
            std::fflush(stdout);
        }
    }
}

/// Prints how good the engines are on the fabric of a file, with eight lanes.
void on_dump(const char* file) {
    std::ifstream in(file, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    const auto fabric = topo::read_netlist(text, file);
    if (!fabric) {
        stop(fabric.error().message);
    }
    const Graph graph = graph_or_stop(*fabric);
    fmt::print("{:8} {:>8} {:>7} {:>7} {:>5} {:>9} {:>7} {:>7} {:>5}  {}\n", "engine", "route s",
               "shift", "random", "hops", "max load", "unused", "links", "lanes", "credit loops");
    for (const char* name : {"minhop", "updn", "ftree", "dfsssp", "lash", "nue", "auto"}) {
        const double start = cpu_seconds();
        const auto tables = routing::find_engine(name)->route(graph, {.data_vls = 8});
        const double routed = cpu_seconds() - start;
        if (!tables) {
            fmt::print("{:8} {}\n", name, tables.error().message);
            continue;
        }
        const Report report = verify(graph, *tables, {.random_samples = 40});
        fmt::print("{:8} {:8.3f} {:7.2f} {:7.2f} {:5} {:9} {:7} {:7} {:5}  {}{}{}\n", name, routed,
                   report.shifts.mean, report.random.mean, report.reach.hops_max, report.load.max,
                   report.load.unused, report.load.links, tables->vls,
                   report.acyclic() ? "none" : "yes", report.arrives() ? "" : ", not all reached",
                   tables->engine == name ? "" : fmt::format(" ({})", tables->engine));
    }
}

}  // namespace

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "all";
    if (std::strcmp(what, "dump") == 0 && argc == 3) {
        on_dump(argv[2]);
        return 0;
    }
    if (std::strcmp(what, "net") == 0 && argc == 7) {
        const auto number = [&](int i) {
            return static_cast<std::uint32_t>(std::strtoul(argv[i], nullptr, 10));
        };
        fmt::print("{}",
                   topo::write_ibsim(damaged(fabric_or_stop(tree(number(2), number(3), number(4))),
                                             number(5), number(6))));
        return 0;
    }
    if (std::strcmp(what, "quality") != 0) {
        speed();
    }
    if (std::strcmp(what, "speed") != 0) {
        quality();
    }
    return 0;
}
