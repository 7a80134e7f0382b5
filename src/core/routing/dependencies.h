// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The channel dependency graph of routes. A channel is a virtual lane of a link. A route that goes
// from one channel to another makes the first wait for the second: that is a dependency. A cycle of
// dependencies can deadlock as soon as there is enough traffic (Dally and Seitz, 1987).

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/routing/graph.h"
#include "core/routing/route_walk.h"
#include "core/routing/tables.h"

namespace softib::routing {

struct Channel {
    std::uint32_t link;
    std::uint8_t vl;
    friend bool operator==(const Channel&, const Channel&) = default;
};

/// A set of dependencies, with one bit per possible one at each switch: (in port, VL) to (out port,
/// VL).
class Dependencies {
  public:
    Dependencies(const Graph& graph, const PortMap& ports, std::uint8_t vls);

    void add(std::uint32_t sw, std::uint8_t in_port, std::uint8_t in_vl, std::uint8_t out_port,
             std::uint8_t out_vl) {
        const std::size_t bit = out_vl * width_ + out_port;
        words_[row(sw, in_port, in_vl) + bit / 64] |= std::uint64_t{1} << bit % 64;
    }
    /// Calls visit(channel) for every channel that a channel waits for.
    void for_each_next(Channel from, auto visit) const;
    std::uint64_t count() const;
    std::uint8_t vls() const { return vls_; }
    /// Returns a cycle, in which each channel waits for the next and the last for the first; empty
    /// if there is none.
    std::vector<Channel> find_cycle() const;

  private:
    std::size_t row(std::uint32_t sw, std::uint8_t in_port, std::uint8_t in_vl) const {
        return ((std::size_t{sw} * width_ + in_port) * vls_ + in_vl) * row_words_;
    }

    const Graph& graph_;
    const PortMap& ports_;
    std::uint8_t vls_;
    std::size_t width_;
    std::size_t row_words_;
    std::vector<std::uint64_t> words_;
    std::vector<std::uint32_t> link_of_;  ///< Links by PortMap index.
};

/// Collects the dependencies of the routes to one LID after the other. Packets start at switches
/// with hosts, and at all others too if `from_switches`.
class DependencyCollector {
  public:
    DependencyCollector(const Graph& graph, const Tables& tables, const PortMap& ports,
                        bool from_switches);
    /// Adds the dependencies of the routes that `walk` has followed to a LID of `target`.
    void add(const RouteWalk& walk, const Target& target, Dependencies& dependencies);
    /// Number of hops at which the switch maps the service level of a route to no data VL.
    std::uint64_t discarded() const { return discarded_; }

  private:
    void find_starts();
    void add_one_vl(const RouteWalk& walk, std::uint8_t vl, Dependencies& dependencies);
    void add_by_pair(const RouteWalk& walk, const Target& target, Dependencies& dependencies);

    const Graph& graph_;
    const Tables& tables_;
    const PortMap& ports_;
    bool from_switches_;
    bool by_pair_;
    /// By switch: the in ports of packets that begin there, one of each set of ports with the same
    /// SL2VL tables.
    std::vector<std::vector<std::uint8_t>> starts_;
    std::uint64_t discarded_ = 0;
    std::vector<std::uint8_t> used_;       ///< By switch: whether packets pass it.
    std::vector<std::uint16_t> on_lanes_;  ///< By switch and out VL: mask of service levels sent.
};

void Dependencies::for_each_next(Channel from, auto visit) const {
    const Link& link = graph_.links()[from.link];
    const std::size_t begin = row(link.peer, link.peer_port, from.vl);
    for (std::size_t w = 0; w < row_words_; ++w) {
        for (std::uint64_t bits = words_[begin + w]; bits != 0; bits &= bits - 1) {
            const std::size_t bit = w * 64 + static_cast<std::size_t>(std::countr_zero(bits));
            visit(Channel{link_of_[std::size_t{link.peer} * width_ + bit % width_],
                          static_cast<std::uint8_t>(bit / width_)});
        }
    }
}

}  // namespace softib::routing
