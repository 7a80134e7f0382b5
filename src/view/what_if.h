// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What would become of the routes of a running fabric if cables were pulled or switches turned off:
// a routing engine routes what would be left, and the result is compared with what switches hold
// now. Nothing in the fabric is changed.

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

/// Routes between hosts that pass a port of a switch on their way to another switch.
struct PortRoutes {
    std::string port;
    std::uint64_t before = 0;
    std::uint64_t after = 0;
};

struct WhatIf {
    std::string engine;
    std::uint64_t entries_changed = 0;   ///< Of forwarding tables.
    std::uint32_t switches_changed = 0;  ///< Those that have one.
    std::uint64_t pairs_before = 0;      ///< Of hosts that reach each other, one way.
    std::uint64_t pairs_after = 0;
    std::vector<PortRoutes> ports;  ///< Those whose number of routes changes.
};

/// With an engine of this name, or "auto" where that one refuses what is left.
std::expected<WhatIf, std::string> what_if(const live::Arena& arena, const Outage& outage,
                                           const std::string& engine);

}  // namespace softib::view
