// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A fabric cut into parts, so that several engines carry it together: threads of a process, or
// processes of a job. An engine has the nodes of its part and, beyond each cut cable, the switch at
// its other end as a ghost that does nothing. Packets and credits that cross a cut cable are handed
// over as records (Crossing).
//
// The engines advance in windows. What one does within a window reaches another no sooner than a
// cable's delay later (the lookahead), so each handles all events of the window by itself, and they
// exchange crossings in between. Events are ordered by time and link alone, and the parts keep that
// order: the results are those of one engine to the last bit.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/routing/graph.h"
#include "core/routing/tables.h"
#include "core/topo/graph.h"
#include "net/engine/engine.h"
#include "net/model.h"
#include "net/plant/fetch.h"

namespace softib::net {

/// Returns the part of each node. Switches with HCAs are dealt out in equal shares by the number of
/// their HCAs, then the other switches level by level, in the order of nodes; an HCA goes with its
/// switch. Parts may stay empty where there are fewer switches than parts.
std::vector<std::uint32_t> assign_parts(const topo::Fabric& fabric, std::uint32_t parts);

/// One part of a fabric.
class Part {
  public:
    /// `part_of`: the part of each node, from assign_parts().
    Part(const topo::Fabric& whole, std::span<const std::uint32_t> part_of, std::uint32_t part);

    /// Returns the nodes of this part and its ghosts, in the order of the whole fabric.
    const topo::Fabric& fabric() const { return fabric_; }
    /// Returns the configuration of this part's engine: forwarding tables have room for the LIDs of
    /// the whole fabric.
    PlantConfig config(const PlantConfig& of_whole) const;
    /// Numbers the links as in the whole fabric, and cuts those that leave the part.
    void prepare(Engine& engine);
    /// Writes routes of the whole fabric into the engine of this part.
    void write_routes(Plant& plant, const routing::Graph& graph,
                      const routing::Tables& tables) const;
    /// Writes adaptive routing groups of the whole fabric into the engine of this part.
    void write_adaptive_routes(Plant& plant, const routing::Graph& graph,
                               const routing::Tables& tables) const;

    /// Returns the number here of a node of the whole fabric; kNone if the node is in another part,
    /// even if it is here as a ghost.
    std::uint32_t local(std::uint32_t node) const { return is_ghost(node) ? kNone : here_[node]; }
    /// Takes down a cable, or all cables of a node, as far as they are in this part. For a cable
    /// that was cut, the parts at both of its ends must do so.
    void fail(Engine& engine, const Hop& what) const;
    /// Hands a crossing to this part's engine.
    void take(Engine& engine, const Crossing& crossing) const {
        engine.take_crossing(link_here_[crossing.link], crossing);
    }
    /// Prefetches what take() will touch for crossings some places after `place`: the records of
    /// their links may be anywhere in memory.
    void fetch_behind(const Engine& engine, std::span<const Crossing> crossings,
                      std::size_t place) const {
        constexpr std::size_t kFar = 24;
        constexpr std::size_t kNear = 12;
        if (place + kFar < crossings.size()) {
            fetch(place_of(link_here_.data(), crossings[place + kFar].link));
            const Crossing& near = crossings[place + kNear];
            if (near.link != kNone) {
                engine.fetch_crossing(link_here_[near.link], near);
            }
        }
    }
    /// Returns how much later than it was sent a crossing arrives at the earliest: the delay of the
    /// shortest cut cable; kNever if none is cut. Known after prepare().
    TimePs lookahead() const { return lookahead_; }

  private:
    bool is_ghost(std::uint32_t node) const { return here_[node] == kNone || ghost_[here_[node]]; }

    topo::Fabric fabric_;
    std::uint32_t whole_nodes_ = 0;
    std::vector<std::uint32_t> here_;  ///< By node of the whole fabric: its number here, or kNone.
    std::vector<std::uint32_t> first_link_;  ///< By node here: its port 0 in the whole fabric.
    std::vector<std::uint32_t> part_;        ///< By node here: its part.
    std::vector<bool> ghost_;                ///< By node here.
    std::vector<std::uint32_t> switches_;    ///< By switch of the whole: its node here, or kNone.
    std::vector<std::uint32_t> link_here_;   ///< By link of the whole fabric: its number here.
    TimePs lookahead_ = kNever;
};

/// How the engines of one fabric exchange crossings and agree between windows. All parts make the
/// same calls in the same order.
class Exchange {
  public:
    virtual ~Exchange() = default;
    /// Returns the least of the values that all parts pass.
    virtual TimePs least(TimePs mine) = 0;
    /// Returns the sum of the values that all parts pass.
    virtual std::uint64_t sum(std::uint64_t mine) = 0;
    using Taker = std::function<void(std::span<const Crossing>)>;
    /// Sends the lists in `out`, one for each part, and empties them; calls `take` with what other
    /// parts sent to this one. Callers must call least() between any two calls of swap().
    virtual void swap(std::vector<std::vector<Crossing>>& out, const Taker& take) = 0;
};

/// Runs the network of one part until a time. The threads or processes of all other parts must do
/// the same.
template <typename Net>
void run_part(Net& net, Part& part, std::uint32_t parts, Exchange& exchange,
              TimePs until = kNever) {
    Engine& engine = net.engine();
    engine.border().crossings().resize(parts);
    const Exchange::Taker take = [&](std::span<const Crossing> crossings) {
        for (std::size_t i = 0; i < crossings.size(); ++i) {
            part.fetch_behind(engine, crossings, i);
            part.take(engine, crossings[i]);
        }
    };
    const TimePs lookahead = exchange.least(part.lookahead());
    // What was injected before the first event has crossings too.
    net.run(engine.now());
    for (;;) {
        exchange.swap(engine.border().crossings(), take);
        const TimePs begin = exchange.least(engine.idle() ? kNever : engine.earliest());
        if (begin == kNever || begin > until) {
            break;
        }
        const TimePs room = kNever - begin;
        net.run(std::min(until, lookahead >= room ? kNever - 1 : begin + lookahead - 1));
    }
    if (until != kNever) {
        net.run(until);
    }
}

}  // namespace softib::net
