// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A snapshot as text for Prometheus, with the names and labels of the two exporters in the field,
// so that dashboards and rules made for them work unchanged: one metric family per kind of node
// with GUID and port as labels (treydock/infiniband_exporter), or one per counter with both ends of
// the cable as labels (guilbaults/infiniband-exporter).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/health.h"
#include "telemetry/snapshot.h"

namespace softib::telemetry {

/// Which counters of which ports a text has.
enum class CounterChoice : std::uint8_t {
    /// kAll if the fabric has at most kFewPorts ports, else kBrief.
    kBySize,
    /// By node, the same as kTraffic. By cable: data of switch ports; speed and width of one end of
    /// each cable; no packets; the other counters where they are not zero.
    kBrief,
    /// Data, packets and XmitWait of all ports; the other counters where they are not zero.
    kTraffic,
    /// All counters of all ports.
    kAll,
};

struct MetricsOptions {
    bool by_node = true;    ///< infiniband_switch_port_…, infiniband_hca_port_…
    bool by_cable = false;  ///< infiniband_…_total
    CounterChoice counters = CounterChoice::kBySize;
    bool timestamps = false;      ///< Whether counters have the time at which they were read.
    std::uint32_t shards = 1;     ///< How many answers share the nodes.
    std::uint32_t shard = 0;      ///< The number of this answer, from 0 on.
    std::vector<Check> checks{};  ///< The fabric's health (health.h), for softib_health_….
};

/// Number of ports up to which CounterChoice::kBySize means all counters.
inline constexpr std::size_t kFewPorts = 4096;

/// Returns the choice of that name (brief, traffic, all); std::nullopt if there is none.
std::optional<CounterChoice> counter_choice(std::string_view name);

std::string metrics_text(const Snapshot& snapshot, const MetricsOptions& options);

/// Returns a label's value, escaped for Prometheus; a byte that is not printable becomes '?'.
std::string escape_label(std::string_view text);

}  // namespace softib::telemetry
