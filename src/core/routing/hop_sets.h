// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// For every switch and destination switch, the set of neighbours that are equally good next hops.
// A switch has few distinct sets (on a fat tree: all upper neighbours, or one lower one), so each
// is stored once and a matrix holds its number.
//
// Searches run for 64 destinations at a time, one bit each. Their result is one word per neighbour,
// which says for which destinations it is a next hop; add() transposes these words.

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "core/routing/graph.h"
#include "core/routing/tables.h"

namespace softib::routing {

inline constexpr std::uint32_t kBatch = 64;

class HopSets {
  public:
    explicit HopSets(std::uint32_t switches);

    /// Adds the sets of `sw` for 64 destinations: bit b of `masks[i]` says whether neighbour i of
    /// `sw` is a next hop towards switch first + b.
    void add(std::uint32_t sw, std::uint32_t first, std::span<const std::uint64_t> masks);

    /// Returns the number of the set of `sw` for a destination; 0 is the empty set.
    std::uint16_t of(std::uint32_t sw, std::uint32_t destination) const {
        return set_of_[std::size_t{sw} * switches_ + destination];
    }
    void clear(std::uint32_t sw, std::uint32_t destination) {
        set_of_[std::size_t{sw} * switches_ + destination] = 0;
    }
    std::uint32_t count(std::uint32_t sw) const {
        return static_cast<std::uint32_t>(sets_[sw].first.size() - 1);
    }
    /// Returns a set as positions in Neighbours::of(sw), ascending.
    std::span<const std::uint8_t> positions(std::uint32_t sw, std::uint16_t set) const {
        const Sets& sets = sets_[sw];
        return std::span(sets.positions)
            .subspan(sets.first[set], sets.first[set + 1U] - sets.first[set]);
    }
    /// Returns the sets as out ports, with all cables to each neighbour.
    PortGroups port_groups(const Graph& graph, const Neighbours& neighbours) const;

  private:
    using Key = std::array<std::uint64_t, 4>;  ///< One bit per neighbour; a switch has up to 254.

    struct Sets {
        std::vector<Key> keys;
        std::vector<std::uint16_t> slots;  ///< Hash table over keys; kFree: free.
        std::vector<std::uint32_t> first{0, 0};
        std::vector<std::uint8_t> positions;
    };

    std::uint16_t find_or_add(Sets& sets, const Key& key);
    static void grow(Sets& sets);

    std::uint32_t switches_;
    std::vector<Sets> sets_;
    std::vector<std::uint16_t> set_of_;
};

/// Returns the next hops on all shortest paths.
HopSets shortest_hops(const Graph& graph, const Neighbours& neighbours);

}  // namespace softib::routing
