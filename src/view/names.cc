// SPDX-License-Identifier: BSD-2-Clause
#include "view/names.h"

#include <fmt/format.h>

namespace softib::view {

std::string node_name(const shm::Arena& arena, const shm::NodeRef& node) {
    if (node.kind == shm::NodeRef::kSwitch && node.index < arena.header->switches) {
        return arena.switches[node.index].name;
    }
    if (node.kind == shm::NodeRef::kHca && node.index < arena.header->hcas) {
        const shm::HcaRecord& hca = arena.hcas[node.index];
        return fmt::format("{}/{}", arena.hosts[hca.host].name, hca.name);
    }
    return "-";
}

std::string node_name(const shm::Arena& arena, Lid lid) {
    return lid.value < shm::kLftEntries ? node_name(arena, arena.lid_owner[lid.value]) : "-";
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
