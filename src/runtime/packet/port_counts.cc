// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/packet/port_counts.h"

namespace softib::packet {

namespace {

void publish(live::PortTotals& to, const agent::PortCounts& from) {
    const auto set = [](std::atomic<std::uint64_t>& total, std::uint64_t value) {
        total.store(value, std::memory_order_relaxed);
    };
    set(to.xmit_packets, from.xmit_packets);
    set(to.xmit_words, from.xmit_words);
    set(to.rcv_packets, from.rcv_packets);
    set(to.rcv_words, from.rcv_words);
    set(to.multicast_xmit_packets, from.multicast_xmit_packets);
    set(to.multicast_rcv_packets, from.multicast_rcv_packets);
    set(to.xmit_discards, from.xmit_discards);
    set(to.relay_errors, from.rcv_switch_relay_errors);
    set(to.rcv_constraint_errors, from.rcv_constraint_errors);
    set(to.xmit_constraint_errors, from.xmit_constraint_errors);
    set(to.xmit_wait, from.xmit_wait);
    set(to.symbol_errors, from.symbol_errors);
    set(to.rcv_errors, from.rcv_errors);
    set(to.rcv_remote_physical_errors, from.rcv_remote_physical_errors);
    set(to.buffer_overruns, from.buffer_overruns);
    set(to.link_integrity_errors, from.link_integrity_errors);
}

void publish(live::PortLanes& to, const agent::LaneCounts& from) {
    for (std::size_t kind = 0; kind < from.of.size(); ++kind) {
        for (std::size_t i = 0; i < from.of[kind].size(); ++i) {
            to.counts[kind][i].store(from.of[kind][i], std::memory_order_relaxed);
        }
    }
}

}  // namespace

void publish_counts(const live::Arena& arena, const sim::Engine& net, const Tables& tables,
                    Adapters& adapters) {
    for (std::uint32_t sw = 0; sw < arena.header->switches; ++sw) {
        const live::SwitchRecord& record = arena.switches[sw];
        for (std::uint8_t port = 1; port < record.port_count; ++port) {
            const std::uint32_t at = net.port_of(tables.switch_node(sw), port);
            if (net.connected(at)) {
                publish(arena.switch_ports[record.port_first + port].totals, net.counts(at));
            }
        }
    }
    for (std::uint32_t i = 0; i < adapters.size(); ++i) {
        live::PortTotals& totals = arena.hcas[i].totals;
        if (arena.header->link_layer == live::LinkLayer::kInfiniBand) {
            publish(totals, net.counts(adapters.port(i)));  // On Ethernet RoceWire counts.
        }
        const hca::Hca& hca = adapters.hca(i);
        const std::uint64_t pkeys = hca.counter(hca::Counted::kBadPKey);
        const std::uint64_t qkeys = hca.counter(hca::Counted::kBadQKey);
        const std::uint64_t more =
            pkeys + qkeys - totals.pkey_violations.exchange(pkeys) - totals.qkey_violations.exchange(qkeys);
        if (more != 0) {
            arena.header->key_violations.fetch_add(more, std::memory_order_release);
        }
        totals.access_violations.store(hca.counter(hca::Counted::kAccessViolation));
    }
}

void publish_lane_counts(const live::Arena& arena, const sim::Engine& net, const Tables& tables) {
    for (std::uint32_t sw = 0; sw < arena.header->switches; ++sw) {
        const live::SwitchRecord& record = arena.switches[sw];
        for (std::uint8_t port = 1; port < record.port_count; ++port) {
            const std::uint32_t at = net.port_of(tables.switch_node(sw), port);
            if (net.connected(at)) {
                publish(arena.switch_lanes(record.port_first + port), net.lane_counts(at));
            }
        }
    }
    for (std::uint32_t hca = 0; hca < arena.header->hcas; ++hca) {
        const std::uint32_t at = net.port_of(tables.hca_node(hca), 1);
        if (net.connected(at)) {
            publish(arena.hca_lanes(hca), net.lane_counts(at));
        }
    }
}

}  // namespace softib::packet
