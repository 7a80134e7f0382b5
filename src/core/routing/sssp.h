// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Shortest paths with weights, destination by destination (SSSP routing: Hoefler, Schneider and
// Lumsdaine, 2009). Every route adds its flows to the weights of its links, so that later routes
// take the links that earlier ones left free. Paths have the fewest hops that there are. The routes
// may wait for each other in circles: layers.h parts them.

#include <cstdint>
#include <vector>

#include "core/routing/graph.h"
#include "core/routing/tables.h"

namespace softib::routing {

class Sssp {
  public:
    explicit Sssp(const Graph& graph);

    /// Finds the shortest path with the least weight from every switch to a switch. Adds to the
    /// weights what all hosts send to it if `lids` of its LIDs are reached in this way.
    void to(std::uint32_t to, std::uint32_t lids);
    /// Returns the link by which a switch sends to the last destination; kNone if there is none.
    std::uint32_t out(std::uint32_t sw) const { return out_[sw]; }

  private:
    const Graph& graph_;
    std::vector<std::uint64_t> weights_;  ///< By link: flows of all routes so far.
    std::vector<std::uint32_t> out_;
    std::vector<std::uint32_t> hops_;
    std::vector<std::uint64_t> costs_;
    std::vector<std::uint64_t> through_;
    std::vector<std::uint32_t> queue_;
};

/// Returns tables with such a path to every LID, and no lanes yet.
Lfts route_by_weights(const Graph& graph);
/// Returns tables with one such path to each switch: its LIDs take the same switches, and parallel
/// cables between them in turn. Without `spread` all weights stay 0, so that paths are by the
/// lowest port, on a torus mostly dimension by dimension.
Lfts route_by_switch(const Graph& graph, bool spread);

}  // namespace softib::routing
