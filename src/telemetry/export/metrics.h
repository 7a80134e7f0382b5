// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A snapshot as text for Prometheus, with the names and labels of the two exporters in the field,
// so that dashboards and rules made for them work unchanged: one metric family per kind of node
// with GUID and port as labels (treydock/infiniband_exporter), or one per counter with both ends of
// the cable as labels (guilbaults/infiniband-exporter).

#include <cstdint>
#include <string>

#include "telemetry/snapshot.h"

namespace softib::telemetry {

struct MetricsOptions {
    bool by_node = true;    ///< infiniband_switch_port_…, infiniband_hca_port_…
    bool by_cable = false;  ///< infiniband_…_total
    /// Whether ports that counted no errors say so. Without: only in fabrics of few ports, because
    /// the text of a large one would mostly be zeros.
    bool all_zeros = false;
    bool timestamps = false;   ///< Whether counters bring the time at which they were read.
    std::uint32_t shards = 1;  ///< Nodes are dealt out to so many answers,
    std::uint32_t shard = 0;   ///< of which this is one.
};

/// Ports of a fabric up to which zeros are always told.
inline constexpr std::size_t kFewPorts = 4096;

std::string metrics_text(const Snapshot& snapshot, const MetricsOptions& options);

/// Returns a label's value with what must be escaped in it.
std::string escape_label(std::string_view text);

}  // namespace softib::telemetry
