// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Finds the coordinates of a torus or mesh from its cables alone. Two cables that are opposite
// sides of a square run in the same direction, between the same two slices of the torus; cables
// that meet without forming a square belong to the same dimension. This survives missing cables and
// switches as long as enough squares are left.
//
// A ring of four is a square itself and comes out as two dimensions of two. Routing does not mind.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/routing/graph.h"

namespace softib::routing {

struct Torus {
    struct Dimension {
        std::uint32_t size = 0;
        bool ring = false;              ///< False: a line, without cables from end to end.
        std::vector<std::uint32_t> at;  ///< By switch: its coordinate; kNone without cables.
    };
    std::vector<Dimension> dimensions;
    std::vector<std::uint32_t> switch_at;  ///< By index: the switch there; kNone: missing.

    /// Coordinates as one number; the last dimension runs fastest.
    std::uint32_t index(std::uint32_t sw) const;
    /// The switch one step away in a dimension; kNone beyond the end of a line or if missing.
    std::uint32_t step(std::uint32_t sw, std::size_t dimension, bool forward) const;
};

std::optional<Torus> find_torus(const Graph& graph, const Neighbours& neighbours);

}  // namespace softib::routing
