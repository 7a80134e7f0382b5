// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What `softib sim` says of a run: as text for a terminal or a pipe, as JSON, as tables of comma
// separated values, as a page of HTML that needs nothing else.

#include <cstdint>
#include <string>
#include <vector>

#include "core/topo/fabric.h"
#include "plan/ends.h"
#include "plan/player.h"
#include "plan/results.h"

namespace softib::app::sim {

/// A run and what it was of.
struct Report {
    std::string title = {};  ///< "fat-tree, 1024 hosts, ..."
    net::ModelKind model = net::ModelKind::kPacket;
    std::string engine = {};
    std::uint8_t data_vls = 1;
    bool adaptive = false;
    bool congestion_control = false;
    std::uint64_t seed = 1;
    std::size_t hosts = 0;
    std::size_t switches = 0;
    bool stopped = false;  ///< By the user, before the end.
    double cpu_seconds = 0;
    std::vector<std::string> notes = {};
    plan::Results results = {};

    bool has_packets() const { return model == net::ModelKind::kPacket; }
};

/// What a reader of a report without packets must know.
inline constexpr char kNoPackets[] =
    "flow model: rates of messages without packets, so XmitWait, flows that wait behind others, "
    "and "
    "the order of packets are not known";

/// How many flows a link has, or "?" where switches choose.
inline std::string flows_on(const Report& report, const plan::LinkResult& link) {
    return report.adaptive && !link.host ? "?" : std::to_string(link.flows);
}

std::string to_text(const Report& report);
std::string to_json(const Report& report);
std::string to_html(const Report& report);
/// The JSON schema of scenarios.
std::string scenario_schema();
/// One line for each message.
std::string messages_csv(const plan::Player& player, const plan::Ends& ends);
/// One line for each direction of each cable.
std::string links_csv(const Report& report);

}  // namespace softib::app::sim
