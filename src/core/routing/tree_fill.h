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

/// All tables; numbers are divided by divider[sw] at each switch.
void fill_in_turn(const Graph& graph, const Neighbours& neighbours, const HopSets& sets,
                  const Numbering& numbering, std::span<const std::uint32_t> divider, Lfts& lfts);

}  // namespace softib::routing
