// SPDX-License-Identifier: BSD-2-Clause
#include "net/plant/plant.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/base/check.h"
#include "core/switch/lifetime.h"
#include "net/plant/latency.h"

namespace softib::net {

namespace {

constexpr std::size_t kLftRowUnit = 64;
/// A switch takes its own management packets at this rate (64 bytes in 1.28 ns).
constexpr std::uint32_t kManagementBlockPs = 1280;

/// Returns the shift of the grid on which credits come back: coarse enough that a packet and the
/// cable take no longer than the slots of a lane cover.
std::uint32_t grid_shift(TimePs span_ps) {
    std::uint32_t shift = 0;
    while ((span_ps >> (Lane::kUnitShift + shift)) + 2 >= Lane::kSlots) {
        ++shift;
    }
    return shift;
}

/// Returns whether a node is a router of this fabric, whose silicon has the latency of a switch.
bool forwards(const topo::Node& node) {
    return node.kind == topo::NodeKind::kRouter && !node.outside;
}

}  // namespace

Plant::Plant(const topo::Fabric& fabric, const PlantConfig& config) : config_(config) {
    SOFTIB_CHECK(config.data_vls >= 1 && config.data_vls <= 15);
    SOFTIB_CHECK(config.buffer_bytes <= link::kGrantMax * link::kBlockBytes);
    std::uint32_t ports = 0;
    std::uint32_t switches = 0;
    for (const topo::Node& node : fabric.nodes) {
        const bool is_switch = node.kind == topo::NodeKind::kSwitch;
        // An HCA has no port 0.
        first_port_.push_back(is_switch ? ports : ports - 1);
        ports += static_cast<std::uint32_t>(node.ports.size()) - (is_switch ? 0 : 1);
        lft_of_.push_back(is_switch ? switches++ : kNone);
        is_switch_.push_back(is_switch ? 1 : 0);
        ports_of_.push_back(static_cast<std::uint8_t>(node.ports.size()));
        names_.push_back(node.name);
    }
    const std::size_t lids =
        config.lid_max != 0 ? config.lid_max + std::size_t{1} : fabric.nodes.size() + 1;
    lft_stride_ = static_cast<std::uint32_t>((lids + kLftRowUnit - 1) / kLftRowUnit * kLftRowUnit);
    lfts_.assign(std::size_t{lft_stride_} * switches, kNoPath);
    mfts_.resize(std::size_t{config.multicast_lids} * switches);
    port_count_ = ports;
    switch_count_ = switches;
    tx_.resize(ports);
    rx_.resize(ports);
    peer_.assign(ports, kNone);
    arbiters_.resize(ports);
    table_of_.resize(ports);
    tables_.push_back(link::ArbitrationTable::equal(config.data_vls));
    lanes_.resize(std::size_t{ports} * (config.data_vls + 1U));
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        for (std::size_t number = 0; number < fabric.nodes[i].ports.size(); ++number) {
            join(fabric, i, static_cast<std::uint8_t>(number));
        }
    }
}

/// Sets up the link that leaves a port.
void Plant::join(const topo::Fabric& fabric, std::uint32_t node, std::uint8_t number) {
    const bool self = number == 0;
    if (self && is_switch_[node] == 0) {
        return;
    }
    const std::uint32_t port = port_of(node, number);
    const topo::PortLink& cable = fabric.nodes[node].ports[number];
    if (!self && cable.peer == topo::kNoNode) {
        return;
    }
    // Port 0 leads to the switch's own agent.
    const std::uint32_t other = self ? node : cable.peer.value;
    const std::uint8_t other_port = self ? std::uint8_t{0} : cable.peer_port.value;
    Tx& tx = tx_[port];
    Rx& rx = rx_[port];
    peer_[port] = port_of(other, other_port);
    tx.to_adapter = self || is_switch_[other] == 0 ? 1 : 0;
    tx.block_ps = self ? kManagementBlockPs : link::ps_per_block(cable.generation, cable.width);
    const TimePs in_switch =
        config_.switch_ps != 0 ? config_.switch_ps : switch_latency(cable.generation);
    const bool by_hca = tx.to_adapter != 0 && !forwards(fabric.nodes[other]);
    rx.silicon_ps = self ? 0 : static_cast<std::uint32_t>(by_hca ? config_.hca_ps : in_switch);
    rx.node = other;
    rx.self = peer_[port];
    rx.name = port;
    rx.to_adapter = tx.to_adapter;
    rx.block_ps = tx.block_ps;
    if (is_switch_[node] != 0 && limits_of(config_).any()) {
        tx.special |= tx_special::kLimited;
    }
    rx.port = other_port;
    rx.first_out = tx.to_adapter != 0 ? peer_[port] : first_port_[other];
    rx.lft = is_switch_[other] != 0 ? std::uint64_t{lft_of_[other]} * lft_stride_ : 0;
    for (std::uint8_t vl = 0; vl < config_.data_vls; ++vl) {
        lane(port, vl).fccl = buffer_blocks();
    }
    set_length(port, self ? 0 : config_.cable_ps);
}

void Plant::set_cable(std::uint32_t port, TimePs cable_ps) {
    set_length(port, cable_ps);
    set_length(peer_[port], cable_ps);
}

void Plant::set_length(std::uint32_t link, TimePs cable_ps) {
    SOFTIB_CHECK(cable_ps < (1U << 27) && tx_[link].packets == 0);
    Tx& tx = tx_[link];
    tx.delay_ps = static_cast<std::uint32_t>(cable_ps) + rx_[link].silicon_ps;
    const TimePs longest = link::transmit_time(config_.packet_bytes_max, tx.block_ps);
    for (std::uint8_t vl = 0; vl <= config_.data_vls; ++vl) {
        lanes_[std::size_t{vl} * port_count() + link].return_delay =
            grid_shift(cable_ps + longest) << 27 | static_cast<std::uint32_t>(cable_ps);
    }
}

std::string Plant::name(std::uint32_t port) const {
    if (peer_[port] == kNone) {
        return fmt::format("port {}", port);
    }
    const Rx& self = rx_[peer_[port]];
    return fmt::format("{} port {}", names_[self.node], self.port);
}

void Plant::set_route(std::uint32_t node, Lid lid, std::uint8_t port) {
    SOFTIB_CHECK(is_switch(node) && lid.value < lft_stride_);
    SOFTIB_CHECK(port == kNoPath || port < ports_of_[node]);
    lfts_[std::size_t{lft_of_[node]} * lft_stride_ + lid.value] = port;
}

void Plant::set_lanes(std::uint32_t node, std::uint8_t in, std::uint8_t out,
                      const std::array<std::uint8_t, 16>& wanted) {
    std::array<std::uint8_t, 16> row = wanted;
    for (std::uint8_t& vl : row) {
        vl = vl < config_.data_vls ? vl : link::kVl15;
    }
    // Few rows differ, so each is stored once.
    const auto found = std::ranges::find(rows_, row);
    const auto number = static_cast<std::uint16_t>(found - rows_.begin());
    if (found == rows_.end()) {
        rows_.push_back(row);
    }
    if (!is_switch(node)) {
        tx_[port_of(node, 1)].sl_row = number;
        return;
    }
    const std::uint32_t self = port_of(node, in);
    if (peer_[self] == kNone) {
        return;
    }
    if (in == 0) {
        tx_[self].sl_row = number;
    }
    Rx& rx = rx_[peer_[self]];
    if (rx.sl_rows == kNone) {
        // Rows that are not written yet are as at power-up: lane SL modulo the number of lanes.
        std::array<std::uint8_t, 16> initial{};
        for (std::uint8_t sl = 0; sl < 16; ++sl) {
            initial[sl] = static_cast<std::uint8_t>(sl % config_.data_vls);
        }
        const auto at = std::ranges::find(rows_, initial);
        const auto first = static_cast<std::uint16_t>(at - rows_.begin());
        if (at == rows_.end()) {
            rows_.push_back(initial);
        }
        rx.sl_rows = static_cast<std::uint32_t>(sl_rows_.size());
        sl_rows_.resize(sl_rows_.size() + ports_of_[node], first);
    }
    sl_rows_[rx.sl_rows + out] = number;
}

std::uint8_t Plant::mapped_lane(std::uint32_t node, std::uint8_t in, std::uint8_t out,
                                std::uint8_t sl) const {
    const Rx& rx = rx_[peer_[port_of(node, in)]];
    return rx.sl_rows == kNone ? static_cast<std::uint8_t>(sl % config_.data_vls)
                               : rows_[sl_rows_[rx.sl_rows + out]][sl];
}

void Plant::set_arbitration(std::uint32_t port, const link::ArbitrationTable& table) {
    const auto found = std::ranges::find(tables_, table);
    table_of_[port] = static_cast<std::uint16_t>(found - tables_.begin());
    const auto all = static_cast<std::uint16_t>((1U << config_.data_vls) - 1);
    set_flag(tx_[port].special, tx_special::kPartial, (table.lanes() & all) != all);
    if (found == tables_.end()) {
        tables_.push_back(table);
    }
}

void Plant::set_multicast(std::uint32_t node, Lid mlid, const std::array<std::uint64_t, 4>& ports) {
    SOFTIB_CHECK(is_switch(node) && is_multicast(mlid));
    const std::uint32_t group = mlid.value - kLidMulticastMin.value;
    SOFTIB_CHECK(group < config_.multicast_lids);
    mfts_[std::size_t{lft_of_[node]} * config_.multicast_lids + group] = ports;
}

std::array<std::uint64_t, 4> Plant::multicast(std::uint32_t node, Lid mlid) const {
    return mfts_[std::size_t{lft_of_[node]} * config_.multicast_lids + mlid.value -
                 kLidMulticastMin.value];
}

void Plant::set_adaptive(std::uint32_t node, sw::AdaptiveTable table) {
    SOFTIB_CHECK(is_switch(node));
    if (adaptive_.empty()) {
        adaptive_.resize(switch_count_);
    }
    for (std::uint8_t port = 0; port < ports_of_[node]; ++port) {
        if (const std::uint32_t self = port_of(node, port); peer_[self] != kNone) {
            set_flag(rx_[peer_[self]].special, rx_special::kAdaptive, !table.empty());
        }
    }
    adaptive_[lft_of_[node]] = std::move(table);
}

void Plant::set_marking(std::uint32_t node, const sw::MarkingRule& rule) {
    SOFTIB_CHECK(is_switch(node));
    for (std::uint8_t port = 0; port < ports_of_[node]; ++port) {
        set_port_marking(port_of(node, port), rule);
    }
}

void Plant::set_port_marking(std::uint32_t port, const sw::MarkingRule& rule) {
    marking_.resize(port_count());
    markers_.resize(port_count());
    marking_[port] = rule;
    set_flag(tx_[port].special, tx_special::kMarks, rule.threshold != 0);
}

std::size_t Plant::bytes() const {
    return tx_.size() * sizeof(Tx) + rx_.size() * sizeof(Rx) + lanes_.size() * sizeof(Lane) +
           lfts_.size() + arbiters_.size() * sizeof(link::Arbiter);
}

}  // namespace softib::net
