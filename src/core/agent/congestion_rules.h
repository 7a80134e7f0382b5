// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Turns the congestion settings that a manager wrote into the rules that switches and HCAs follow.

#include <algorithm>

#include "core/agent/cc_agent.h"
#include "core/link/injection.h"
#include "core/switch/congestion.h"

namespace softib::agent {

/// Returns the rule by which a switch marks packets with FECN.
inline sw::MarkingRule marking_rule(const CongestionAgent& agent) {
    const wire::SwitchCongestionSetting& wanted = agent.marking();
    return {.threshold = wanted.threshold,
            .packet_blocks = wanted.packet_size,
            .marking_rate = wanted.marking_rate,
            .victims_mark = std::ranges::any_of(wanted.victim_mask,
                                                [](std::uint8_t bits) { return bits != 0; })};
}

/// Returns the rule by which an HCA port slows down flows that BECN reports as congested.
link::InjectionControl injection_control(const CongestionAgent& agent);

}  // namespace softib::agent
