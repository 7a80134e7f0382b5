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

void fill_in_turn(const Graph& graph, const Neighbours& neighbours, const HopSets& sets,
                  const Numbering& numbering, std::span<const std::uint32_t> divider, Lfts& lfts) {
    std::vector<PortCycle> cycles;
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        cycles.clear();
        for (std::uint32_t set = 0; set < sets.count(sw); ++set) {
            cycles.push_back(take_turns(graph, neighbours, sw,
                                        sets.positions(sw, static_cast<std::uint16_t>(set))));
        }
        const std::span<std::uint8_t> row = lfts.row(sw);
        fill_local(graph, sw, lfts);
        for (std::uint32_t to = 0; to < graph.switch_count(); ++to) {
            if (const std::uint16_t set = sets.of(sw, to); set != 0) {
                fill_in_turn(cycles[set], divider[sw], numbering.hosts(to), numbering.first(to),
                             row);
                fill_in_turn(cycles[set], divider[sw], numbering.own(to), numbering.own_first(to),
                             row);
            }
        }
    }
}

}  // namespace softib::routing
