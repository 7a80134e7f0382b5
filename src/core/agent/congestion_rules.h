// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Turns the congestion settings that a manager wrote into the rules that switches and HCAs follow.

#include <cstdint>

#include "core/agent/cc_agent.h"
#include "core/link/injection.h"
#include "core/switch/congestion.h"

namespace softib::agent {

/// Returns the rule by which a port of a switch marks: that of SwitchCongestionSetting, unless a
/// valid entry of SwitchPortCongestionSetting has another for this port. An entry about credit
/// starvation has none: CongestionInfo says that our switches do not offer it.
inline sw::MarkingRule marking_rule(const CongestionAgent& agent, std::uint8_t port) {
    const wire::SwitchCongestionSetting& all = agent.marking();
    // Victim_Mask is a number of 256 bits, big endian; bit n is port n.
    const std::uint8_t victims = all.victim_mask[all.victim_mask.size() - 1 - port / 8U];
    sw::MarkingRule rule{.threshold = all.threshold,
                         .packet_blocks = all.packet_size,
                         .marking_rate = all.marking_rate,
                         .victims_mark = (victims >> port % 8U & 1) != 0};
    const wire::SwitchPortCongestionEntry& own = agent.port_marking(port);
    if (own.valid && !own.control_type) {
        rule.threshold = own.threshold;
        rule.packet_blocks = own.packet_size;
        rule.marking_rate = own.cong_parm_marking_rate;
    }
    return rule;
}

/// Returns the rule by which an HCA port slows down flows that BECN reports as congested.
link::InjectionControl injection_control(const CongestionAgent& agent);

}  // namespace softib::agent
