// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a manager wrote about congestion, as the rules that switches and HCAs then follow.

#include <algorithm>

#include "core/agent/cc_agent.h"
#include "core/link/injection.h"
#include "core/switch/congestion.h"

namespace softib::agent {

/// Of a switch.
inline sw::MarkingRule marking_rule(const CongestionAgent& agent) {
    const wire::SwitchCongestionSetting& wanted = agent.marking();
    return {.threshold = wanted.threshold,
            .packet_blocks = wanted.packet_size,
            .marking_rate = wanted.marking_rate,
            .victims_mark = std::ranges::any_of(wanted.victim_mask,
                                                [](std::uint8_t bits) { return bits != 0; })};
}

/// Of an HCA's port.
link::InjectionControl injection_control(const CongestionAgent& agent);

}  // namespace softib::agent
