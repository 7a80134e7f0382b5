// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What several of the engine's own files do to every packet.

#include <algorithm>

#include "core/switch/forward.h"
#include "net/engine/mover.h"

namespace softib::net {

/// Counts a packet at the port by which it comes in.
inline void Mover::count_in(Rx& rx, const Packet& packet) {
    rx.words += packet.bytes / 4U;
    ++rx.packets;
    stats_.log(rx.name, packet, now());
}

/// THE forwarding rule: returns by which lane a packet leaves a switch at a port, or why it does
/// not.
inline Mover::Hop Mover::look_up(const Rx& rx, const Packet& packet, std::uint8_t number) const {
    if (const sw::Relay relayed = sw::relay(number, rx.port); relayed != sw::Relay::kOn)
        [[unlikely]] {
        return {relayed == sw::Relay::kUnknown ? Hop::Why::kUnknown : Hop::Why::kLooping, 0, false};
    }
    const bool slower = rx.block_ps > plant_.tx(rx.first_out + number).block_ps;
    if (packet.in_vl == link::kVl15) [[unlikely]] {
        return {Hop::Why::kOn, link::kVl15, slower};
    }
    const std::uint8_t vl = plant_.lane_to(rx, number, packet.sl);
    return {vl < plant_.config().data_vls ? Hop::Why::kOn : Hop::Why::kNoLane, vl, slower};
}

inline void Mover::wake_at(std::uint32_t port, Tx& tx, TimePs at) {
    if (at < tx.wake_at) {
        tx.wake_at = at;
        if (port == round_.open_output && at <= round_.open_until) {
            ++stats_.events;  // Counted, though not pushed: run_output() looks at tx.wake_at.
            round_.open_last = std::max(round_.open_last, at);
            return;
        }
        schedule_.post(at, port, EventKind::kWake);
    }
}

}  // namespace softib::net
