// SPDX-License-Identifier: BSD-2-Clause
#include "core/agent/congestion_rules.h"

namespace softib::agent {

link::InjectionControl injection_control(const CongestionAgent& agent) {
    link::InjectionControl control;
    for (std::size_t sl = 0; sl < control.rules.size(); ++sl) {
        const wire::CaCongestionEntry& entry = agent.injection().entry[sl];
        control.rules[sl] = {.timer = entry.ccti_timer,
                             .increase = entry.ccti_increase,
                             .minimum = entry.ccti_min,
                             .trigger = entry.trigger_threshold};
    }
    control.by_level = (agent.injection().port_control & wire::kCongestionPortControlSl) != 0;
    link::DelayTable& table = control.table;
    const auto delays = agent.delays();
    for (std::size_t i = 0; i < std::min(delays.size(), table.entry.size()); ++i) {
        table.entry[i] = {delays[i].cct_shift, delays[i].cct_multiplier};
    }
    table.limit = std::min<std::uint16_t>(agent.ccti_limit(), link::DelayTable::kEntries - 1);
    return control;
}

}  // namespace softib::agent
