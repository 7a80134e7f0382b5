// SPDX-License-Identifier: BSD-2-Clause
// Adaptive routing of a switch: a vendor's attributes (core/wire/adaptive_routing.h). There is one
// group table, and one forwarding table beside it: a LID's default port is its entry there.
#include <algorithm>

#include "core/agent/node.h"

namespace softib::agent {

namespace {

namespace status = wire::mad_status;
using wire::ArForwardingEntry;
using wire::ArGroupTable;
using wire::ArLidState;
using wire::ArLinearForwardingTable;

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
        if (wanted.group_top >= kArGroups || wanted.sub_groups_active != 0) {
            return status::kInvalidField;
        }
        const bool moved = adaptive_.enabled != wanted.enabled ||
                           (wanted.enabled && adaptive_.group_top != wanted.group_top);
        adaptive_.enabled = wanted.enabled;
        adaptive_.group_top = wanted.group_top;
        if (moved) {
            announce(AdaptiveUpdate{});
        }
    }
    wire::AdaptiveRoutingInfo answer;
    answer.enabled = adaptive_.enabled;
    answer.group_top = adaptive_.group_top;
    answer.group_cap = kArGroups;
    answer.group_table_cap = 1;
    answer.version_cap = kArVersion;
    // Only datagrams may come out of order: our HCAs refuse the rest.
    answer.by_transport_disable = wire::adaptive_transport::kRc | wire::adaptive_transport::kUc |
                                  wire::adaptive_transport::kDct;
    return answer_with(answer, data);
}

std::uint16_t Node::adaptive_group_table(bool set, std::uint32_t modifier, Data data) {
    if (!is_switch()) {
        return status::kUnsupportedAttribute;
    }
    if (modifier >= kArGroups / ArGroupTable::kGroups) {
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
    const std::size_t first = std::size_t{modifier} * ArLinearForwardingTable::kEntries;
    if (!is_switch() || first >= switch_.linear_fdb_cap) {
        return is_switch() ? status::kInvalidField : status::kUnsupportedAttribute;
    }
    auto& blocks = adaptive_.forwarding;
    if (set) {
        const auto wanted = wire::parse<ArLinearForwardingTable>(data);
        if (std::ranges::any_of(wanted.entry, [](const ArForwardingEntry& entry) {
                return entry.lid_state > ArLidState::kStatic || entry.group_number >= kArGroups ||
                       entry.table_number != 0;
            })) {
            return status::kInvalidField;
        }
        if (blocks.size() <= modifier) {
            blocks.resize(modifier + std::size_t{1});
        }
        blocks[modifier] = wanted;
        for (std::size_t i = 0; i < wanted.entry.size(); ++i) {
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
    return answer_with(modifier < blocks.size() ? blocks[modifier] : ArLinearForwardingTable{},
                       data);
}

/// The planes look at the tables only while it is on.
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

sw::AdaptiveTable Node::adaptive_table() const {
    sw::AdaptiveTable table;
    if (!adaptive_.enabled) {
        return table;
    }
    std::vector<std::uint16_t> number(std::size_t{adaptive_.group_top} + 1);
    for (std::size_t group = 0; group < number.size(); ++group) {
        std::vector<std::uint8_t> ports;
        for (std::uint8_t port = 1; port <= port_count(); ++port) {
            const std::size_t block = group / ArGroupTable::kGroups;
            if (block < adaptive_.groups.size() &&
                adaptive_.groups[block].has(group % ArGroupTable::kGroups, port)) {
                ports.push_back(port);
            }
        }
        number[group] = ports.size() < 2 ? std::uint16_t{0} : table.add_group(ports);
    }
    for (std::size_t block = 0; block < adaptive_.forwarding.size(); ++block) {
        for (std::size_t i = 0; i < ArLinearForwardingTable::kEntries; ++i) {
            const ArForwardingEntry& entry = adaptive_.forwarding[block].entry[i];
            if (entry.lid_state != ArLidState::kStatic && entry.group_number < number.size() &&
                number[entry.group_number] != 0) {
                table.set(
                    Lid{static_cast<std::uint16_t>(block * ArLinearForwardingTable::kEntries + i)},
                    number[entry.group_number]);
            }
        }
    }
    return table;
}

}  // namespace softib::agent
