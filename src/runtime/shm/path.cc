// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/path.h"

namespace softib::live {

std::optional<Path> walk_path(const Arena& arena, std::uint32_t from_hca, Lid dlid,
                              std::optional<PKey> pkey, std::optional<Refusal>& refused) {
    const HcaRecord& source = arena.hcas[from_hca];
    if (dlid == kLidUnassigned || dlid.value >= kLftEntries || !active(source.state)) {
        return std::nullopt;
    }
    if (owns_lid(source, dlid)) {
        // The HCA loops its own LID back without leaving the port.
        return Path{from_hca, 0};
    }
    NodeRef at{NodeRef::kSwitch, source.peer_switch};
    std::uint8_t in = source.peer_port;
    for (std::uint32_t hops = 1; hops <= kHopsMax; ++hops) {
        if (at.kind != NodeRef::kSwitch || at.index >= arena.header->switches) {
            return std::nullopt;
        }
        const SwitchRecord& sw = arena.switches[at.index];
        SwitchPortRecord& entry = arena.switch_ports[sw.port_first + in];
        if (!active(entry.state)) {
            return std::nullopt;
        }
        if (pkey && !lets_pass(entry, true, *pkey)) {
            refused = Refusal{&entry, true};
            return std::nullopt;
        }
        const std::uint8_t out = arena.lft(at.index, dlid).load(std::memory_order_relaxed);
        if (out == kNoRoute || out == 0 || out >= sw.port_count) {
            return std::nullopt;
        }
        SwitchPortRecord& port = arena.switch_ports[sw.port_first + out];
        if (!active(port.state)) {
            return std::nullopt;
        }
        if (pkey && !lets_pass(port, false, *pkey)) {
            refused = Refusal{&port, false};
            return std::nullopt;
        }
        at = port.peer;
        in = port.peer_port;
        if (at.kind == NodeRef::kHca) {
            const HcaRecord& end = arena.hcas[at.index];
            if (!active(end.state) || !owns_lid(end, dlid)) {
                return std::nullopt;
            }
            return Path{at.index, hops};
        }
    }
    return std::nullopt;
}

}  // namespace softib::live
