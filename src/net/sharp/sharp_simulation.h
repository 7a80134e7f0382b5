// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A SHARP all-reduce in virtual time: a job of the hosts of a routed fabric gets its tree from the
// aggregation manager, and its packets go over the fabric's links, to the aggregation nodes of the
// switches and back (docs/sharp-packets.md). Nodes, manager, members and transport are those of a
// live fabric; the simulation adds only the time.
//
// The time of setting up a job is not simulated: the manager's MADs arrive at once.

#include <cstdint>
#include <expected>
#include <string>

#include "core/sharp/types.h"
#include "net/fabric.h"

namespace softib::net {

struct SharpTask {
    std::uint32_t members = 0;  ///< The first hosts; 0: all.
    std::uint64_t bytes = 8;    ///< Of each member's vector, in whole elements; below 4 GiB.
    sharp::Reduction reduction{sharp::DataType::kU32, sharp::ReduceOp::kSum};
    /// From this size on operations stream (SAT): SHARP_COLL_SAT_THRESHOLD.
    std::uint64_t stream_from = 16384;
    /// A node takes so long for a packet, without holding up the next. Fitted on one measurement:
    /// 8 bytes, 128 hosts, EDR, 2.83 us (Graham et al., COMHPC 2016).
    TimePs node_ps = 577'000;
    TimePs software_ps = 100'000;  ///< Of a host, both ways.
};

struct SharpOutcome {
    std::uint32_t members = 0;
    std::uint32_t depth = 0;     ///< Switches from a member to the root.
    std::uint32_t switches = 0;  ///< Of the tree.
    bool streamed = false;
    TimePs took_ps = 0;  ///< Until the last member has its result.
    /// What the port of a host sent and received at most, as its counters show it.
    std::uint64_t host_sent_bytes = 0;
    std::uint64_t host_received_bytes = 0;
    std::uint64_t link_bytes_per_s = 0;  ///< Of a host's cable.
    std::uint64_t wrong_elements = 0;    ///< Compared with the sum that hosts would get.
    std::uint64_t events = 0;
    std::uint64_t log_hash = 0;
};

/// The error says which part of the job did not come about.
std::expected<SharpOutcome, std::string> simulate_sharp(Routed routed, PlantConfig config,
                                                        const SharpTask& task);

}  // namespace softib::net
