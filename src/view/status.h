// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A fabric as it is now: hosts and their HCAs, switches, programs, the daemon's helpers.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/port_state.h"
#include "core/counters/port_counters.h"
#include "core/topo/graph.h"
#include "runtime/shm/arena.h"
#include "view/checks.h"
#include "view/health.h"
#include "view/programs.h"

namespace softib::view {

struct Hca {
    std::string name;
    Lid lid{};
    PortState state{};
    topo::LinkSpeed speed{};
    Guid node_guid{};
    Guid port_guid{};
    std::string cable;                           ///< The port at the other end: "leaf0:3", or "-".
    std::optional<counters::PortCounts> counts;  ///< Filled by read_counters().
};

struct Host {
    std::string name;
    std::vector<Hca> hcas;
};

struct Switch {
    std::string name;
    Lid lid{};
    std::uint32_t ports = 0;  ///< Without port 0.
    Guid node_guid{};
    /// Counters of the ports that have a cable, by port number. Filled by read_counters().
    std::map<std::uint32_t, counters::PortCounts> port_counts;
};

struct RunningProgram {
    Program program;
    Holdings held;
};

struct Status {
    std::string name;
    std::string dir;
    std::uint32_t daemon_pid = 0;
    std::uint32_t lid_max = 0;
    std::vector<Helper> helpers;
    std::vector<Check> checks;  ///< The fabric's health; the caller of read_status() fills it.
    std::vector<Host> hosts;
    std::vector<Switch> switches;
    std::vector<RunningProgram> programs;
};

/// Reads the status of a fabric from its arena and its daemon.
Status read_status(const shm::Arena& arena, int daemon, std::string dir);

/// Returns "ok", or what is wrong with helpers or the fabric, in one line.
std::string health_text(const Status& status);
/// Returns whether all helpers run, and all checks have passed.
bool is_well(const Status& status);

/// Adds the counters of HCA ports, and with `of_switches` those of switch ports, up to now. Returns
/// 0, or an errno value if the daemon cannot bring the counters up to date.
int read_counters(const shm::Arena& arena, int daemon, bool of_switches, Status& status);

}  // namespace softib::view
