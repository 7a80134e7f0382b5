// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Verifies finished tables: whether every packet arrives, whether packets can wait for each other
// in a circle, and how evenly the links are used. The verifier trusts nothing that an engine says
// except the tables themselves.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/routing/dependencies.h"
#include "core/routing/graph.h"
#include "core/routing/tables.h"

namespace softib::routing {

struct VerifyOptions {
    bool switches_send = true;         ///< Whether packets from port 0 make dependencies.
    bool switches_receive = true;      ///< Whether packets to port 0 make dependencies.
    std::uint32_t shifts_max = 2048;   ///< All shifts are tried if there are at most this many.
    std::uint32_t shift_samples = 32;  ///< Number of random shifts tried if there are more.
    std::uint32_t random_samples = 8;  ///< Number of random permutations tried.
    std::span<const Lid> ranks = {};   ///< The LIDs that take part in permutations, in order; if
                                       ///< empty, all hosts do, in the order of the graph.
    std::uint32_t examples_max = 8;    ///< Most faults that are listed one by one.
    bool choices = false;              ///< Whether to follow all choices of adaptive routing too.
    std::uint64_t seed = 1;
};

/// Options that only check that packets between hosts arrive and cannot deadlock, not how good the
/// paths are.
inline constexpr VerifyOptions kSoundness{.switches_send = false,
                                          .switches_receive = false,
                                          .shifts_max = 0,
                                          .shift_samples = 0,
                                          .random_samples = 0};

/// A switch, and a LID that is not reached from it.
struct Fault {
    std::uint32_t sw;
    Lid lid;
    bool loop;  ///< Whether the packet runs in a circle; else it is dropped.
    friend bool operator==(const Fault&, const Fault&) = default;
};

struct Reachability {
    std::uint64_t pairs = 0;    ///< Pairs of end port and LID, one of a host, joined by cables.
    std::uint64_t lost = 0;     ///< Pairs without a working route.
    std::uint64_t looping = 0;  ///< Lost pairs whose packets run in circles.
    std::uint64_t apart = 0;    ///< Pairs in different islands, which is no fault of the routing.
    /// Pairs of switches that are joined by cables but have no route. Trees leave such holes: a
    /// route from one root to another would go up a second time.
    std::uint64_t switch_pairs_lost = 0;
    std::uint32_t hops_max = 0;         ///< Cables between switches on the longest route.
    std::uint32_t chosen_hops_max = 0;  ///< Cables between switches on the longest way of choices.
    std::uint64_t choices_lost = 0;     ///< Choices that lead nowhere or round in circles.
    std::vector<Fault> examples;        ///< The first pairs that are lost.
};

/// Flows per link if every host sends to every other.
struct LinkLoad {
    std::uint64_t min = 0;
    std::uint64_t max = 0;
    double mean = 0;
    std::uint32_t links = 0;  ///< Number of links: one per direction of a cable between switches.
    std::uint32_t unused = 0;
    double balance = 1;  ///< Ratio of mean to max: 1 if all links have the same number of flows.
};

/// Flows on the busiest link of a permutation, over many permutations.
struct Contention {
    std::uint32_t tried = 0;
    std::uint32_t worst = 0;
    double mean = 0;
};

struct Report {
    Reachability reach;
    std::uint64_t dependencies = 0;
    std::vector<Channel> cycle;  ///< A credit loop; empty if there is none.
    /// Number of hops at which the switch maps the service level of a route to no data VL.
    std::uint64_t discarded = 0;
    /// Pairs of switches with hosts whose two directions have different service levels. A program
    /// that answers on the service level of the request uses the wrong one for these.
    std::uint64_t one_way_sls = 0;
    LinkLoad load;
    Contention shifts;
    Contention random;

    bool arrives() const { return reach.lost == 0 && reach.choices_lost == 0 && discarded == 0; }
    bool acyclic() const { return cycle.empty(); }
    bool good() const { return arrives() && acyclic(); }
};

Report verify(const Graph& graph, const Tables& tables, const VerifyOptions& options = {});

/// Returns a line such as "ftree: 240 pairs arrive, no credit loop, balance 0.98".
std::string summary(const Tables& tables, const Report& report);

}  // namespace softib::routing
