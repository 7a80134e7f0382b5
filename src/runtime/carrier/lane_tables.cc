// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/carrier/lane_tables.h"

#include <algorithm>

#include "core/agent/node.h"
#include "core/base/check.h"
#include "net/manage/arbitration.h"
#include "spec/live.h"

namespace softib::carrier {

std::uint8_t operational_lanes(std::uint8_t code) {
    constexpr std::array<std::uint8_t, 6> kLanes{kDataVls, 1, 2, 4, 8, 15};
    return std::min(code < kLanes.size() ? kLanes[code] : kDataVls, kDataVls);
}

LaneTables::LaneTables(const shm::Arena& arena)
    : arena_(arena),
      read_(std::size_t{arena.header->hcas} + arena.header->switch_ports),
      injections_read_(arena.header->hcas),
      adaptive_read_(arena.header->switches) {
    SOFTIB_CHECK(agent::NodeSpec{}.data_vls == kDataVls);
    static_assert(spec::kLiveVls == kDataVls);
}

bool LaneTables::is_new(const shm::PortLanes& lanes) {
    std::uint32_t& known = read_[static_cast<std::size_t>(&lanes - arena_.lanes)];
    const std::uint32_t now = lanes.generation.load(std::memory_order_acquire);
    const bool moved = now != known;
    known = now;
    return moved;
}

/// Returns the lane of each service level. A level whose lane is not operational gets VL 15, which
/// takes no data (IBA vol. 1, 7.6.6). Before a manager has written a mapping, levels are spread
/// over the operational lanes.
LaneTables::Row LaneTables::row_of(const shm::PortLanes& lanes, const shm::SlRow& row) {
    const std::uint8_t operational =
        operational_lanes(lanes.operational_vls.load(std::memory_order_relaxed));
    const bool written = lanes.has_rows.load(std::memory_order_relaxed) != 0;
    const std::uint64_t packed = row.load(std::memory_order_relaxed);
    Row all{};
    for (std::uint8_t sl = 0; sl < all.size(); ++sl) {
        const auto wanted = static_cast<std::uint8_t>(packed >> 4 * sl & 0xF);
        all[sl] = !written               ? static_cast<std::uint8_t>(sl % operational)
                  : wanted < operational ? wanted
                                         : link::kVl15;
    }
    return all;
}

void LaneTables::set_arbitration(net::Engine& net, std::uint32_t port,
                                 const shm::PortLanes& lanes) {
    if (lanes.has_arbitration.load(std::memory_order_relaxed) == 0) {
        net.ports().set_arbitration(port, link::ArbitrationTable::equal(kDataVls));
        return;
    }
    std::array<std::uint8_t, shm::kArbitrationBytes> blocks{};
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        blocks[i] = lanes.arbitration[i].load(std::memory_order_relaxed);
    }
    net.ports().set_arbitration(
        port, net::parse_arbitration(blocks, lanes.high_limit.load(std::memory_order_relaxed)));
}

void LaneTables::read_hca(net::Engine& net, std::uint32_t node, std::uint32_t hca) {
    const shm::PortLanes& lanes = arena_.hca_lanes(hca);
    const std::uint32_t port = net.plant().port_of(node, 1);
    if (is_new(lanes) && net.plant().connected(port)) {
        net.plant().set_lanes(node, 0, 1, row_of(lanes, arena_.hca_sl_row(hca)));
        set_arbitration(net, port, lanes);
        net.ports().set_error_limit(port,
                                    lanes.physical_errors_max.load(std::memory_order_relaxed));
    }
}

void LaneTables::read_switch_port(net::Engine& net, std::uint32_t node, std::uint8_t port,
                                  std::uint32_t port_index) {
    const shm::PortLanes& lanes = arena_.switch_lanes(port_index);
    const std::uint32_t at = net.plant().port_of(node, port);
    if (!is_new(lanes) || !net.plant().connected(at)) {
        return;
    }
    for (std::uint8_t in = 0; in < net.plant().ports_of(node); ++in) {
        net.plant().set_lanes(node, in, port, row_of(lanes, arena_.switch_sl_row(port_index, in)));
    }
    set_arbitration(net, at, lanes);
    net.ports().set_error_limit(at, lanes.physical_errors_max.load(std::memory_order_relaxed));
    if (lanes.has_limits.load(std::memory_order_relaxed) != 0) {
        net.ports().set_limits(
            at, {.lifetime = lanes.lifetime.load(std::memory_order_relaxed),
                 .hoq_life = lanes.hoq_life.load(std::memory_order_relaxed),
                 .vl_stall_count = lanes.vl_stall_count.load(std::memory_order_relaxed)});
    }
    const shm::Marking& marking = lanes.marking;
    net.plant().set_port_marking(
        at, {.threshold = marking.threshold.load(std::memory_order_relaxed),
             .packet_blocks = marking.packet_blocks.load(std::memory_order_relaxed),
             .marking_rate = marking.marking_rate.load(std::memory_order_relaxed),
             .victims_mark = marking.victims_mark.load(std::memory_order_relaxed) != 0});
}

std::optional<link::InjectionControl> LaneTables::read_injection(std::uint32_t hca) {
    const shm::Injection& from = arena_.injections[hca];
    const std::uint32_t now = from.generation.load(std::memory_order_acquire);
    if (now == injections_read_[hca]) {
        return std::nullopt;
    }
    injections_read_[hca] = now;
    link::InjectionControl control;
    control.table.limit = from.limit.load(std::memory_order_relaxed);
    for (std::size_t sl = 0; sl < control.rules.size(); ++sl) {
        control.rules[sl] = {.timer = from.rules[sl].timer.load(std::memory_order_relaxed),
                             .increase = from.rules[sl].increase.load(std::memory_order_relaxed),
                             .minimum = from.rules[sl].minimum.load(std::memory_order_relaxed),
                             .trigger = from.rules[sl].trigger.load(std::memory_order_relaxed)};
    }
    for (std::size_t i = 0; i < control.table.entry.size(); ++i) {
        const std::uint16_t packed = from.delays[i].load(std::memory_order_relaxed);
        control.table.entry[i] = {static_cast<std::uint8_t>(packed >> 14),
                                  static_cast<std::uint16_t>(packed & 0x3FFF)};
    }
    return control;
}

void LaneTables::read_adaptive(net::Engine& net, std::uint32_t node, std::uint32_t sw) {
    const shm::AdaptiveRecord& from = arena_.adaptive[sw];
    const std::uint32_t now = from.generation.load(std::memory_order_acquire);
    if (now == adaptive_read_[sw]) {
        return;
    }
    adaptive_read_[sw] = now;
    sw::AdaptiveTable table;
    std::vector<std::uint16_t> number(shm::AdaptiveRecord::kGroups);
    const std::uint32_t lids = std::min<std::uint32_t>(from.lids.load(std::memory_order_relaxed),
                                                       shm::AdaptiveRecord::kLids);
    for (std::uint32_t lid = 0; lid < lids; ++lid) {
        const std::uint16_t group = from.group_of[lid].load(std::memory_order_relaxed);
        if (group == 0 || group >= number.size()) {
            continue;
        }
        if (number[group] == 0) {
            std::vector<std::uint8_t> ports;
            for (std::uint8_t port = 1; port < net.plant().ports_of(node); ++port) {
                const std::uint64_t word =
                    from.ports[group][port / 64].load(std::memory_order_relaxed);
                if ((word >> port % 64 & 1) != 0 &&
                    net.plant().connected(net.plant().port_of(node, port))) {
                    ports.push_back(port);
                }
            }
            number[group] = table.add_group(ports);
        }
        table.set(Lid{static_cast<std::uint16_t>(lid)}, number[group]);
    }
    net.plant().set_adaptive(node, std::move(table));
}

}  // namespace softib::carrier
