// SPDX-License-Identifier: BSD-2-Clause
#include "view/names.h"

#include <fmt/format.h>

namespace softib::view {

std::string node_name(const live::Arena& arena, const live::NodeRef& node) {
    if (node.kind == live::NodeRef::kSwitch && node.index < arena.header->switches) {
        return arena.switches[node.index].name;
    }
    if (node.kind == live::NodeRef::kHca && node.index < arena.header->hcas) {
        const live::HcaRecord& hca = arena.hcas[node.index];
        return fmt::format("{}/{}", arena.hosts[hca.host].name, hca.name);
    }
    return "-";
}

std::string node_name(const live::Arena& arena, Lid lid) {
    return lid.value < live::kLftEntries ? node_name(arena, arena.lid_owner[lid.value]) : "-";
}

const char* to_string(PortState state) {
    switch (state) {
        case PortState::kDown:
            return "Down";
        case PortState::kInit:
            return "Init";
        case PortState::kArmed:
            return "Armed";
        case PortState::kActive:
            return "Active";
        case PortState::kActiveDefer:
            return "ActiveDefer";
        case PortState::kNoChange:
            break;
    }
    return "Nop";
}

}  // namespace softib::view
