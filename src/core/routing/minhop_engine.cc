// SPDX-License-Identifier: BSD-2-Clause
// Min-hop: every switch forwards a LID by the least used of the out ports on shortest paths, the
// lowest one of several. This balances the ports of each switch. It does not break the cyclic
// buffer dependencies of a torus or a dragonfly, which other engines do.
#include <array>

#include "core/routing/engine.h"
#include "core/routing/hop_sets.h"

namespace softib::routing {

namespace {

/// Finds the least used port of a set in constant time on average. Uses only ever grow, so all
/// ports before the cursor have more than `level` uses, and the next port with `level` uses is the
/// lowest of the least used ones.
struct Cursor {
    std::uint32_t level = 0;
    std::uint32_t next = 0;

    std::uint8_t take(std::span<const std::uint8_t> ports, std::array<std::uint32_t, 256>& uses) {
        for (;; ++next) {
            if (next == ports.size()) {
                next = 0;
                level = uses[ports[0]];
                for (const std::uint8_t port : ports) {
                    level = std::min(level, uses[port]);
                }
            }
            if (uses[ports[next]] <= level) {
                ++uses[ports[next]];
                return ports[next++];
            }
        }
    }
};

void fill_row(const Graph& graph, const PortGroups& groups, std::uint32_t sw, Lfts& lfts) {
    std::vector<Cursor> cursors(groups.count(sw));
    std::array<std::uint32_t, 256> uses{};
    const std::span<std::uint8_t> row = lfts.row(sw);
    graph.for_each_lid([&](const Target& target, Lid lid) {
        const std::uint16_t group = groups.of(sw, target.at);
        if (target.at == sw) {
            row[lid.value] = target.port;
        } else if (group != 0) {
            row[lid.value] = cursors[group].take(groups.ports(sw, group), uses);
        }
    });
}

}  // namespace

std::expected<Tables, Error> route_with_minhop(const Graph& graph, const Options&) {
    const Neighbours neighbours(graph);
    const PortGroups groups = shortest_hops(graph, neighbours).port_groups(graph, neighbours);
    Tables tables{.engine = "minhop", .lfts = Lfts(graph.switch_count(), graph.lid_max())};
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        fill_row(graph, groups, sw, tables.lfts);
    }
    return tables;
}

}  // namespace softib::routing
