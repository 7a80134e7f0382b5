// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How the routes of a running fabric would change if cables were pulled or switches turned off. A
// routing engine routes what would be left, and the result is compared with the tables that the
// switches hold now. Nothing in the fabric is changed.

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "runtime/shm/arena.h"

namespace softib::view {

struct Outage {
    std::vector<std::string> ports;     ///< "leaf0:3": one end of a cable.
    std::vector<std::string> switches;  ///< "spine1"
};

/// How many routes between hosts leave a switch through a port that leads to another switch.
struct PortRoutes {
    std::string port;
    std::uint64_t before = 0;
    std::uint64_t after = 0;
};

struct WhatIf {
    std::string engine;
    std::uint64_t entries_changed = 0;   ///< Entries of forwarding tables that would change.
    std::uint32_t switches_changed = 0;  ///< Switches with such an entry.
    std::uint64_t pairs_before = 0;      ///< Ordered pairs of hosts with a route now.
    std::uint64_t pairs_after = 0;       ///< Ordered pairs of hosts with a route afterwards.
    std::vector<PortRoutes> ports;       ///< Ports whose number of routes would change.
};

/// Computes what would change. Uses the routing engine of this name; if there is none, or it
/// refuses what is left, the one that "auto" chooses by the shape. The error is for the user.
std::expected<WhatIf, std::string> what_if(const shm::Arena& arena, const Outage& outage,
                                           const std::string& engine);

}  // namespace softib::view
