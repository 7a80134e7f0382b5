// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/carrier/port_counts.h"

#include <utility>

namespace softib::carrier {

namespace {

using Totals = shm::PortTotals;
using Counts = counters::PortCounts;

/// Adds what was counted since the last call to a total, and returns it.
std::uint64_t add(std::atomic<std::uint64_t>& total, std::uint64_t value, std::uint64_t& written) {
    const std::uint64_t more = value - std::exchange(written, value);
    if (more != 0) {
        total.fetch_add(more, std::memory_order_relaxed);
    }
    return more;
}

void add(Totals& to, const Counts& from, Counts& written) {
    counters::for_each_stored<std::uint64_t, std::atomic<std::uint64_t>>(
        [&](const auto& row, const auto& total) {
            if (row.origin == counters::Origin::kDataPath) {
                add(to.*total.value, from.*row.value, written.*row.value);
            }
        });
}

void add(shm::PortLanes& to, const counters::LaneCounts& from, counters::LaneCounts& written) {
    for (std::size_t kind = 0; kind < from.of.size(); ++kind) {
        for (std::size_t i = 0; i < from.of[kind].size(); ++i) {
            add(to.counts[kind][i], from.of[kind][i], written.of[kind][i]);
        }
    }
}

}  // namespace

void PortCountWriter::write(const net::Engine& net, Adapters& adapters) {
    const shm::ArenaHeader& header = *arena_.header;
    written_.resize(header.hcas + header.switch_ports);
    violations_written_.resize(header.hcas);
    for (std::uint32_t sw = 0; sw < header.switches; ++sw) {
        const shm::SwitchRecord& record = arena_.switches[sw];
        for (std::uint8_t port = 1; port < record.port_count; ++port) {
            const std::uint32_t at = net.plant().port_of(tables_.switch_node(sw), port);
            const std::uint32_t index = record.port_first + port;
            if (net.plant().connected(at)) {
                add(arena_.switch_ports[index].totals, net.counts(at),
                    written_[header.hcas + index]);
            }
        }
    }
    for (std::uint32_t i = 0; i < adapters.size(); ++i) {
        if (header.link_layer == hca::LinkLayer::kInfiniBand) {
            // On Ethernet, RoceWire counts packets.
            add(arena_.hcas[i].totals, net.counts(adapters.port(i)), written_[i]);
        }
        write_violations(i, adapters.hca(i));
    }
}

void PortCountWriter::write_violations(std::uint32_t hca, const hca::Hca& from) {
    shm::PortTotals& totals = arena_.hcas[hca].totals;
    auto& [pkeys, qkeys, accesses] = violations_written_[hca];
    const std::uint64_t more =
        add(totals.pkey_violations, from.counter(hca::Counted::kBadPKey), pkeys) +
        add(totals.qkey_violations, from.counter(hca::Counted::kBadQKey), qkeys);
    if (more != 0) {
        arena_.header->key_violations.fetch_add(more, std::memory_order_release);
    }
    add(totals.access_violations, from.counter(hca::Counted::kAccessViolation), accesses);
}

void PortCountWriter::write_lanes(const net::Engine& net) {
    const shm::ArenaHeader& header = *arena_.header;
    lanes_written_.resize(header.hcas + header.switch_ports);
    for (std::uint32_t sw = 0; sw < header.switches; ++sw) {
        const shm::SwitchRecord& record = arena_.switches[sw];
        for (std::uint8_t port = 1; port < record.port_count; ++port) {
            const std::uint32_t at = net.plant().port_of(tables_.switch_node(sw), port);
            const std::uint32_t index = record.port_first + port;
            if (net.plant().connected(at)) {
                add(arena_.switch_lanes(index), net.lane_counts(at),
                    lanes_written_[header.hcas + index]);
            }
        }
    }
    for (std::uint32_t hca = 0; hca < header.hcas; ++hca) {
        const std::uint32_t at = net.plant().port_of(tables_.hca_node(hca), 1);
        if (net.plant().connected(at)) {
            add(arena_.hca_lanes(hca), net.lane_counts(at), lanes_written_[hca]);
        }
    }
}

}  // namespace softib::carrier
