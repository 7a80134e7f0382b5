// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// `softib sim whatif`: the same traffic on the fabric as it is and on the fabric that has lost
// something, routed anew by the same engine; and which cables, switches and routers hurt most to
// lose.

#include <cstdint>
#include <string>
#include <vector>

#include "plan/route_loads.h"

namespace softib::app::sim {

/// A fabric and what the traffic got of it.
struct WhatIfCase {
    std::string lost = {};  ///< "nothing", "leaf0:5", "leaf0:5, leaf2:7"
    std::string engine = {};
    std::uint64_t messages = 0;
    std::uint64_t delivered = 0;
    double gbps = 0;          ///< All together.
    double message_gbps = 0;  ///< What a message got on average,
    double slowest_gbps = 0;  ///< and the slowest one.
    double finished_us = 0;   ///< When the last one was delivered.
};

struct WhatIf {
    std::string title = {};
    std::vector<WhatIfCase> cases = {};  ///< The first one has lost nothing.
    plan::Ranking ranking = {};
    std::vector<std::string> cable_names = {};   ///< As ranking.cables.
    std::vector<std::string> switch_names = {};  ///< As ranking.switches.
    std::vector<std::string> router_names = {};  ///< As ranking.routers.
};

std::string to_text(const WhatIf& whatif);
std::string to_json(const WhatIf& whatif);

}  // namespace softib::app::sim
