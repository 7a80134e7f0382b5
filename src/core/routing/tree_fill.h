// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Fills forwarding tables in closed form: the number of a destination decides which of the equally
// good next hops it takes, without counters. Numbers are divided by what the levels below have
// already used up of them (D-mod-K), so that destinations that met at one switch part at the next.

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

/// The ports that quotients 0, 1, 2, … take in turn.
using PortCycle = std::vector<std::uint8_t>;

/// All cables to the neighbours in turn: first one of each, then the second ones.
PortCycle take_turns(const Graph& graph, const Neighbours& neighbours, std::uint32_t sw,
                     std::span<const std::uint8_t> positions);

/// Entries with consecutive numbers from `first` on. LIDs of one end port take the following
/// places in the cycle, so that they leave through different ports.
void fill_in_turn(const PortCycle& cycle, std::uint32_t divider,
                  std::span<const Numbering::Entry> entries, std::uint32_t first,
                  std::span<std::uint8_t> row);

/// By level and number of a host: the switch of that level to which the host's own leaf would send
/// this number upwards, or kNone.
using Climbs = std::vector<std::vector<std::uint32_t>>;

/// Several neighbours below that lead to the same switch, as in trees whose upper switches have
/// several cables into a pod. Of these a number goes down by the one to which it would climb:
/// hosts of one leaf climb to different switches, so they come down by different ones too.
struct Descent {
    std::vector<std::uint32_t> peers;
    std::vector<PortCycle> cables;  ///< By peer.
};

Descent find_descent(const Graph& graph, const Neighbours& neighbours, std::uint32_t sw,
                     std::span<const std::uint8_t> positions);

/// The same for entries that go down. `wanted`: by number, the peer that it would climb to; others
/// take the peers in turn.
void fill_descent(const Descent& descent, std::span<const std::uint32_t> wanted,
                  std::uint32_t divider, std::span<const Numbering::Entry> entries,
                  std::uint32_t first, std::span<std::uint8_t> row);

/// Which way is up, and what numbers mean there.
struct TreeNumbers {
    const Places& places;
    std::span<const std::uint32_t> divider;  ///< By switch.
    const TreeLevels* levels = nullptr;  ///< nullptr: the graph has none, then no climbs either.
    Climbs climbs = {};
};

/// All tables.
void fill_in_turn(const Graph& graph, const Neighbours& neighbours, const HopSets& sets,
                  const Numbering& numbering, const TreeNumbers& numbers, Lfts& lfts);

}  // namespace softib::routing
