// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/live/path.h"

namespace softib::live {

namespace {

constexpr std::uint8_t kNoRoute = 0xFF;

bool owns_lid(const HcaRecord& hca, Lid lid) {
    const std::uint16_t base = hca.lid.load(std::memory_order_relaxed);
    return base != 0 && lid.value >= base && lid.value < base + (1U << hca.lmc);
}

bool active(const std::atomic<PortState>& state) {
    return state.load(std::memory_order_relaxed) == PortState::kActive;
}

struct End {
    NodeRef node;
    std::uint32_t hops;
};

std::optional<End> walk(const Arena& arena, std::uint32_t from_hca, Lid dlid) {
    const HcaRecord& source = arena.hcas[from_hca];
    if (dlid == kLidUnassigned || dlid.value >= kLftEntries || !active(source.state)) {
        return std::nullopt;
    }
    if (owns_lid(source, dlid)) {
        // The HCA loops its own LID back without leaving the port.
        return End{{NodeRef::kHca, from_hca}, 0};
    }
    NodeRef at{NodeRef::kSwitch, source.peer_switch};
    for (std::uint32_t hops = 1; hops <= kHopsMax; ++hops) {
        if (at.kind != NodeRef::kSwitch || at.index >= arena.header->switches) {
            return std::nullopt;
        }
        const SwitchRecord& sw = arena.switches[at.index];
        const std::uint8_t out = arena.lft(at.index, dlid).load(std::memory_order_relaxed);
        if (out == 0 && dlid.value == sw.lid) {
            return End{at, hops};
        }
        if (out == kNoRoute || out == 0 || out >= sw.port_count) {
            return std::nullopt;
        }
        const SwitchPortRecord& port = arena.switch_ports[sw.port_first + out];
        if (!active(port.state)) {
            return std::nullopt;
        }
        at = port.peer;
        if (at.kind == NodeRef::kHca) {
            const HcaRecord& end = arena.hcas[at.index];
            if (!active(end.state) || !owns_lid(end, dlid)) {
                return std::nullopt;
            }
            return End{at, hops};
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<Path> walk_path(const Arena& arena, std::uint32_t from_hca, Lid dlid) {
    const std::optional<End> end = walk(arena, from_hca, dlid);
    if (!end || end->node.kind != NodeRef::kHca) {
        return std::nullopt;
    }
    return Path{end->node.index, end->hops};
}

std::optional<NodeRef> walk_to_node(const Arena& arena, std::uint32_t from_hca, Lid dlid) {
    const std::optional<End> end = walk(arena, from_hca, dlid);
    return end ? std::optional(end->node) : std::nullopt;
}

}  // namespace softib::live
