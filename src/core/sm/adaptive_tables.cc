// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/adaptive_tables.h"

#include <algorithm>
#include <map>
#include <span>

#include "core/sm/set_request.h"

namespace softib::sm {

namespace {

using routing::Origin;
using wire::ArForwardingEntry;
using wire::ArGroupTable;
using wire::ArLidState;
using wire::ArLinearForwardingTable;
using wire::PortSlToPrivateLftMap;
using wire::SmAttribute;

constexpr std::size_t kPortsMin = 2;  ///< Fewest ports of a set in the common table.

/// The groups of one switch with longer ways. The groups of the shortest ways come first and keep
/// the numbers that they have in Tables::groups.
class LongWayGroups {
  public:
    struct Sets {
        std::span<const std::uint8_t> near;
        std::span<const std::uint8_t> far;
    };

    LongWayGroups(const routing::Graph& graph, const routing::Tables& tables, std::uint32_t sw)
        : tables_(tables), sw_(sw) {
        for (std::uint16_t group = 0; group < tables.groups.count(sw); ++group) {
            sets_.push_back({tables.groups.ports(sw, group), {}});
        }
        for (std::uint32_t to = 0; to < graph.switch_count(); ++to) {
            for (const Origin origin : {Origin::kHost, Origin::kNear}) {
                add(origin, to);
            }
        }
    }
    const std::vector<Sets>& sets() const { return sets_; }
    /// Returns the group for packets of an origin to the end ports of a switch.
    std::uint16_t of(Origin origin, std::uint32_t to) const {
        const auto found = numbers_.find(key(origin, to));
        return found == numbers_.end() ? tables_.groups.of(sw_, to) : found->second;
    }

  private:
    struct Key {
        Origin origin;
        std::uint16_t near;
        std::uint16_t other;
        friend auto operator<=>(const Key&, const Key&) = default;
    };
    Key key(Origin origin, std::uint32_t to) const {
        const routing::LongWays& ways = tables_.long_ways;
        return origin == Origin::kHost
                   ? Key{origin, tables_.groups.of(sw_, to), ways.beside.of(sw_, to)}
                   : Key{origin, 0, ways.instead.of(sw_, to)};
    }
    void add(Origin origin, std::uint32_t to) {
        const Key wanted = key(origin, to);
        if (wanted.other == 0 ||
            !numbers_.emplace(wanted, static_cast<std::uint16_t>(sets_.size())).second) {
            return;
        }
        const routing::LongWays& ways = tables_.long_ways;
        sets_.push_back(origin == Origin::kHost ? Sets{tables_.groups.ports(sw_, wanted.near),
                                                       ways.beside.ports(sw_, wanted.other)}
                                                : Sets{ways.instead.ports(sw_, wanted.other), {}});
    }

    const routing::Tables& tables_;
    std::uint32_t sw_;
    std::vector<Sets> sets_;
    std::map<Key, std::uint16_t> numbers_;
};

void put_set(std::vector<ArGroupTable>& blocks, std::size_t number,
             std::span<const std::uint8_t> ports) {
    const std::size_t block = number / ArGroupTable::kGroups;
    blocks.resize(std::max(blocks.size(), block + 1));
    for (const std::uint8_t port : ports) {
        blocks[block].add(number % ArGroupTable::kGroups, port);
    }
}

/// Returns a forwarding table by which every LID is forwarded by its default port.
std::vector<ArLinearForwardingTable> plain_table(const routing::Graph& graph,
                                                 const routing::Tables& tables, std::uint32_t sw) {
    const auto row = tables.lfts.row(sw);
    const std::size_t blocks =
        graph.lid_max().value / ArLinearForwardingTable::kEntries + std::size_t{1};
    std::vector<ArLinearForwardingTable> plain(blocks);
    for (std::size_t lid = 0; lid < blocks * ArLinearForwardingTable::kEntries; ++lid) {
        ArForwardingEntry& entry = plain[lid / ArLinearForwardingTable::kEntries]
                                       .entry[lid % ArLinearForwardingTable::kEntries];
        entry.default_port = lid < row.size() ? row[lid] : routing::kNoPath;
        entry.group_number = entry.default_port;
    }
    return plain;
}

void choose(std::vector<ArLinearForwardingTable>& table, Lid lid, std::uint16_t group) {
    ArForwardingEntry& entry = table[lid.value / ArLinearForwardingTable::kEntries]
                                   .entry[lid.value % ArLinearForwardingTable::kEntries];
    entry.lid_state = ArLidState::kFree;
    entry.group_number = group;
}

void add_long_ways(AdaptiveTables& wanted, const routing::Graph& graph,
                   const routing::Tables& tables, std::uint32_t sw, std::uint8_t ports) {
    const LongWayGroups groups(graph, tables, sw);
    wanted.info.sub_groups_active = 1;
    wanted.info.group_top = static_cast<std::uint16_t>(groups.sets().size() - 1);
    wanted.groups.clear();
    for (std::size_t group = 0; group < groups.sets().size(); ++group) {
        put_set(wanted.groups, group * 2, groups.sets()[group].near);
        put_set(wanted.groups, group * 2 + 1, groups.sets()[group].far);
    }
    for (const Origin origin : {Origin::kHost, Origin::kNear}) {
        auto& table = wanted.forwarding[static_cast<std::size_t>(origin)];
        table = plain_table(graph, tables, sw);
        graph.for_each_lid([&](const routing::Target& target, Lid lid) {
            if (const std::uint16_t group = groups.of(origin, target.at); group != 0) {
                choose(table, lid, group);
            }
        });
    }
    wanted.table_of_port.resize(ports / PortSlToPrivateLftMap::kPorts + 1);
    for (std::size_t port = 0; port <= ports; ++port) {
        wanted.table_of_port[port / PortSlToPrivateLftMap::kPorts].set(
            port % PortSlToPrivateLftMap::kPorts, static_cast<std::uint8_t>(tables.long_ways.origin(
                                                      sw, static_cast<std::uint8_t>(port))));
    }
}

}  // namespace

std::uint32_t long_way_groups(const routing::Graph& graph, const routing::Tables& tables,
                              std::uint32_t sw) {
    return tables.long_ways.empty()
               ? 0
               : static_cast<std::uint32_t>(LongWayGroups(graph, tables, sw).sets().size());
}

AdaptiveTables adaptive_tables(const routing::Graph& graph, const routing::Tables& tables,
                               std::uint32_t sw, std::uint16_t groups_max, std::uint8_t ports) {
    AdaptiveTables wanted;
    const auto groups =
        static_cast<std::uint16_t>(std::min<std::uint32_t>(tables.groups.count(sw), groups_max));
    wanted.info.enabled = true;
    wanted.info.group_top = static_cast<std::uint16_t>(groups - 1);
    for (std::uint16_t group = 0; group < groups; ++group) {
        put_set(wanted.groups, group, tables.groups.ports(sw, group));
    }
    wanted.forwarding.front() = plain_table(graph, tables, sw);
    graph.for_each_lid([&](const routing::Target& target, Lid lid) {
        const std::uint16_t group = tables.groups.of(sw, target.at);
        if (group < groups && tables.groups.ports(sw, group).size() >= kPortsMin) {
            choose(wanted.forwarding.front(), lid, group);
        }
    });
    if (!tables.long_ways.empty()) {
        add_long_ways(wanted, graph, tables, sw, ports);
    }
    return wanted;
}

void list_adaptive_requests(const AdaptiveTables& wanted, const AdaptiveTables& written, bool on,
                            std::vector<SmpRequest>& requests) {
    const auto list = [&](const auto& blocks, const auto& before, SmAttribute attribute,
                          std::uint32_t first) {
        for (std::size_t block = 0; block < blocks.size(); ++block) {
            if (block >= before.size() || !(before[block] == blocks[block])) {
                requests.push_back(set_request(
                    {}, {}, attribute, first + static_cast<std::uint32_t>(block), blocks[block]));
            }
        }
    };
    // With or without sub-groups the blocks of ARGroupTable mean different sets, so adaptive
    // routing must be off while they change.
    if (on && wanted.info.sub_groups_active != written.info.sub_groups_active) {
        requests.push_back(
            set_request({}, {}, SmAttribute::kAdaptiveRoutingInfo, 0, wire::AdaptiveRoutingInfo{}));
        on = false;
    }
    list(wanted.groups, written.groups, SmAttribute::kArGroupTable, 0);
    for (std::uint8_t table = 0; table < kAdaptiveTables; ++table) {
        list(wanted.forwarding[table], written.forwarding[table],
             SmAttribute::kArLinearForwardingTable, wire::ar_forwarding_modifier(table, 0));
    }
    list(wanted.table_of_port, written.table_of_port, SmAttribute::kPortSlToPrivateLftMap, 0);
    if (!on || !(wanted.info == written.info)) {
        requests.push_back(set_request({}, {}, SmAttribute::kAdaptiveRoutingInfo, 0, wanted.info));
    }
}

}  // namespace softib::sm
