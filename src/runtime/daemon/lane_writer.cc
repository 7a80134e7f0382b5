// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/lane_writer.h"

#include "core/agent/congestion_rules.h"
#include "runtime/shm/packet_queue.h"

namespace softib::daemon {

namespace {

std::uint64_t packed(const std::array<std::uint8_t, 16>& row) {
    std::uint64_t all = 0;
    for (std::size_t sl = 0; sl < row.size(); ++sl) {
        all |= std::uint64_t{row[sl] & 0xFU} << 4 * sl;
    }
    return all;
}

/// Writes a value. Returns whether it differs from the value before.
template <typename T, typename V>
bool put(std::atomic<T>& word, V value) {
    const auto wanted = static_cast<T>(value);
    if (word.load(std::memory_order_relaxed) == wanted) {
        return false;
    }
    word.store(wanted, std::memory_order_relaxed);
    return true;
}

}  // namespace

void write_lanes(const shm::Arena& arena, const shm::NodeRef& place, const agent::Node& node,
                 std::uint8_t port) {
    const bool at_hca = place.kind == shm::NodeRef::kHca && port == 1;
    const bool at_switch = place.kind == shm::NodeRef::kSwitch && port != 0 &&
                           port < arena.switches[place.index].port_count;
    if (!is_packet_path(arena) || (!at_hca && !at_switch)) {
        return;
    }
    const std::uint32_t index =
        at_hca ? place.index : arena.switches[place.index].port_first + port;
    shm::PortLanes& to = at_hca ? arena.hca_lanes(index) : arena.switch_lanes(index);
    const wire::PortInfo& info = node.port(port);
    const auto rows = node.lanes(port);
    const auto arbitration = node.arbitration(port);
    bool moved = put(to.operational_vls, info.operational_vls);
    moved |= put(to.high_limit, info.vl_high_limit);
    moved |= put(to.physical_errors_max, info.local_phy_errors);
    moved |= put(to.has_rows, rows.empty() ? 0 : 1);
    moved |= put(to.has_arbitration, arbitration.empty() ? 0 : 1);
    for (std::uint32_t in = 0; in < rows.size(); ++in) {
        moved |= put(at_hca ? arena.hca_sl_row(index) : arena.switch_sl_row(index, in),
                     packed(rows[in]));
    }
    for (std::size_t i = 0; i < arbitration.size(); ++i) {
        moved |= put(to.arbitration[i], arbitration[i]);
    }
    if (at_switch) {
        const sw::MarkingRule rule = agent::marking_rule(node.congestion(0), port);
        const sw::WaitingLimits limits = node.waiting_limits(port);
        moved |= put(to.lifetime, limits.lifetime);
        moved |= put(to.hoq_life, limits.hoq_life);
        moved |= put(to.vl_stall_count, limits.vl_stall_count);
        moved |= put(to.has_limits, 1);
        moved |= put(to.marking.threshold, rule.threshold);
        moved |= put(to.marking.packet_blocks, rule.packet_blocks);
        moved |= put(to.marking.victims_mark, rule.victims_mark ? 1 : 0);
        moved |= put(to.marking.marking_rate, rule.marking_rate);
    }
    if (moved) {
        to.generation.fetch_add(1, std::memory_order_release);
    }
}

void write_injection(const shm::Arena& arena, std::uint32_t hca, const agent::Node& node) {
    if (!is_packet_path(arena)) {
        return;
    }
    const link::InjectionControl control = agent::injection_control(node.congestion(1));
    shm::Injection& to = arena.injections[hca];
    bool moved = put(to.limit, control.table.limit);
    for (std::size_t sl = 0; sl < control.rules.size(); ++sl) {
        moved |= put(to.rules[sl].timer, control.rules[sl].timer);
        moved |= put(to.rules[sl].increase, control.rules[sl].increase);
        moved |= put(to.rules[sl].minimum, control.rules[sl].minimum);
        moved |= put(to.rules[sl].trigger, control.rules[sl].trigger);
    }
    for (std::size_t i = 0; i < control.table.entry.size(); ++i) {
        const link::DelayTable::Entry& entry = control.table.entry[i];
        moved |= put(to.delays[i], entry.shift << 14 | (entry.multiplier & 0x3FFF));
    }
    if (moved) {
        to.generation.fetch_add(1, std::memory_order_release);
    }
}

void write_adaptive(const shm::Arena& arena, std::uint32_t sw, const agent::Node& node) {
    const sw::AdaptiveTable table = node.adaptive_table();
    shm::AdaptiveRecord& to = arena.adaptive[sw];
    if (!is_packet_path(arena) ||
        (table.empty() && to.generation.load(std::memory_order_relaxed) == 0)) {
        return;  // Writing, and on the direct path even reading, would create pages for nothing.
    }
    for (std::uint16_t group = 1; group < table.groups(); ++group) {
        std::array<std::uint64_t, 4> ports{};
        for (const std::uint8_t port : table.group_ports(group)) {
            ports[port / 64] |= std::uint64_t{1} << port % 64;
        }
        for (std::size_t word = 0; word < ports.size(); ++word) {
            to.ports[group][word].store(ports[word], std::memory_order_relaxed);
        }
    }
    for (std::uint16_t lid = 0; lid < table.lids(); ++lid) {
        to.group_of[lid].store(table.group(lid), std::memory_order_relaxed);
    }
    to.lids.store(table.lids(), std::memory_order_relaxed);
    to.generation.fetch_add(1, std::memory_order_release);
}

}  // namespace softib::daemon
