// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A SHARP all-reduce in virtual time. A job of hosts of a routed fabric gets its tree from the
// aggregation manager, and its packets go over the fabric's links, to the aggregation nodes of the
// switches and back (docs/sharp-packets.md). Nodes, manager, members and transport are those of a
// live fabric; the simulation adds only the time.
//
// The time to set up a job is not simulated: the manager's MADs arrive at once.

#include <cstdint>
#include <expected>
#include <string>

#include "core/sharp/types.h"
#include "net/plant/latency.h"
#include "net/sim/fabric.h"

namespace softib::net {

struct SharpTask {
    std::uint32_t members = 0;  ///< How many of the hosts, from the first on; 0: all.
    std::uint64_t bytes = 8;    ///< Size of each vector, in whole elements; below 4 GiB.
    sharp::Reduction reduction{sharp::DataType::kU32, sharp::ReduceOp::kSum};
    /// Vectors of at least this size stream (SAT), as with SHARP_COLL_SAT_THRESHOLD.
    std::uint64_t stream_from = 16384;
    /// How long a node takes for a packet, without delaying the next. Fitted to one measurement: 8
    /// bytes, 128 hosts, EDR, 2.83 us (Graham et al., COMHPC 2016).
    TimePs node_ps = 577'000;
    TimePs software_ps = 100'000;  ///< Time in a host's software, to send and to receive together.
    /// An HCA's time before it sends a packet, and from a packet's last bit in until it handles it,
    /// instead of PlantConfig's.
    TimePs hca_ps = kAdapterLatency;
};

struct SharpOutcome {
    std::uint32_t members = 0;
    std::uint32_t depth = 0;     ///< Switches on the longest way from a member to the root.
    std::uint32_t switches = 0;  ///< Switches of the tree.
    bool streamed = false;
    TimePs took_ps = 0;  ///< Time until the last member has its result.
    /// Most bytes that the port of a host has sent, by its counters.
    std::uint64_t host_sent_bytes = 0;
    /// Most bytes that the port of a host has received, by its counters.
    std::uint64_t host_received_bytes = 0;
    std::uint64_t link_bytes_per_s = 0;  ///< Rate of a host's cable.
    std::uint64_t wrong_elements = 0;    ///< Elements that differ from what hosts would compute.
    std::uint64_t events = 0;
    std::uint64_t log_hash = 0;
};

/// Simulates one all-reduce. The error says which part of the job failed.
std::expected<SharpOutcome, std::string> simulate_sharp(Routed routed, PlantConfig config,
                                                        const SharpTask& task);

}  // namespace softib::net
