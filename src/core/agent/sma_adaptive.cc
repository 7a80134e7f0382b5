// SPDX-License-Identifier: BSD-2-Clause
// Adaptive routing of a switch, by a vendor's attributes (core/wire/sm/adaptive_routing.h). There
// is one group table, and the common ARLinearForwardingTable, whose default ports are also the
// entries of the switch's linear forwarding table. A switch with private tables has two more
// ARLinearForwardingTables, which give packets from some in ports other sets of ports to choose
// from. Packets that may not choose are forwarded by the linear forwarding table.
#include <algorithm>

#include "core/agent/node.h"

namespace softib::agent {

namespace {

namespace status = wire::mad_status;
using wire::ArForwardingEntry;
using wire::ArGroupTable;
using wire::ArLidState;
using wire::ArLinearForwardingTable;
using wire::PortSlToPrivateLftMap;

constexpr std::uint16_t kArGroups = 1024;
constexpr std::uint8_t kArVersion = 1;

template <wire::Attribute T>
std::uint16_t answer_with(const T& value, std::span<std::uint8_t, wire::kSmpDataBytes> data) {
    std::ranges::fill(data, std::uint8_t{0});
    wire::emit(value, data);
    return status::kOk;
}

}  // namespace

std::uint16_t Node::adaptive_routing_info(bool set, Data data) {
    if (!is_switch()) {
        return status::kUnsupportedAttribute;
    }
    if (set) {
        const auto wanted = wire::parse<wire::AdaptiveRoutingInfo>(data);
        if (wanted.group_top >= kArGroups || wanted.sub_groups_active > spec_.private_tables) {
            return status::kInvalidField;
        }
        const bool moved = adaptive_.enabled != wanted.enabled ||
                           (wanted.enabled && (adaptive_.group_top != wanted.group_top ||
                                               adaptive_.sub_groups != wanted.sub_groups_active));
        adaptive_.enabled = wanted.enabled;
        adaptive_.group_top = wanted.group_top;
        adaptive_.sub_groups = wanted.sub_groups_active;
        if (moved) {
            announce(AdaptiveUpdate{});
        }
    }
    wire::AdaptiveRoutingInfo answer;
    answer.enabled = adaptive_.enabled;
    answer.group_top = adaptive_.group_top;
    answer.sub_groups_active = adaptive_.sub_groups;
    answer.sub_groups_supported = spec_.private_tables ? 1 : 0;
    answer.group_cap = kArGroups;
    answer.group_table_cap = 1;
    answer.version_cap = kArVersion;
    // Only datagrams may come out of order; our HCAs do not take other packets out of order.
    answer.by_transport_disable = wire::adaptive_transport::kRc | wire::adaptive_transport::kUc |
                                  wire::adaptive_transport::kDct;
    return answer_with(answer, data);
}

std::uint16_t Node::adaptive_group_table(bool set, std::uint32_t modifier, Data data) {
    if (!is_switch()) {
        return status::kUnsupportedAttribute;
    }
    const std::uint32_t sets = kArGroups * (spec_.private_tables ? 2U : 1U);
    if (modifier >= sets / ArGroupTable::kGroups) {
        return status::kInvalidField;
    }
    auto& groups = adaptive_.groups;
    if (set) {
        const auto wanted = wire::parse<ArGroupTable>(data);
        if (groups.size() <= modifier) {
            groups.resize(modifier + std::size_t{1});
        }
        if (!(groups[modifier] == wanted)) {
            groups[modifier] = wanted;
            announce_adaptive();
        }
    }
    return answer_with(modifier < groups.size() ? groups[modifier] : ArGroupTable{}, data);
}

std::uint16_t Node::adaptive_forwarding_table(bool set, std::uint32_t modifier, Data data) {
    const std::uint32_t table = modifier >> 24;
    const std::uint32_t block = modifier & 0xFFFFFF;
    const std::size_t first = std::size_t{block} * ArLinearForwardingTable::kEntries;
    if (!is_switch() || first >= switch_.linear_fdb_cap ||
        table >= (spec_.private_tables ? kArTables : std::uint8_t{1})) {
        return is_switch() ? status::kInvalidField : status::kUnsupportedAttribute;
    }
    auto& blocks = adaptive_.forwarding[table];
    if (set) {
        const auto wanted = wire::parse<ArLinearForwardingTable>(data);
        if (std::ranges::any_of(wanted.entry, [](const ArForwardingEntry& entry) {
                return entry.lid_state > ArLidState::kStatic || entry.group_number >= kArGroups ||
                       entry.table_number != 0;
            })) {
            return status::kInvalidField;
        }
        if (blocks.size() <= block) {
            blocks.resize(block + std::size_t{1});
        }
        blocks[block] = wanted;
        for (std::size_t i = 0; table == 0 && i < wanted.entry.size(); ++i) {
            const ArForwardingEntry& entry = wanted.entry[i];
            const Lid lid{static_cast<std::uint16_t>(first + i)};
            const std::uint8_t port = entry.lid_state == ArLidState::kStatic
                                          ? static_cast<std::uint8_t>(entry.group_number)
                                          : entry.default_port;
            if (lid.value < lft_.size() && lft_[lid.value] != port) {
                set_route(lid, port);
            }
        }
        announce_adaptive();
    }
    return answer_with(block < blocks.size() ? blocks[block] : ArLinearForwardingTable{}, data);
}

std::uint16_t Node::private_table_map(bool set, std::uint32_t modifier, Data data) {
    if (!is_switch() || !spec_.private_tables) {
        return status::kUnsupportedAttribute;
    }
    if (modifier > port_count() / std::uint32_t{PortSlToPrivateLftMap::kPorts}) {
        return status::kInvalidField;
    }
    auto& blocks = adaptive_.table_of_port;
    if (set) {
        const auto wanted = wire::parse<PortSlToPrivateLftMap>(data);
        for (std::size_t port = 0; port < PortSlToPrivateLftMap::kPorts; ++port) {
            for (std::size_t level = 0; level < PortSlToPrivateLftMap::kLevels; ++level) {
                // Here all service levels of a port must have the same table.
                if (wanted.at(port, level) >= kArTables ||
                    wanted.at(port, level) != wanted.at(port, 0)) {
                    return status::kInvalidField;
                }
            }
        }
        if (blocks.size() <= modifier) {
            blocks.resize(modifier + std::size_t{1});
        }
        if (!(blocks[modifier] == wanted)) {
            blocks[modifier] = wanted;
            announce_adaptive();
        }
    }
    return answer_with(modifier < blocks.size() ? blocks[modifier] : PortSlToPrivateLftMap{}, data);
}

/// Announces a write to the tables if adaptive routing is on, since planes read them only then.
void Node::announce_adaptive() {
    if (adaptive_.enabled) {
        announce(AdaptiveUpdate{});
    }
}

void Node::fall_back() {
    if (adaptive_.enabled) {
        adaptive_.enabled = false;
        announce(AdaptiveUpdate{});
    }
}

std::vector<std::uint8_t> Node::adaptive_ports(std::size_t set) const {
    const std::size_t block = set / ArGroupTable::kGroups;
    std::vector<std::uint8_t> ports;
    for (std::uint8_t port = 1; port <= port_count(); ++port) {
        if (block < adaptive_.groups.size() &&
            adaptive_.groups[block].has(set % ArGroupTable::kGroups, port)) {
            ports.push_back(port);
        }
    }
    return ports;
}

sw::AdaptiveTable Node::adaptive_table() const {
    sw::AdaptiveTable table;
    if (!adaptive_.enabled) {
        return table;
    }
    const std::size_t each = adaptive_.sub_groups + std::size_t{1};
    std::vector<std::uint16_t> number(std::size_t{adaptive_.group_top} + 1);
    for (std::size_t group = 0; group < number.size(); ++group) {
        const std::vector<std::uint8_t> ports = adaptive_ports(group * each);
        number[group] = ports.size() < 2 ? std::uint16_t{0} : table.add_group(ports);
    }
    const auto& blocks = adaptive_.forwarding.front();
    for (std::size_t block = 0; block < blocks.size(); ++block) {
        for (std::size_t i = 0; i < ArLinearForwardingTable::kEntries; ++i) {
            const ArForwardingEntry& entry = blocks[block].entry[i];
            if (entry.lid_state != ArLidState::kStatic && entry.group_number < number.size() &&
                number[entry.group_number] != 0) {
                table.set(
                    Lid{static_cast<std::uint16_t>(block * ArLinearForwardingTable::kEntries + i)},
                    number[entry.group_number]);
            }
        }
    }
    if (adaptive_.sub_groups != 0) {
        add_private_tables(table);
    }
    return table;
}

/// Adds the private tables. Unlike in the common table, a set with a single port counts too:
/// packets take this port or, by the far set, a longer way.
void Node::add_private_tables(sw::AdaptiveTable& table) const {
    struct Numbers {
        std::uint16_t near = 0;
        std::uint16_t far = 0;
    };
    const std::size_t each = adaptive_.sub_groups + std::size_t{1};
    std::vector<Numbers> numbers(std::size_t{adaptive_.group_top} + 1);
    const auto add = [&](std::size_t set) {
        const std::vector<std::uint8_t> ports = adaptive_ports(set);
        return ports.empty() ? std::uint16_t{0} : table.add_group(ports);
    };
    for (std::size_t group = 0; group < numbers.size(); ++group) {
        numbers[group].near = add(group * each);
        numbers[group].far = add(group * each + 1);
    }
    for (std::size_t port = 0; port <= port_count(); ++port) {
        const std::size_t block = port / PortSlToPrivateLftMap::kPorts;
        if (block < adaptive_.table_of_port.size()) {
            table.set_private(
                static_cast<std::uint8_t>(port),
                adaptive_.table_of_port[block].at(port % PortSlToPrivateLftMap::kPorts, 0));
        }
    }
    for (std::uint8_t number = 1; number < table.tables(); ++number) {
        const auto& blocks = adaptive_.forwarding[number];
        for (std::size_t i = 0; i < blocks.size() * ArLinearForwardingTable::kEntries; ++i) {
            const ArForwardingEntry& entry = blocks[i / ArLinearForwardingTable::kEntries]
                                                 .entry[i % ArLinearForwardingTable::kEntries];
            if (entry.lid_state != ArLidState::kStatic && entry.group_number < numbers.size()) {
                table.set(number, Lid{static_cast<std::uint16_t>(i)},
                          numbers[entry.group_number].near, numbers[entry.group_number].far);
            }
        }
    }
}

}  // namespace softib::agent
