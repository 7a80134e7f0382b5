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
#include "core/topo/fabric.h"
#include "net/engine.h"
#include "net/fetch.h"
#include "net/model.h"

namespace softib::net {

/// The part of each node: switches with adapters in equal shares by their adapters, then the other
/// switches level by level, in the order of nodes; an adapter goes with its switch. Parts may stay
/// empty where there are fewer switches than parts.
std::vector<std::uint32_t> assign_parts(const topo::Fabric& fabric, std::uint32_t parts);

/// One part of a fabric.
class Part {
  public:
    /// `part_of` is by node, as assign_parts gives it.
    Part(const topo::Fabric& whole, std::span<const std::uint32_t> part_of, std::uint32_t part);

    /// The nodes of this part and its ghosts, in the order of the whole fabric.
    const topo::Fabric& fabric() const { return fabric_; }
    /// The configuration of an engine for it: `lid_max` is that of the whole fabric.
    PlantConfig config(const PlantConfig& of_whole) const;
    /// Numbers the links, and cuts those that leave the part.
    void prepare(Engine& engine);
    /// Writes routes of the whole fabric into the engine of this part.
    void write_routes(Plant& plant, const routing::Graph& graph,
                      const routing::Tables& tables) const;
    /// The same of its adaptive routing groups.
    void write_adaptive_routes(Plant& plant, const routing::Graph& graph,
                               const routing::Tables& tables) const;

    /// The number here of a node of the whole fabric; kNone: it is elsewhere, or a ghost.
    std::uint32_t local(std::uint32_t node) const { return is_ghost(node) ? kNone : here_[node]; }
    /// Takes down a cable, or all cables of a node, as far as they are here: at both ends of one
    /// that was cut, each part does so.
    void fail(Engine& engine, const Hop& what) const;
    /// Hands a crossing to this part's engine.
    void take(Engine& engine, const Crossing& crossing) const {
        engine.take_crossing(link_here_[crossing.link], crossing);
    }
    /// Fetches what take() will touch of crossings behind the one at `place`: their links lie
    /// anywhere.
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
    /// How far crossings reach ahead: the shortest of the cut cables; kNever if none is cut. After
    /// prepare().
    TimePs lookahead() const { return lookahead_; }

  private:
    bool is_ghost(std::uint32_t node) const { return here_[node] == kNone || ghost_[here_[node]]; }

    topo::Fabric fabric_;
    std::uint32_t whole_nodes_ = 0;
    std::vector<std::uint32_t> here_;        ///< By node of the whole fabric.
    std::vector<std::uint32_t> first_link_;  ///< By node here: its port 0 in the whole fabric.
    std::vector<std::uint32_t> part_;        ///< By node here.
    std::vector<bool> ghost_;                ///< By node here.
    std::vector<std::uint32_t> switches_;    ///< By switch of the whole: its node here, or kNone.
    std::vector<std::uint32_t> link_here_;   ///< By link of the whole fabric.
    TimePs lookahead_ = kNever;
};

/// How the engines of one fabric meet between windows.
class Exchange {
  public:
    virtual ~Exchange() = default;
    /// Returns the least of what all parts say.
    virtual TimePs least(TimePs mine) = 0;
    /// Returns the sum of what all parts say.
    virtual std::uint64_t sum(std::uint64_t mine) = 0;
    using Taker = std::function<void(std::span<const Crossing>)>;
    /// Sends `out`, one list for each part, and empties it; calls `take` with what others sent
    /// here. least() is called between any two of these calls.
    virtual void swap(std::vector<std::vector<Crossing>>& out, const Taker& take) = 0;
};

/// Runs the network of one part until a time, together with those that run the others.
template <typename Net>
void run_part(Net& net, Part& part, std::uint32_t parts, Exchange& exchange,
              TimePs until = kNever) {
    net.crossings().resize(parts);
    const Exchange::Taker take = [&](std::span<const Crossing> crossings) {
        for (std::size_t i = 0; i < crossings.size(); ++i) {
            part.fetch_behind(net, crossings, i);
            part.take(net, crossings[i]);
        }
    };
    const TimePs lookahead = exchange.least(part.lookahead());
    // What was injected before the first event has crossings too.
    net.run(net.now());
    for (;;) {
        exchange.swap(net.crossings(), take);
        const TimePs begin = exchange.least(net.idle() ? kNever : net.earliest());
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
