// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Looks at finished tables as the switches will: does every packet arrive, can packets wait for
// each other in a circle, how evenly are the links used. It trusts nothing an engine says except
// the tables themselves.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/routing/dependencies.h"
#include "core/routing/graph.h"
#include "core/routing/tables.h"

namespace softib::routing {

struct VerifyOptions {
    bool switches_send = true;         ///< Port 0 of a switch is a source too.
    bool switches_receive = true;      ///< And its LID a destination: for dependencies.
    std::uint32_t shifts_max = 2048;   ///< Up to this many shifts are all tried …
    std::uint32_t shift_samples = 32;  ///< … for larger fabrics, this many of them.
    std::uint32_t random_samples = 8;  ///< Random permutations tried.
    std::span<const Lid> ranks = {};   ///< The LIDs that take part, in order; empty: all
                                       ///< hosts in the order of the graph.
    std::uint32_t examples_max = 8;    ///< Faults listed one by one.
    bool choices = false;              ///< Also follow what switches that choose by load may do.
    std::uint64_t seed = 1;
};

/// Whether packets between hosts arrive and cannot block each other; how good the paths are is
/// left.
inline constexpr VerifyOptions kSoundness{.switches_send = false,
                                          .switches_receive = false,
                                          .shifts_max = 0,
                                          .shift_samples = 0,
                                          .random_samples = 0};

/// A switch from which a LID is not reached.
struct Fault {
    std::uint32_t sw;
    Lid lid;
    bool loop;  ///< The packet runs in a circle; else it is dropped.
    friend bool operator==(const Fault&, const Fault&) = default;
};

struct Reachability {
    std::uint64_t pairs = 0;    ///< (End port, LID) with a host among them, joined by cables.
    std::uint64_t lost = 0;     ///< Those of them without a working route.
    std::uint64_t looping = 0;  ///< Those of the lost ones that run in circles.
    std::uint64_t apart = 0;    ///< Pairs in different islands: no fault of the routing.
    /// Switch to switch, joined by cables and without a route. Trees leave such holes: a route from
    /// one root to another would go up a second time.
    std::uint64_t switch_pairs_lost = 0;
    std::uint32_t hops_max = 0;         ///< Cables between switches on the longest route.
    std::uint32_t chosen_hops_max = 0;  ///< The same where switches choose.
    std::uint64_t choices_lost = 0;     ///< Choices that lead nowhere or round in circles.
    std::vector<Fault> examples;        ///< First lost or looping ones.
};

struct LinkLoad {
    std::uint64_t min = 0;  ///< Flows per link when every host sends to every other.
    std::uint64_t max = 0;
    double mean = 0;
    std::uint32_t links = 0;  ///< One per direction of a cable between switches.
    std::uint32_t unused = 0;
    double balance = 1;  ///< mean / max: 1 if all links carry the same.
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
    std::vector<Channel> cycle;  ///< Empty: no credit loop.
    /// Hops of routes at which the switch maps their service level to no lane.
    std::uint64_t discarded = 0;
    /// Pairs of switches with hosts whose two directions have different service levels. Programs
    /// that answer on the service level of the request leave the engine's plan on these.
    std::uint64_t one_way_sls = 0;
    LinkLoad load;
    Contention shifts;
    Contention random;

    bool arrives() const { return reach.lost == 0 && reach.choices_lost == 0 && discarded == 0; }
    bool acyclic() const { return cycle.empty(); }
    bool good() const { return arrives() && acyclic(); }
};

Report verify(const Graph& graph, const Tables& tables, const VerifyOptions& options = {});

/// "ftree: 240 pairs arrive, no credit loop, balance 0.98"
std::string summary(const Tables& tables, const Report& report);
/// One fact per line, for people.
std::vector<std::string> render(const Graph& graph, const Report& report);

/// Every host sends to the host `shift` places further on (in host order); flows on the busiest
/// link. Part of `verify`; engines' tests ask for single shifts.
std::uint32_t shift_contention(const Graph& graph, const Tables& tables, std::uint32_t shift);

}  // namespace softib::routing
