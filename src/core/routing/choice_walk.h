// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Follows every choice that switches have on the way to a destination (Tables::choice), as the
// verifier follows forwarding tables: each choice is a dependency between channels, and no sequence
// of choices may be endless.

#include <cstdint>
#include <vector>

#include "core/routing/dependencies.h"
#include "core/routing/graph.h"
#include "core/routing/route_walk.h"
#include "core/routing/tables.h"

namespace softib::routing {

class ChoiceWalk {
  public:
    ChoiceWalk(const Graph& graph, const Tables& tables, const PortMap& ports);

    /// Adds the dependencies of packets from all hosts to the end ports of switch `to`.
    void add(std::uint32_t to, Dependencies& dependencies);
    /// The most cables between switches on a way.
    std::uint32_t longest() const { return longest_; }
    /// Number of choices that lead nowhere, or round in circles.
    std::uint64_t lost() const { return lost_; }
    /// Number of hops at which the switch maps the service level to no data VL.
    std::uint64_t discarded() const { return discarded_; }

  private:
    /// Follows all choices of a switch. Returns the most cables that a packet has yet to pass.
    std::uint32_t follow(std::uint32_t sw, std::uint8_t in_port, std::uint8_t in_vl,
                         std::uint32_t depth);
    std::uint32_t step(std::uint32_t sw, std::uint8_t in_port, std::uint8_t in_vl,
                       std::uint8_t out_port, std::uint32_t depth);

    const Graph& graph_;
    const Tables& tables_;
    const PortMap& ports_;
    std::vector<std::uint8_t> left_;  ///< By port and VL: what follow() returned, or kNotSeen.
    // The destination and service level that are being followed.
    Dependencies* dependencies_ = nullptr;
    std::uint32_t to_ = 0;
    std::uint8_t sl_ = 0;
    std::uint32_t longest_ = 0;
    std::uint64_t lost_ = 0;
    std::uint64_t discarded_ = 0;
};

}  // namespace softib::routing
