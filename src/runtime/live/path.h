// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Follows the forwarding tables from one HCA to a LID. What the tables do not lead to cannot be
// reached: there is no other way through the fabric.

#include <cstdint>
#include <optional>

#include "runtime/live/arena.h"

namespace softib::live {

struct Path {
    std::uint32_t hca;     ///< Where it ends.
    std::uint32_t hops;    ///< Switches passed.
};

inline constexpr std::uint32_t kHopsMax = 64;

inline bool owns_lid(const HcaRecord& hca, Lid lid) {
    const std::uint16_t base = hca.lid.load(std::memory_order_relaxed);
    return base != 0 && lid.value >= base && lid.value < base + (1U << hca.lmc);
}

/// Nothing when a port on the way is not active, a table has no entry, or the way is a loop.
std::optional<Path> walk_path(const Arena& arena, std::uint32_t from_hca, Lid dlid);

/// Calls fn(SwitchPortRecord&, bool is_in) for every switch port of the way, in order; false and
/// no calls where there is no way.
template <typename Fn>
bool for_each_port(const Arena& arena, std::uint32_t from_hca, Lid dlid, Fn&& fn) {
    if (!walk_path(arena, from_hca, dlid)) {
        return false;
    }
    NodeRef at{NodeRef::kSwitch, arena.hcas[from_hca].peer_switch};
    std::uint8_t in = arena.hcas[from_hca].peer_port;
    if (owns_lid(arena.hcas[from_hca], dlid)) {
        return true;  // Looped back before the port.
    }
    while (at.kind == NodeRef::kSwitch) {
        const SwitchRecord& sw = arena.switches[at.index];
        const std::uint8_t out = arena.lft(at.index, dlid).load(std::memory_order_relaxed);
        SwitchPortRecord& port = arena.switch_ports[sw.port_first + out];
        fn(arena.switch_ports[sw.port_first + in], true);
        fn(port, false);
        at = port.peer;
        in = port.peer_port;
    }
    return true;
}

}  // namespace softib::live
