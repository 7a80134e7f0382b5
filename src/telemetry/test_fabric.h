// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// For tests: a fabric of two hosts and a switch, and readings of it that a test invents.

#include <memory>
#include <utility>

#include "telemetry/snapshot.h"
#include "telemetry/source.h"

namespace softib::telemetry {

inline constexpr std::uint64_t kTestSecondNs = 1'000'000'000;

/// Returns the inventory. Ports 0 and 1 are those of the hosts; 2 and 3 are the switch ports at the
/// other ends of their cables, in the same order.
inline Inventory test_inventory() {
    Inventory inventory;
    inventory.fabric = "test";
    inventory.revision = 1;
    inventory.nodes = {{.guid = Guid{0x10},
                        .system_guid = Guid{0x10},
                        .name = "h0/mlx5_0",
                        .kind = topo::NodeKind::kHca,
                        .lid = Lid{1},
                        .tier = 0,
                        .port_first = 0,
                        .port_count = 1},
                       {.guid = Guid{0x20},
                        .system_guid = Guid{0x20},
                        .name = "h1/mlx5_0",
                        .kind = topo::NodeKind::kHca,
                        .lid = Lid{2},
                        .tier = 0,
                        .port_first = 1,
                        .port_count = 1},
                       {.guid = Guid{0x30},
                        .system_guid = Guid{0x30},
                        .name = "sw0",
                        .kind = topo::NodeKind::kSwitch,
                        .lid = Lid{3},
                        .tier = 1,
                        .port_first = 2,
                        .port_count = 2}};
    const auto port = [](std::uint32_t node, std::uint8_t number, std::uint64_t guid,
                         std::uint32_t peer) {
        return Port{.node = node,
                    .number = number,
                    .lanes = 4,
                    .guid = Guid{guid},
                    .peer = peer,
                    .nominal_mbps = 400'000,
                    .active_mbps = 400'000,
                    .speed = "NDR"};
    };
    inventory.ports = {port(0, 1, 0x11, 2), port(1, 1, 0x21, 3), port(2, 1, 0x30, 0),
                       port(2, 2, 0x30, 1)};
    return inventory;
}

/// Returns a snapshot with all ports active and no counts, `seconds` after the first one.
inline Snapshot test_snapshot(std::uint64_t number, std::uint64_t seconds,
                              std::shared_ptr<const Inventory> inventory) {
    Snapshot snapshot;
    snapshot.number = number;
    snapshot.sample.time_ns = (100 + seconds) * kTestSecondNs;
    snapshot.sample.wall_us = (1'700'000'000 + static_cast<std::int64_t>(seconds)) * 1'000'000;
    snapshot.sample.counts.resize(inventory->ports.size());
    snapshot.sample.states.assign(inventory->ports.size(), PortState::kActive);
    snapshot.sample.fresh.assign(inventory->ports.size(), 1);
    snapshot.rates.resize(inventory->ports.size());
    snapshot.inventory = std::move(inventory);
    return snapshot;
}

/// A source whose readings a test sets.
class TestSource final : public Source {
  public:
    TestSource() = default;
    explicit TestSource(Reading reading) : next(std::move(reading)) {}

    std::expected<Reading, std::string> read() override {
        ++readings;
        return next;
    }
    std::string name() const override { return "fabric test"; }
    Pace pace() const override { return pace_now; }

    Pace pace_now = Pace::kSlow;
    int readings = 0;
    std::expected<Reading, std::string> next = std::unexpected("not yet");
};

}  // namespace softib::telemetry
