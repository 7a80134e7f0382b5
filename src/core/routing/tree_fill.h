// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Fills forwarding tables in closed form: the number of a destination (numbering.h) decides which
// of the equally good next hops it takes, without counters. At each level the number is first
// divided by the number of ways that the levels below have used (D-mod-K), so that destinations
// that met at one switch part at the next.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/routing/graph.h"
#include "core/routing/hop_sets.h"
#include "core/routing/numbering.h"
#include "core/routing/tables.h"
#include "core/routing/tree.h"

namespace softib::routing {

/// The ports that destinations with quotients 0, 1, 2, … take in turn.
using PortCycle = std::vector<std::uint8_t>;

/// Returns the ports of all cables to the neighbours: first one cable to each, then the second
/// ones.
PortCycle take_turns(const Graph& graph, const Neighbours& neighbours, std::uint32_t sw,
                     std::span<const std::uint8_t> positions);

/// Fills the entries of a row of the LFT for destinations with consecutive numbers from `first` on.
/// Further LIDs of an end port take the next places in the cycle, so that they leave through
/// different ports.
void fill_in_turn(const PortCycle& cycle, std::uint32_t divider,
                  std::span<const Numbering::Entry> entries, std::uint32_t first,
                  std::span<std::uint8_t> row);

/// By level and number of a host: the switch of that level to which a packet with this number would
/// climb from the host's own leaf; kNone if there is none.
using Climbs = std::vector<std::vector<std::uint32_t>>;

/// Several neighbours below a switch that lead to the same destination, as in trees whose upper
/// switches have several cables into a pod. A number goes down by the neighbour to which it would
/// climb. Since hosts of one leaf climb to different switches, they also come down by different
/// ones.
struct Descent {
    std::vector<std::uint32_t> peers;
    std::vector<PortCycle> cables;  ///< The cables to each of `peers`.
};

Descent find_descent(const Graph& graph, const Neighbours& neighbours, std::uint32_t sw,
                     std::span<const std::uint8_t> positions);

/// Fills the entries of a row like fill_in_turn(), for destinations that lead down. `wanted` has,
/// by number, the peer that it would climb to; numbers without one take the peers in turn.
void fill_descent(const Descent& descent, std::span<const std::uint32_t> wanted,
                  std::uint32_t divider, std::span<const Numbering::Entry> entries,
                  std::uint32_t first, std::span<std::uint8_t> row);

/// Which way is up, and how numbers choose among next hops.
struct TreeNumbers {
    const Places& places;
    std::span<const std::uint32_t> divider;  ///< By switch: what numbers are divided by.
    const TreeLevels* levels = nullptr;      ///< Levels; nullptr if the graph is no tree.
    Climbs climbs = {};                      ///< Empty if the graph is no tree.
};

/// Fills the forwarding tables of all switches.
void fill_in_turn(const Graph& graph, const Neighbours& neighbours, const HopSets& sets,
                  const Numbering& numbering, const TreeNumbers& numbers, Lfts& lfts);

}  // namespace softib::routing
