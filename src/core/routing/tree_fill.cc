// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/tree_fill.h"

#include <algorithm>

namespace softib::routing {

PortCycle take_turns(const Graph& graph, const Neighbours& neighbours, std::uint32_t sw,
                     std::span<const std::uint8_t> positions) {
    std::uint32_t cables = 0;
    for (const std::uint8_t position : positions) {
        cables = std::max(cables, neighbours.of(sw)[position].count);
    }
    PortCycle cycle;
    for (std::uint32_t turn = 0; turn < cables; ++turn) {
        for (const std::uint8_t position : positions) {
            const auto links = neighbours.links(neighbours.of(sw)[position]);
            cycle.push_back(graph.links()[links[turn % links.size()]].port);
        }
    }
    return cycle;
}

void fill_in_turn(const PortCycle& cycle, std::uint32_t divider,
                  std::span<const Numbering::Entry> entries, std::uint32_t first,
                  std::span<std::uint8_t> row) {
    const auto size = static_cast<std::uint32_t>(cycle.size());
    const std::uint32_t quotient = first / divider;
    std::uint32_t rest = first - quotient * divider;
    std::uint32_t at = quotient % size;
    for (const Numbering::Entry& entry : entries) {
        std::uint32_t turn = at;
        for (std::uint32_t i = 0; i < entry.lids; ++i) {
            row[entry.lid + i] = cycle[turn];
            turn = turn + 1 == size ? 0 : turn + 1;
        }
        if (++rest == divider) {
            rest = 0;
            at = at + 1 == size ? 0 : at + 1;
        }
    }
}

Descent find_descent(const Graph& graph, const Neighbours& neighbours, std::uint32_t sw,
                     std::span<const std::uint8_t> positions) {
    Descent descent;
    for (const std::uint8_t position : positions) {
        descent.peers.push_back(neighbours.of(sw)[position].peer);
        descent.cables.push_back(take_turns(graph, neighbours, sw, {&position, 1}));
    }
    return descent;
}

void fill_descent(const Descent& descent, std::span<const std::uint32_t> wanted,
                  std::uint32_t divider, std::span<const Numbering::Entry> entries,
                  std::uint32_t first, std::span<std::uint8_t> row) {
    std::uint32_t number = first;
    for (const Numbering::Entry& entry : entries) {
        const std::uint32_t climbed = number < wanted.size() ? wanted[number] : kNone;
        const auto found = std::ranges::find(descent.peers, climbed);
        const std::uint32_t turn = wanted.empty() ? number / divider : number;
        const std::size_t start = found == descent.peers.end()
                                      ? turn
                                      : static_cast<std::size_t>(found - descent.peers.begin());
        for (std::uint32_t i = 0; i < entry.lids; ++i) {
            const PortCycle& cycle = descent.cables[(start + i) % descent.cables.size()];
            row[entry.lid + i] = cycle[number / divider % cycle.size()];
        }
        ++number;
    }
}

namespace {

/// The ports of one set of next hops, either as a cycle or as a descent.
struct Way {
    PortCycle cycle;  ///< For one neighbour, or several of which not all lead down.
    Descent descent;  ///< For several neighbours that all lead down.
};

Way find_way(const Graph& graph, const Neighbours& neighbours, std::uint32_t sw,
             std::span<const std::uint8_t> positions, const Places& places) {
    const auto leads_down = [&](std::uint8_t position) {
        return places[neighbours.of(sw)[position].peer] > places[sw];
    };
    if (positions.size() > 1 && std::ranges::all_of(positions, leads_down)) {
        return {.cycle = {}, .descent = find_descent(graph, neighbours, sw, positions)};
    }
    return {.cycle = take_turns(graph, neighbours, sw, positions), .descent = {}};
}

/// Returns, by number, the switch to which it climbs on the level below `sw`.
std::span<const std::uint32_t> climbs_below(const TreeNumbers& numbers, std::uint32_t sw) {
    const std::uint32_t level = numbers.levels == nullptr ? 0 : numbers.levels->level[sw];
    return level == 0 ? std::span<const std::uint32_t>{} : numbers.climbs[level - 1];
}

}  // namespace

void fill_in_turn(const Graph& graph, const Neighbours& neighbours, const HopSets& sets,
                  const Numbering& numbering, const TreeNumbers& numbers, Lfts& lfts) {
    std::vector<Way> ways;
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        ways.clear();
        for (std::uint32_t set = 0; set < sets.count(sw); ++set) {
            ways.push_back(find_way(graph, neighbours, sw,
                                    sets.positions(sw, static_cast<std::uint16_t>(set)),
                                    numbers.places));
        }
        const std::span<std::uint8_t> row = lfts.row(sw);
        const auto wanted = climbs_below(numbers, sw);
        const auto fill = [&](const Way& way, std::span<const Numbering::Entry> entries,
                              std::uint32_t first) {
            if (way.descent.peers.empty()) {
                fill_in_turn(way.cycle, numbers.divider[sw], entries, first, row);
            } else {
                fill_descent(way.descent, wanted, numbers.divider[sw], entries, first, row);
            }
        };
        fill_local(graph, sw, lfts);
        for (std::uint32_t to = 0; to < graph.switch_count(); ++to) {
            if (const std::uint16_t set = sets.of(sw, to); set != 0) {
                fill(ways[set], numbering.hosts(to), numbering.first(to));
                fill(ways[set], numbering.own(to), numbering.own_first(to));
            }
        }
    }
}

}  // namespace softib::routing
