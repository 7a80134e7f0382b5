// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Graphs for the tests of this folder: generated fabrics, whole and damaged, and random ones.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/prng.h"
#include "core/base/test_effort.h"
#include "core/routing/engine.h"
#include "core/routing/graph.h"
#include "core/routing/permutations.h"
#include "core/routing/tables.h"
#include "core/routing/test_report.h"
#include "core/routing/verifier.h"
#include "core/topo/graph.h"
#include "core/topo/spec.h"

namespace softib::routing {

/// Returns the last seed that a test tries: `count`, or a fourth of it under a sanitizer, which
/// takes 25 times as long.
constexpr std::uint64_t last_seed(std::uint64_t count) {
    return kSanitized ? (count + 3) / 4 : count;
}

inline topo::Fabric make_fabric(const topo::Spec& spec) {
    auto fabric = topo::generate(spec);
    EXPECT_TRUE(fabric) << (fabric ? "" : fabric.error().message);
    return fabric ? *fabric : topo::Fabric{};
}

inline Graph graph_from(const topo::Fabric& fabric, std::uint8_t lmc = 0) {
    auto graph = graph_of(fabric, lmc);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
    return graph ? *graph : Graph{};
}

inline Graph make_graph(const topo::Spec& spec, std::uint8_t lmc = 0) {
    return graph_from(make_fabric(spec), lmc);
}

/// Returns the flows on the busiest link if every host sends to the host `shift` places further on,
/// in host order.
inline std::uint32_t shift_contention(const Graph& graph, const Tables& tables,
                                      std::uint32_t shift) {
    const PortMap ports(graph);
    return Permutations(graph, tables, ports).shift(shift);
}

/// A fat tree of 32 leaves with 16 hosts each under 16 spines.
inline topo::Spec two_levels() {
    return {.shape = topo::Shape::kFatTree, .hosts = 512, .radix = 32, .levels = 2};
}
/// A fat tree of 432 hosts on 180 switches of 12 ports.
inline topo::Spec three_levels() {
    return {.shape = topo::Shape::kFatTree, .hosts = 432, .radix = 12, .levels = 3};
}
/// A torus with one host per switch.
inline topo::Spec torus(std::vector<std::uint32_t> dimensions) {
    std::uint32_t hosts = 1;
    for (const std::uint32_t size : dimensions) {
        hosts *= size;
    }
    return {.shape = topo::Shape::kTorus, .hosts = hosts, .dimensions = std::move(dimensions)};
}
inline topo::Spec dragonfly(std::uint32_t groups, std::uint32_t switches, std::uint32_t hosts) {
    return {.shape = topo::Shape::kDragonfly,
            .hosts = groups * switches * hosts,
            .hosts_per_switch = hosts,
            .groups = groups,
            .switches_per_group = switches};
}

inline void unplug(topo::Fabric& fabric, std::uint32_t node, std::size_t port) {
    topo::PortLink& link = fabric.nodes[node].ports[port];
    if (link.peer != topo::kNoNode) {
        fabric.nodes[link.peer.value].ports[link.peer_port.value] = {};
        link = {};
    }
}

/// Removes `cables` cables between switches, then all cables of `switches` switches.
inline topo::Fabric damage(topo::Fabric fabric, std::size_t cables, std::size_t switches,
                           std::uint64_t seed) {
    Prng prng(seed);
    std::vector<std::pair<std::uint32_t, std::size_t>> between;
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        if (fabric.nodes[i].kind != topo::NodeKind::kSwitch) {
            continue;
        }
        all.push_back(i);
        for (std::size_t port = 1; port < fabric.nodes[i].ports.size(); ++port) {
            const topo::PortLink& link = fabric.nodes[i].ports[port];
            if (link.peer != topo::kNoNode && link.peer.value > i &&
                fabric.node(link.peer).kind == topo::NodeKind::kSwitch) {
                between.emplace_back(i, port);
            }
        }
    }
    for (std::size_t k = 0; k < std::min(cables, between.size()); ++k) {
        std::swap(between[k], between[k + prng.below(between.size() - k)]);
        unplug(fabric, between[k].first, between[k].second);
    }
    for (std::size_t k = 0; k < std::min(switches, all.size()); ++k) {
        std::swap(all[k], all[k + prng.below(all.size() - k)]);
        for (std::size_t port = 1; port < fabric.nodes[all[k]].ports.size(); ++port) {
            unplug(fabric, all[k], port);
        }
    }
    return fabric;
}

/// Returns a graph of random cables between `switches` switches, with hosts on random ones:
/// parallel cables, islands and switches without hosts all occur.
inline Graph random_graph(std::uint32_t switches, std::uint32_t cables, std::uint32_t hosts,
                          std::uint64_t seed) {
    Prng prng(seed);
    GraphBuilder builder;
    std::vector<std::uint8_t> next_port(switches, 1);
    std::uint16_t lid = 1;
    for (std::uint32_t i = 0; i < switches; ++i) {
        builder.add_switch(Guid{100 + i});
    }
    const auto pick = [&] { return static_cast<std::uint32_t>(prng.below(switches)); };
    for (std::uint32_t i = 0; i < cables; ++i) {
        const std::uint32_t a = pick();
        if (const std::uint32_t b = pick(); a != b) {
            builder.add_cable(a, next_port[a]++, b, next_port[b]++);
        }
    }
    for (std::uint32_t i = 0; i < hosts; ++i) {
        const std::uint32_t at = pick();
        builder.add_target({.guid = Guid{10000 + i},
                            .lid = Lid{lid++},
                            .port = next_port[at]++,
                            .at = at,
                            .order = i});
    }
    for (std::uint32_t i = 0; i < switches; ++i) {
        builder.add_target({.guid = Guid{100 + i}, .lid = Lid{lid++}, .at = i});
    }
    auto graph = builder.build();
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
    return graph ? *graph : Graph{};
}

/// A tree of pods below directors, which are trees of two levels themselves. Each leaf has a cable
/// to every middle switch of its pod. `share` of these middle switches are boards of one director,
/// and each spine of the director has a cable to all its boards. So a spine has `share` ways down
/// into a pod. `leaves` are those of a pod, `hosts` those of a leaf.
struct DirectorTree {
    std::uint32_t pods, leaves, directors, share, hosts;
};

inline Graph make_directors(const DirectorTree& tree) {
    GraphBuilder builder;
    const std::uint32_t middles = tree.directors * tree.share;
    const std::uint32_t spines = tree.leaves;  // A board has as many cables up as down.
    std::uint64_t guid = 100;
    const auto add = [&](std::uint32_t count) {
        std::vector<std::uint32_t> all(count);
        std::ranges::generate(all, [&] { return builder.add_switch(Guid{guid++}); });
        return all;
    };
    const auto leaf = add(tree.pods * tree.leaves);
    const auto middle = add(tree.pods * middles);
    const auto spine = add(tree.directors * spines);
    std::uint16_t lid = 1;
    for (std::uint32_t l = 0; l < leaf.size(); ++l) {
        for (std::uint32_t h = 0; h < tree.hosts; ++h) {
            builder.add_target({.guid = Guid{10000U + lid},
                                .lid = Lid{lid},
                                .port = static_cast<std::uint8_t>(h + 1),
                                .at = leaf[l],
                                .order = lid});
            ++lid;
        }
        for (std::uint32_t m = 0; m < middles; ++m) {
            builder.add_cable(leaf[l], static_cast<std::uint8_t>(tree.hosts + 1 + m),
                              middle[l / tree.leaves * middles + m],
                              static_cast<std::uint8_t>(l % tree.leaves + 1));
        }
    }
    for (std::uint32_t m = 0; m < middle.size(); ++m) {
        const std::uint32_t director = m % middles / tree.share;
        const std::uint32_t board = m / middles * tree.share + m % tree.share;
        for (std::uint32_t s = 0; s < spines; ++s) {
            builder.add_cable(middle[m], static_cast<std::uint8_t>(tree.leaves + 1 + s),
                              spine[director * spines + s], static_cast<std::uint8_t>(board + 1));
        }
    }
    for (std::uint32_t sw = 0; sw < leaf.size() + middle.size() + spine.size(); ++sw) {
        builder.add_target({.guid = Guid{100U + sw}, .lid = Lid{lid++}, .at = sw});
    }
    auto graph = builder.build();
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
    return graph ? *graph : Graph{};
}

/// A tree as clusters grow: leaves with different numbers of hosts, bundles of cables that have
/// lost some, leaves that are joined to a part of the spines only, and a few hosts on the first
/// spine.
inline Graph uneven_tree(std::uint64_t seed) {
    Prng prng(seed);
    GraphBuilder builder;
    const auto leaves = static_cast<std::uint32_t>(5 + prng.below(4));
    const auto spines = static_cast<std::uint32_t>(2 + prng.below(3));
    const std::uint32_t switches = leaves + spines;
    std::vector<std::uint8_t> next_port(switches, 1);
    for (std::uint32_t i = 0; i < switches; ++i) {
        builder.add_switch(Guid{100 + i});
    }
    for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
        const bool part = leaf == 1 && spines > 2;
        for (std::uint32_t spine = leaves; spine < switches - (part ? 1 : 0); ++spine) {
            for (std::uint64_t cable = 0; cable < 4 - prng.below(6) / 5; ++cable) {
                builder.add_cable(leaf, next_port[leaf]++, spine, next_port[spine]++);
            }
        }
    }
    std::uint16_t lid = 1;
    for (std::uint32_t sw = 0; sw <= leaves; ++sw) {
        const std::uint64_t hosts = sw == leaves ? 2 : sw % 3 == 2 ? 5 : 14 + prng.below(4);
        for (std::uint64_t i = 0; i < hosts; ++i) {
            builder.add_target({.guid = Guid{10000U + lid},
                                .lid = Lid{lid},
                                .port = next_port[sw]++,
                                .at = sw,
                                .order = lid});
            ++lid;
        }
    }
    for (std::uint32_t i = 0; i < switches; ++i) {
        builder.add_target({.guid = Guid{100 + i}, .lid = Lid{lid++}, .at = i});
    }
    auto graph = builder.build();
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
    return graph ? *graph : Graph{};
}

inline Tables route(const char* engine, const Graph& graph, const Options& options = {}) {
    auto tables = find_engine(engine)->route(graph, options);
    EXPECT_TRUE(tables) << engine << ": " << (tables ? "" : tables.error().message);
    return tables ? *std::move(tables) : Tables{};
}

/// Verifies tables without permutations, which take longer than all the rest.
inline Report check(const Graph& graph, const Tables& tables) {
    return verify(graph, tables, {.shifts_max = 0, .shift_samples = 0, .random_samples = 0});
}

/// Succeeds if all pairs reach each other and there is no credit loop; else says what is wrong.
inline ::testing::AssertionResult holds(const Graph& graph, const Tables& tables) {
    const Report report = check(graph, tables);
    if (report.good()) {
        return ::testing::AssertionSuccess();
    }
    std::string text;
    for (const std::string& line : render(graph, report)) {
        text += "\n  " + line;
    }
    return ::testing::AssertionFailure() << tables.engine << text;
}

/// Returns the switches on the way from a switch to a LID, both ends included; empty if the LID is
/// not reached.
inline std::vector<std::uint32_t> path_to(const Graph& graph, const Tables& tables,
                                          std::uint32_t from, Lid lid) {
    const std::uint32_t to = graph.targets()[graph.target_of(lid)].at;
    std::vector<std::uint32_t> path{from};
    while (path.back() != to) {
        const std::uint32_t link = graph.link_at(path.back(), tables.lfts.at(path.back(), lid));
        if (link == kNone || path.size() > graph.switch_count()) {
            return {};
        }
        path.push_back(graph.links()[link].peer);
    }
    return path;
}

}  // namespace softib::routing
