// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What does not work in a fabric at one moment, by its causes: a switch that is lost takes its
// cables and hosts with it, and is one outage.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "telemetry/inventory.h"

namespace softib::telemetry {

/// What is wrong at one place: a node without a port that is up, or a cable.
struct Cause {
    bool is_node = false;
    std::string object;  ///< The node; or the port of a cable's end that is nearer to a host.
    std::string text;
    std::string peer = {};  ///< The port at the other end of the cable.
};

struct Outage {
    std::vector<Cause> causes;
    /// Cables and hosts that do not work because of a lost switch: their object -> that switch.
    std::map<std::string, std::string, std::less<>> with;
    std::size_t nodes = 0;            ///< Number of nodes that there should be.
    std::size_t cables = 0;           ///< Number of cables that there should be.
    std::vector<std::string> lost;    ///< Names of nodes without a port that is up.
    std::vector<std::string> broken;  ///< "leaf0:3 - spine1:1", cables that are down.
};

/// Finds the causes of what is down. `is_down` says of each port that its link does not work, and
/// `is_up` that it does; a port that starts is neither.
Outage find_outage(const Inventory& inventory, const std::vector<bool>& is_up,
                   const std::vector<bool>& is_down);

}  // namespace softib::telemetry
