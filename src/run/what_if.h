// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// `softib sim whatif`: the same traffic on the fabric as it is, and on the fabric without some
// cables, switches or routers, routed anew by the same engine. It also ranks cables, switches and
// routers by how much their loss hurts.

#include <cstdint>
#include <string>
#include <vector>

#include "plan/route_loads.h"

namespace softib::run {

/// The fabric without something, and how the traffic fared on it.
struct WhatIfCase {
    std::string lost = {};  ///< "nothing", "leaf0:5", "leaf0:5, leaf2:7"
    std::string engine = {};
    std::uint64_t messages = 0;
    std::uint64_t delivered = 0;
    double gbps = 0;          ///< The rate of all messages together.
    double message_gbps = 0;  ///< The mean rate of a message.
    double slowest_gbps = 0;  ///< The rate of the slowest message.
    /// When the last message was delivered; plan::kUnknown, as are rates, if not all were.
    double finished_us = 0;
};

struct WhatIfReport {
    std::string title = {};
    std::vector<WhatIfCase> cases = {};   ///< The first is the fabric that has lost nothing.
    std::vector<std::string> basis = {};  ///< What the figures are worth, see basis.h.
    plan::Ranking ranking = {};
    std::vector<std::string> cable_names = {};   ///< In the order of ranking.cables.
    std::vector<std::string> switch_names = {};  ///< In the order of ranking.switches.
    std::vector<std::string> router_names = {};  ///< In the order of ranking.routers.
};

std::string to_json(const WhatIfReport& whatif);
/// Returns comma-separated values, a line for each case.
std::string to_csv(const WhatIfReport& whatif);

}  // namespace softib::run
