// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Finds the coordinates of a torus or mesh from its cables alone. Two cables that are opposite
// sides of a square run in the same direction, between the same two slices of the torus; cables
// that meet without forming a square belong to the same dimension. This survives missing cables and
// switches as long as enough squares are left.
//
// A ring of four is a square itself, and is found as two dimensions of size two, which routing can
// use as well.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/routing/graph.h"

namespace softib::routing {

struct Torus {
    struct Dimension {
        std::uint32_t size = 0;
        bool ring = false;              ///< Whether cables join both ends; else it is a line.
        std::vector<std::uint32_t> at;  ///< By switch: its coordinate; kNone if it has no cables.
    };
    std::vector<Dimension> dimensions;
    std::vector<std::uint32_t> switch_at;  ///< The switch at each index(); kNone if it is missing.

    /// Returns the coordinates of a switch as one number; the last dimension varies fastest.
    std::uint32_t index(std::uint32_t sw) const;
    /// Returns the switch one step away in a dimension; kNone beyond the end of a line, or if the
    /// switch is missing.
    std::uint32_t step(std::uint32_t sw, std::size_t dimension, bool forward) const;
};

/// Returns the torus or mesh that the graph is; std::nullopt if it is neither.
std::optional<Torus> find_torus(const Graph& graph, const Neighbours& neighbours);

}  // namespace softib::routing
