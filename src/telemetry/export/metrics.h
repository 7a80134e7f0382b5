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

#include "telemetry/snapshot.h"

namespace softib::telemetry {

/// Which counters of which ports a text tells.
enum class CounterChoice : std::uint8_t {
    kBySize,   ///< All in a fabric of few ports, the brief choice in a larger one.
    kBrief,    ///< As kTraffic; by cable: data of switch ports, speed and width of one end of a
               ///< cable, and of all else but packets what is not zero.
    kTraffic,  ///< Of all ports data, packets and XmitWait; of all else what is not zero.
    kAll,      ///< All counters of all ports.
};

struct MetricsOptions {
    bool by_node = true;    ///< infiniband_switch_port_…, infiniband_hca_port_…
    bool by_cable = false;  ///< infiniband_…_total
    CounterChoice counters = CounterChoice::kBySize;
    bool timestamps = false;   ///< Whether counters bring the time at which they were read.
    std::uint32_t shards = 1;  ///< Nodes are dealt out to so many answers,
    std::uint32_t shard = 0;   ///< of which this is one.
};

/// Ports of a fabric up to which all counters are told without being asked for.
inline constexpr std::size_t kFewPorts = 4096;

/// Returns the choice of that name (brief, traffic, all), or std::nullopt.
std::optional<CounterChoice> counter_choice(std::string_view name);

std::string metrics_text(const Snapshot& snapshot, const MetricsOptions& options);

/// Returns a label's value with what must be escaped in it.
std::string escape_label(std::string_view text);

}  // namespace softib::telemetry
