// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The report of one simulation, and its forms that programs read.

#include <cstdint>
#include <string>
#include <vector>

#include "core/topo/graph.h"
#include "plan/player.h"
#include "plan/results.h"

namespace softib::run {

/// A run of a simulation, with what was simulated and the results.
struct Report {
    std::string title = {};  ///< "fat-tree, 1024 hosts, ..."
    net::ModelKind model = net::ModelKind::kPacket;
    std::string engine = {};
    std::uint8_t data_vls = 1;
    bool adaptive = false;  ///< Whether switches choose the path of each packet.
    bool congestion_control = false;
    bool qos = false;  ///< Whether lanes take turns as the user configured.
    bool roce = false;
    /// The features of the network, in words: "InfiniBand, 1 data VL, adaptive routing".
    std::string network = {};
    std::uint64_t seed = 1;
    std::size_t hosts = 0;
    std::size_t switches = 0;
    bool stopped = false;  ///< Whether the user stopped the run before its end.
    double cpu_seconds = 0;
    std::vector<std::string> notes = {};
    std::vector<std::string> basis = {};  ///< What the figures are worth, see basis.h.
    plan::Results results = {};
    // For a table of messages; empty if nobody wanted one.
    std::vector<plan::MessageRecord> messages = {};
    std::vector<std::string> ends = {};  ///< The names of end ports.

    bool has_packets() const { return model == net::ModelKind::kPacket; }
};

/// The note in a report of a model without packets.
inline constexpr char kNoPackets[] =
    "flow model: rates of messages without packets, so XmitWait, flows that wait behind others, "
    "and "
    "the order of packets are not known";

/// Returns whether the flows of a link are known: not between switches that choose paths by
/// themselves.
inline bool flows_known(const Report& report, const plan::LinkResult& link) {
    return !report.adaptive || link.host;
}
/// Returns how many flows a link has, or "?" if that is not known.
inline std::string flows_on(const Report& report, const plan::LinkResult& link) {
    return flows_known(report, link) ? std::to_string(link.flows) : "?";
}

std::string to_json(const Report& report);
/// Returns comma-separated values, a line for each message.
std::string to_csv(const Report& report);
/// Returns comma-separated values, a line for each direction of each cable.
std::string links_csv(const Report& report);

}  // namespace softib::run
